// The memory of a step as the software of the platform has it: rules for what its functions keep
// and how it stores state, and what is there all the time.
#pragma once

#include <vector>

#include "platforms/platform.hpp"
#include "schedule/fold/memory_rules.hpp"
#include "sim/question/point.hpp"

namespace fourfold::inline sim::inline estimate {

class MemoryOfSoftware {
 public:
  // Of a step on this grid; the point's own grid is not looked at.
  // Nor are its micro-batches.
  MemoryOfSoftware(const Platform& platform, const Point& question, const ProcessGrid& grid,
                   std::int64_t micro_batches);

  const MemoryRules& rules() const { return rules_; }
  // Adds to each stage's peak what is there all the time, in its role.
  void add_to(std::vector<MemoryUse>& stages) const;

 private:
  MemoryRules rules_;
  Bytes gathered_;                    // of blocks, and buckets
  Bytes gathered_of_layer_;           // casts, and what stays gathered
  std::vector<std::int64_t> layers_;  // by stage, where anything is gathered
  Bytes gathered_embeddings_;         // on the first and on the last stage
  bool alone_ = true, tied_ = false;
  Bytes workspaces_;
  // Of a pipeline, by stage: messages and logits of micro-batches whose step has no more use of
  // them.
  std::vector<Bytes> of_other_micro_batches_;
};

}  // namespace fourfold::inline sim::inline estimate
