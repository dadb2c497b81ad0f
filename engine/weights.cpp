// Lays out, fills and rounds the blocks that outlive a step; see weights.hpp.
#include "engine/weights.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/bf16.hpp"
#include "engine/initial_weights.hpp"
#include "engine/plan/block_place.hpp"

namespace fourfold::inline engine {

namespace {

constexpr std::int64_t alignment = 64;

Tensor block_of(const Value& value, const ProcessGrid& grid) {
  Tensor block;
  block.precision = value.precision;
  const bool flat = !value.shape.sharding.pieces.empty();
  block.rows = flat ? 1 : value.shape.local_rows(grid, {});
  block.cols = flat ? value.shape.local_elements(grid, {}) : value.shape.local_cols(grid, {});
  return block;
}

// Calls `work` with every stretch of the block, and the number of its first element: as long as a
// copy of it may be beside all that a device holds.
template <typename Work>
void for_stretches(const Tensor& block, const Work& work) {
  constexpr std::int64_t longest = std::int64_t{1} << 20;
  for (std::int64_t first = 0; first < block.size(); first += longest) {
    work(block.stretch(first, std::min(longest, block.size() - first)), first);
  }
}

}  // namespace

Weights::Weights(const Program& program, const ProcessGrid& grid, std::int64_t rank,
                 DeviceMemory& device)
    : grid_(grid), rank_(rank), device_(&device) {
  std::vector<std::int64_t> first;
  std::int64_t end = 0, end_on_host = 0;
  const auto keep = [&](Id id, const Parameter& parameter, Kept kept) {
    if (id == -1) return;
    const Value& value = program[id];
    // Whose weight can be rounded from it without asking other ranks.
    const bool has_master = kept == Kept::weight && parameter.master != -1 &&
                            parameter.master != parameter.weight &&
                            program[parameter.master].shape == value.shape;
    stored_.push_back({value.label.full(), program[parameter.weight].label.full(), kept, has_master,
                       value.shape, value.role, block_of(value, grid),
                       value.on_host ? host_.get() : device_, value.weight});
    std::int64_t& last = value.on_host ? end_on_host : end;
    first.push_back(last);
    last += (stored_.back().block.bytes() + alignment - 1) / alignment * alignment;
  };
  for (const Parameter& parameter : program.parameters) {
    keep(parameter.weight, parameter, Kept::weight);
    if (parameter.master != parameter.weight) keep(parameter.master, parameter, Kept::master);
    keep(parameter.first_moment, parameter, Kept::moment);
    keep(parameter.second_moment, parameter, Kept::moment);
  }
  memory_ = device.allocate(end);
  device.fill_zeros(memory_.data(), end);
  on_host_ = host_->allocate(end_on_host);
  host_->fill_zeros(on_host_.data(), end_on_host);
  for (std::size_t i = 0; i < stored_.size(); ++i) {
    const DeviceBlock& all = stored_[i].memory == host_.get() ? on_host_ : memory_;
    stored_[i].block.data = all.data() + first[i];
  }
}

const Stored& Weights::operator[](const std::string& name) const {
  const auto found = std::find_if(stored_.begin(), stored_.end(),
                                  [&](const Stored& stored) { return stored.name == name; });
  if (found == stored_.end()) {
    throw std::invalid_argument("weights: there is no block named " + name);
  }
  return *found;
}

void Weights::initialise(const Model& model, std::uint64_t seed) {
  for (const Stored& stored : stored_) {
    if (stored.kept == Kept::moment || stored.has_master) {
      stored.memory->fill_zeros(stored.block.data, stored.block.bytes());
      continue;
    }
    HostView view(*stored.memory);
    const InitialWeights start(stored.kind, stored.parameter, model.layers, seed);
    const BlockPlace place = block_place(stored.shape, grid_, rank_);
    for_stretches(stored.block, [&](const Tensor& stretch, std::int64_t first) {
      std::byte* const values = view.open(stretch.data, stretch.bytes());
      for (std::int64_t i = 0; i < stretch.size(); ++i) {
        const auto where = place.global(first + i);
        const auto weight = where ? static_cast<float>(start(where->first, where->second)) : 0.0F;
        if (stored.block.precision == Precision::bf16) {
          reinterpret_cast<std::uint16_t*>(values)[i] = bf16_bits(weight);
        } else {
          reinterpret_cast<float*>(values)[i] = weight;
        }
      }
      view.close();
    });
  }
  round_masters();
}

void Weights::round_masters() {
  for (std::size_t i = 0; i + 1 < stored_.size(); ++i) {
    const Stored& stored = stored_[i];
    if (!stored.has_master) continue;
    const Tensor& block = stored_[i + 1].block;  // kept right behind its weight
    HostView of_master(*stored_[i + 1].memory), of_weight(*stored.memory);
    for_stretches(block, [&](const Tensor& stretch, std::int64_t first) {
      const std::int64_t count = stretch.size();
      const auto* const master =
          reinterpret_cast<const float*>(of_master.read(stretch.data, stretch.bytes()));
      auto* const weight = reinterpret_cast<std::uint16_t*>(
          of_weight.open(stored.block.data + 2 * first, 2 * count));
      for (std::int64_t e = 0; e < count; ++e) weight[e] = bf16_bits(master[e]);
      of_weight.close();
    });
  }
}

}  // namespace fourfold::inline engine
