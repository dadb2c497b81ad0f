// A run of a small model on a text that is easily learnt, by all ranks of a test, and what its log
// says. Each test sets what it is about.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/train/run/train.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {

inline std::string repeated(int count, const std::string& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line;
  return text;
}

inline const std::string brown_fox = "the quick brown fox jumps over the lazy dog\n";

inline TrainSettings small_run(const SharedFolder& folder) {
  TrainSettings settings;
  settings.model = {"small", 2, 32, 8, 16, 128};
  settings.data.files = {folder.write("text.txt", repeated(400, brown_fox))};
  settings.data.validation_words = 512;
  settings.grid = ProcessGrid(1, 1, 1, world_size());
  settings.batch = 16;
  settings.options.precision = Precision::fp32;
  settings.options.recompute = Recompute::none;
  settings.length.steps = 8;
  settings.learning_rate = {.peak = 1e-2, .last_part = 0.1, .warm_up_steps = 3};
  settings.sampling.tokens = 0;
  settings.screen = Screen::silent;
  settings.folder = folder.file("run");
  return settings;
}

// Each test has a folder, a world and the settings of a small run of its own.
template <typename Ranks = ::testing::Test>
class SmallRuns : public InAFolder<Ranks> {
 protected:
  World world;
  TrainSettings settings = small_run(this->folder);
};

// The log's lines of a kind, or all. Called by all ranks: the first writes its last lines when the
// others are done already, and half a line is no JSON.
inline std::vector<nlohmann::json> log_of(const TrainSettings& settings,
                                          const std::string& kind = "") {
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<nlohmann::json> lines;
  std::ifstream file(log_path(settings));
  for (std::string line; std::getline(file, line);) {
    nlohmann::json entry = nlohmann::json::parse(line);
    if (kind.empty() || entry.at("kind") == kind) lines.push_back(std::move(entry));
  }
  return lines;
}

// Of the log's lines of a kind, the entries of one key.
template <typename T>
std::vector<T> entries_of(const TrainSettings& settings, const std::string& kind,
                          const std::string& key) {
  std::vector<T> entries;
  for (const nlohmann::json& line : log_of(settings, kind)) entries.push_back(line.at(key));
  return entries;
}

}  // namespace fourfold::tests
