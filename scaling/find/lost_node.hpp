// A node lost while the job runs: replaced by one that was free, or the job going on without the
// replicas that lay on it.
#pragma once

#include <string>

#include "platforms/platform.hpp"
#include "scaling/records/question.hpp"

namespace fourfold::inline scaling::inline find {

struct LostNode {
  std::int64_t node = 0;
  bool replaced = false;
};

// "17=replaced" or "17=without". Throws std::runtime_error with a sentence on other words.
LostNode lost_node_in(const std::string& words);

// The question that goes on, of a job that lies packed on the grid. Throws std::runtime_error with
// a sentence if the job does not lie there, no node is free, or no replica is left.
Question after_loss(const Question& question, const ProcessGrid& grid, const LostNode& lost,
                    const Platform& platform);

}  // namespace fourfold::inline scaling::inline find
