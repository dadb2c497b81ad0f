// Timelines as Chrome trace JSON, which chrome://tracing and ui.perfetto.dev draw: the one writer
// of simulated and of measured steps.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
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

// Processes are named before events are added. Titles hold only letters, digits, points and blanks:
// nothing needs escaping.
class ChromeTrace {
 public:
  void name_process(std::int64_t process, const std::string& title,
                    const std::vector<std::string>& threads);
  void add(std::int64_t process, const TraceEvent& event);

  // The whole file; `other` says what the trace is of.
  std::string text(const nlohmann::json& other) const;

 private:
  std::string events_;
};

}  // namespace fourfold::inline support
