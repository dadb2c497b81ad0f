// Bucket by bucket to the device and back; see bucketed_update.hpp.
#include "engine/bucketed_update.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace fourfold::inline engine {

void update_in_buckets(Backend& backend, const reference::AdamWStep& step,
                       const OffloadedShard& shard, const Tensor& bucket,
                       const ProgressCall& progress) {
  DeviceMemory& memory = backend.memory();
  const UpdateOperands& all = shard.operands;
  const std::int64_t room = bucket.size() / (shard.master_on_host ? 3 : 2);
  for (std::int64_t first = 0; first < all.master.size(); first += room) {
    const std::int64_t count = std::min(room, all.master.size() - first);
    std::vector<std::pair<Tensor, Tensor>> pairs;  // on the host, on the device
    const auto here = [&](const Tensor& state) {
      const auto number = static_cast<std::int64_t>(pairs.size());
      pairs.emplace_back(state.stretch(first, count), bucket.stretch(number * room, count));
      return pairs.back().second;
    };
    UpdateOperands part;
    part.factor = all.factor;
    part.gradient = all.gradient.stretch(first, count);
    part.weight = all.weight.stretch(first, count);
    part.master = shard.master_on_host ? here(all.master) : part.weight;
    part.first_moment = here(all.first_moment);
    part.second_moment = here(all.second_moment);
    for (const auto& [host, device] : pairs) memory.copy_in(device.data, host.data, host.bytes());
    backend.update(step, part, progress);
    for (const auto& [host, device] : pairs) memory.copy_out(host.data, device.data, host.bytes());
  }
}

}  // namespace fourfold::inline engine
