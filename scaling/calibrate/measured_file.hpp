// What fourfold-engine measured on this machine, read back: one operation a line.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fourfold::inline scaling::inline calibrate {

struct MeasuredOperation {
  nlohmann::json what;                          // "kind", "name", "ranks", and the sizes
  double seconds = 0.0, low = 0.0, high = 0.0;  // quartiles
  std::int64_t repetitions = 0;
  double reference = 0.0;      // seconds of the engine's reference product beside it
  double foreign_cores = 0.0;  // that other processes kept busy meanwhile
  std::string date;
  std::string processor = {};  // where the line says it

  bool is(const std::string& kind) const { return what.at("kind") == kind; }
  std::int64_t whole(const char* key) const;  // throws std::runtime_error where it is none
  std::string word(const char* key) const { return what.at(key).get<std::string>(); }
};

// Throws std::runtime_error with a sentence if the file is missing or no such file. A last line
// that was cut off is left out.
std::vector<MeasuredOperation> read_measured(const std::string& path);

// Throws std::runtime_error that names the file where something was measured on another processor
// than this machine's: a home folder may be that of nodes of several kinds.
void refuse_other_processors(const std::vector<MeasuredOperation>& all, const std::string& path);

// As if the machine had been equally fast all the time: times at the median speed of those on
// `ranks` ranks, by the reference product beside each.
std::vector<MeasuredOperation> at_one_speed(std::vector<MeasuredOperation> all, std::int64_t ranks);
// Seconds of the reference product at that speed. Throws std::runtime_error if there are none.
double reference_seconds(const std::vector<MeasuredOperation>& all, std::int64_t ranks);

// Who says so: "fourfold calibrate, 2026-11-22, 2 ranks, n = 37, quartiles 1.2 % apart".
std::string source_of(const MeasuredOperation& one);
// Of several: the fewest repetitions and the median distance of quartiles.
std::string source_of(const std::vector<MeasuredOperation>& all);

}  // namespace fourfold::inline scaling::inline calibrate
