// Lays out, fills and rounds the blocks that outlive a step; see weights.hpp.
#include "engine/weights.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/bf16.hpp"
#include "engine/initial_weights.hpp"
#include "engine/plan/block_place.hpp"

namespace fourfold {

namespace {

constexpr std::int64_t alignment = 64;
const std::string master_suffix = ".master";

Tensor block_of(const Value& value, const ProcessGrid& grid) {
  Tensor block;
  block.precision = value.precision;
  const bool flat = !value.shape.sharding.pieces.empty();
  block.rows = flat ? 1 : value.shape.local_rows(grid, 0);
  block.cols = flat ? value.shape.local_elements(grid, 0) : value.shape.local_cols(grid);
  return block;
}

// Calls `work` with every stretch of the block, and the number of its first element: as long as a
// copy of it may be beside all that a device holds.
template <typename Work>
void for_stretches(const Tensor& block, const Work& work) {
  constexpr std::int64_t longest = std::int64_t{1} << 20;
  const std::int64_t width = bytes_per_element(block.precision);
  for (std::int64_t first = 0; first < block.size(); first += longest) {
    const std::int64_t count = std::min(longest, block.size() - first);
    work(Tensor{block.data + first * width, 1, count, block.precision}, first);
  }
}

}  // namespace

Weights::Weights(const Program& program, const ProcessGrid& grid, std::int64_t rank,
                 DeviceMemory& device)
    : grid_(grid), rank_(rank), device_(&device) {
  std::vector<std::int64_t> first;
  std::int64_t end = 0;
  for (const Value& value : program.values) {
    if (!value.persistent || value.precision == Precision::int32) continue;
    stored_.push_back({value.name, value.shape, value.role, block_of(value, grid), value.weight});
    first.push_back(end);
    end += (stored_.back().block.bytes() + alignment - 1) / alignment * alignment;
  }
  memory_ = device.allocate(end);
  device.fill_zeros(memory_.data(), end);
  for (std::size_t i = 0; i < stored_.size(); ++i) {
    stored_[i].block.data = memory_.data() + first[i];
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
  HostView view(*device_);
  for (const Stored& stored : stored_) {
    const bool is_master = stored.name.ends_with(master_suffix);
    if (!is_master && (stored.role != Role::parameter || has_master(stored.name))) {
      device_->fill_zeros(stored.block.data, stored.block.bytes());
      continue;
    }
    std::string parameter = stored.name;
    if (is_master) parameter.resize(parameter.size() - master_suffix.size());
    const InitialWeights start(stored.kind, parameter, model.layers, seed);
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

bool Weights::has_master(const std::string& parameter) const {
  return std::any_of(stored_.begin(), stored_.end(), [&](const Stored& stored) {
    return stored.name == parameter + master_suffix;
  });
}

void Weights::round_masters() {
  HostView of_master(*device_), of_weight(*device_);
  for (const Stored& stored : stored_) {
    if (stored.role != Role::parameter || !has_master(stored.name)) continue;
    const Tensor& block = (*this)[stored.name + master_suffix].block;
    for_stretches(block, [&](const Tensor& stretch, std::int64_t first) {
      const std::int64_t count = stretch.size();
      const auto* const master =
          reinterpret_cast<const float*>(of_master.read(stretch.data, stretch.bytes()));
      auto* const weight = reinterpret_cast<std::uint16_t*>(
          of_weight.open(stored.block.data + 2 * first, 2 * count));
      for (std::int64_t i = 0; i < count; ++i) weight[i] = bf16_bits(master[i]);
      of_weight.close();
    });
  }
}

}  // namespace fourfold
