// What one rank tells the others after a step: measurements, and all that they must decide alike.
#pragma once

#include <span>
#include <vector>

#include "engine/train/run/step_report.hpp"

namespace fourfold::inline engine::inline train::inline run {

struct RankWord {
  RankStep step;
  bool stop_asked = false;
  bool reads_on = true;       // the next step's words are here
  bool log_is_whole = true;   // of the rank that writes it
  double seconds_here = 0.0;  // trained in this run, by its clock
  double loss = 0.0;          // on the last stage
  double next_words = 0.0;    // the fingerprint of the next step's words

  // It travels as numbers, those by channel last.
  std::vector<double> numbers() const;
  static RankWord of(std::span<const double> numbers);
};

// Seconds by channel of a program as those by channel of all stages, of which it has some.
std::vector<double> by_channel_of_all(const std::vector<Channel>& all,
                                      const std::vector<Channel>& of_program,
                                      const std::vector<double>& seconds);

}  // namespace fourfold::inline engine::inline train::inline run
