// A point of a campaign that the engine trains, and what its simulated twin beside it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scaling/records/question.hpp"
#include "scaling/records/record.hpp"
#include "scaling/study/campaign.hpp"

namespace fourfold::inline support {
class JsonObject;
}  // namespace fourfold::inline support

namespace fourfold::inline scaling::inline study {

// [measure] of the campaign file at `path`. Throws std::runtime_error with a sentence.
MeasureRule read_measure(JsonObject object, const std::string& path);

// What decides whether a measured record answers a point again: the question, how it is trained,
// and the engine; not the platform's file, which is its twin's.
std::string measured_key(const Question& question, const MeasureRule& rule, std::uint64_t seed,
                         const std::string& engine);
const std::string& digest_of_engine();

// How a point is trained.
struct Training {
  MeasureRule rule;
  std::uint64_t seed = 1;
  std::vector<std::string> launch;  // what starts the ranks; empty: mpirun, here
  std::string folder;               // made, and taken away at the end
};

// Trains the question on this grid, with so many micro-batches. Throws std::runtime_error with a
// sentence if the engine fails, and Interrupted.
Record measured_record(const Question& question, const ProcessGrid& grid,
                       std::int64_t micro_batches, const Training& training);

// Why a measured question can have no simulated twin: more ranks than its platform has room for.
// Empty if it can, or if its platform is this machine, which is not calibrated yet.
std::string twin_refusal(const Question& question);

// Seconds of the small product beside the calibration that made the platform's file; absent where
// it is no calibration of the machine that was measured, "a processor, 2 cores".
std::optional<double> calibrated_reference(const std::string& platform, const std::string& cpu);

// "srun --ntasks={ranks}" as words, with the number of ranks put in. Throws std::runtime_error if
// {ranks} is missing.
std::vector<std::string> launch_words(const std::string& text, std::int64_t ranks);

}  // namespace fourfold::inline scaling::inline study
