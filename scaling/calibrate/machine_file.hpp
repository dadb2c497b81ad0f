// This machine as a platform file and a software file, made of single operations that were
// measured: the same measurements give the same text.
#pragma once

#include <string>
#include <vector>

#include "scaling/calibrate/collective_log.hpp"
#include "scaling/calibrate/measured_file.hpp"

namespace fourfold::inline scaling::inline calibrate {

// What nobody measures.
struct MachineFacts {
  std::string processor;
  std::int64_t cores = 1;
  double memory_bytes = 0.0;  // of the machine
  std::string software;       // the file's name beside the platform's
};

// Ranks are devices: up to two a core, where they slow each other down as they were measured to.
// Throws std::runtime_error with a sentence if a measurement that is needed is missing.
std::string machine_toml(const std::vector<MeasuredOperation>& all, const MachineFacts& facts);
std::string software_toml(const std::vector<MeasuredOperation>& all, const MachineFacts& facts);

// Collectives in groups of neighbours with the machine to themselves, for the library's constants.
std::vector<CollectiveSample> collective_samples(const std::vector<MeasuredOperation>& all);

}  // namespace fourfold::inline scaling::inline calibrate
