// Lays out, fills and rounds the blocks that outlive a step; see weights.hpp.
#include "engine/weights.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "engine/bf16.hpp"
#include "engine/initial_weights.hpp"
#include "engine/plan/placement.hpp"

namespace fourfold {

namespace {

constexpr std::size_t alignment = 64;

Tensor block_of(const Value& value, const ProcessGrid& grid) {
  Tensor block;
  block.precision = value.precision;
  const bool flat = !value.shape.sharding.pieces.empty();
  block.rows = flat ? 1 : value.shape.local_rows(grid, {});
  block.cols = flat ? value.shape.local_elements(grid, {}) : value.shape.local_cols(grid, {});
  return block;
}

}  // namespace

Weights::Weights(const Program& program, const ProcessGrid& grid, std::int64_t rank)
    : grid_(grid), rank_(rank) {
  std::vector<std::size_t> first;
  std::size_t end = 0;
  const auto keep = [&](Id id, const Parameter& parameter, Kept kept) {
    if (id == -1) return;
    const Value& value = program[id];
    const bool has_master = kept == Kept::weight && parameter.master != -1 &&
                            parameter.master != parameter.weight;
    stored_.push_back({value.label.full(), program[parameter.weight].label.full(), kept, has_master,
                       value.shape, value.role, block_of(value, grid), value.weight});
    first.push_back(end);
    const auto bytes = static_cast<std::size_t>(stored_.back().block.bytes());
    end += (bytes + alignment - 1) / alignment * alignment;
  };
  for (const Parameter& parameter : program.parameters) {
    keep(parameter.weight, parameter, Kept::weight);
    if (parameter.master != parameter.weight) keep(parameter.master, parameter, Kept::master);
    keep(parameter.first_moment, parameter, Kept::moment);
    keep(parameter.second_moment, parameter, Kept::moment);
  }
  memory_.resize(end + alignment);
  void* base = memory_.data();
  std::size_t space = memory_.size();
  std::align(alignment, end, base, space);
  for (std::size_t i = 0; i < stored_.size(); ++i) {
    stored_[i].block.data = static_cast<std::byte*>(base) + first[i];
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
    std::fill_n(stored.block.data, stored.block.bytes(), std::byte{0});
    if (stored.kept == Kept::moment || stored.has_master) continue;
    const InitialWeights start(stored.kind, stored.parameter, model.layers, seed);
    const Placement place = placement(stored.shape, grid_, rank_);
    for (std::int64_t i = 0; i < stored.block.size(); ++i) {
      const auto where = place.global(i);
      if (!where) continue;
      const auto weight = static_cast<float>(start(where->first, where->second));
      if (stored.block.precision == Precision::bf16) {
        stored.block.bf16()[i] = bf16_bits(weight);
      } else {
        stored.block.fp32()[i] = weight;
      }
    }
  }
  round_masters();
}

void Weights::round_masters() {
  for (std::size_t i = 0; i + 1 < stored_.size(); ++i) {
    if (!stored_[i].has_master) continue;
    const Tensor& master = stored_[i + 1].block;  // kept right behind its weight
    for (std::int64_t e = 0; e < master.size(); ++e) {
      stored_[i].block.bf16()[e] = bf16_bits(master.fp32()[e]);
    }
  }
}

}  // namespace fourfold
