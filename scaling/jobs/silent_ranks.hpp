// A job whose ranks leave signs of life in a file, and nobody among them to tell that they have
// stopped: the two that look at the others (engine/train/run/watch.hpp) are silent themselves, or
// the only rank is.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fourfold::inline scaling::inline jobs {

class SilentRanks {
 public:
  // As the engine's plan says it: {"file", "ranks", "name_after", "end_after" (0: never),
  // "end_when_asked_after"}, in seconds. Of null nothing is ever told.
  explicit SilentRanks(const nlohmann::json& watched);

  struct View {
    std::string sentence;  // to be said now; empty: nothing
    std::string end;       // why the job is to be ended now; empty: it is not
  };
  // Of the file, so many seconds of our own life after the last look.
  View look(double seconds, bool asked_to_stop);

 private:
  struct Looking {
    std::int64_t rank = 0;
    std::string line;     // as it was last
    double silent = 0.0;  // seconds
    bool missed = false;  // it has not come to its end
    std::string who() const;
  };
  bool read();
  std::string sentence(double seconds) const;

  std::string file_;
  double name_after_ = 0.0, end_after_ = 0.0, end_when_asked_after_ = 0.0;
  std::array<Looking, 2> looking_;  // the first rank and the last, which may be one
  bool is_left_over_ = false;       // the file is that of an earlier run, which was killed
  bool named_ = false;
};

}  // namespace fourfold::inline scaling::inline jobs
