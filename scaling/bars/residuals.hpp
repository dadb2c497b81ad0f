// How far runs that somebody measured lay from the model, with what makes a run like another. They
// are kept in a file, so that an answer need not run the validation again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "sim/question/point.hpp"

namespace fourfold::inline scaling::inline bars {

// pipelined: several stages; sharded: one stage, weights cut by z or by ZeRO 3; whole: neither.
enum class Parallelism : std::uint8_t { pipelined, sharded, whole };
const char* name(Parallelism parallelism);

struct Likeness {
  std::string processor;  // its family: "A100" of "A100-80GB"
  Parallelism parallelism = Parallelism::whole;
  std::string machine{}, system{};  // the platform, and the software that it was asked about with
  std::int64_t devices = 1;

  bool operator==(const Likeness&) const = default;
};
Likeness likeness(const ProcessGrid& grid, const StepOptions& options, const Platform& platform);

struct Residual {
  std::string source;  // the study: rows of one are not independent of each other
  std::string id;
  Likeness like;
  double ratio = 1.0;  // published / projected seconds
  // The first id of the rows that a user would choose between, and of the same configuration; of
  // searched grids the row's own.
  std::string choice, configuration;
};

std::string residuals_csv(const std::vector<Residual>& residuals);
// Throws std::runtime_error with a sentence.
std::vector<Residual> read_residuals(const std::string& path);

// Those of the shipped sets, and the file that keeps them: scaling/validation/residuals.csv.
std::string residuals_file();
const std::vector<Residual>& kept_residuals();

}  // namespace fourfold::inline scaling::inline bars
