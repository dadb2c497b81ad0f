// What `fourfold-replay` answers to a point on its standard output: one JSON object on one line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/question/outcome.hpp"
#include "sim/question/replay_detail.hpp"

namespace fourfold::inline sim::inline question {

// Its exit status when it takes more work than its option --work-limit allows.
inline constexpr int over_work_limit = 3;

struct ReplayAnswer {
  Outcome outcome;
  bool extrapolated = false;         // layers or micro-batches were extended from a checked few
  double extrapolation_check = 0.0;  // largest relative change between the last two repetitions
  std::int64_t collectives = 0;      // group collectives that were simulated
  std::int64_t work = 0;             // in the units of --work-limit
  double cpu_s = 0.0;                // of the replay process
  double peak_rss_MiB = 0.0;
  std::string simgrid;                 // version
  std::optional<ReplayDetail> detail;  // if it was asked for
};

std::string to_json(const ReplayAnswer& answer);
// Throws std::runtime_error with a sentence if the text is no answer (say, the process died).
ReplayAnswer replay_answer_from_json(const std::string& text);

}  // namespace fourfold::inline sim::inline question
