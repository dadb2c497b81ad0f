// Timelines as Chrome trace JSON, which chrome://tracing and ui.perfetto.dev draw: the one writer
// of simulated and of measured steps.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace fourfold::inline support {

struct TraceEvent {
  std::string title;
  std::string kind;  // its category
  int thread = 0;    // place in the list of its process
  double start_s = 0.0, end_s = 0.0;
  std::string arguments;  // members of a JSON object: what is shown beside it
};

// Where in the program an event belongs, as arguments. A layer or micro-batch below 0 is left out.
std::string place_arguments(const std::string& section, std::int64_t layer,
                            std::int64_t micro_batch);

// "z_gather", as records have it, in words: "z gather".
std::string in_words(std::string name);

// Throws std::runtime_error with a sentence if something is there that is no trace of this
// writer's: a trace replaces an earlier one, and nothing else.
void refuse_no_trace(const std::string& path);

// Processes are named before events are added. Titles hold only letters, digits, points and blanks:
// nothing needs escaping. Stamps are rounded once, to an eighth of a microsecond, which decimals
// and binary numbers both have exactly: start and duration add up to the end however they are
// added. Events of a thread nest: one that begins within another and ends behind it begins at that
// end, as it does in a queue.
class ChromeTrace {
 public:
  void name_process(std::int64_t process, const std::string& title,
                    const std::vector<std::string>& threads);
  void add(std::int64_t process, const TraceEvent& event);

  // A counter of several parts, from then on.
  void count(std::int64_t process, const std::string& title, double time_s,
             const std::vector<std::pair<std::string, double>>& parts);

  // The whole file; `other` says what the trace is of.
  std::string text(const nlohmann::json& other) const;

 private:
  struct Placed {
    std::int64_t process = 0, start_ns = 0, end_ns = 0;
    TraceEvent event;
  };
  std::vector<std::int64_t> nested_starts() const;

  std::string names_, counts_;
  std::vector<Placed> events_;
};

}  // namespace fourfold::inline support
