// The update of optimizer state that is on the host: it comes to the device, is updated there and
// goes back, bucket by bucket.
#pragma once

#include "engine/backend.hpp"

namespace fourfold::inline engine {

// Moments are in the host's memory, where there is one so are masters; weight and gradient are on
// the device.
struct OffloadedShard {
  UpdateOperands operands;
  bool master_on_host = false;  // else it is the weight itself
};

// `bucket` is room on the device for equal stretches of all that is on the host. Every element gets
// what Backend::update gives it.
void update_in_buckets(Backend& backend, const reference::AdamWStep& step,
                       const OffloadedShard& shard, const Tensor& bucket,
                       const ProgressCall& progress);

}  // namespace fourfold::inline engine
