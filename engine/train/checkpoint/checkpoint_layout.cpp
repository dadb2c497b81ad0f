// Arithmetic of runs; see checkpoint_layout.hpp.
#include "engine/train/checkpoint/checkpoint_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "engine/bf16.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

// Of the factoring that it is cut by.
Cuts uncut_axes(const Shape& shape) {
  const AxisSet cuts = shape.sharding.cuts();
  const bool second =
      std::ranges::any_of(second_axes, [&](Axis axis) { return cuts.contains(axis); });
  Cuts uncut;
  for (Axis axis : every_axis) {
    const bool other = axis == Axis::pipe || is_second(axis) != second;
    if (!other && !cuts.contains(axis)) uncut = uncut.with(axis);
  }
  return uncut;
}

// What a checkpoint has of this rank's blocks, by the names it has there. A master is saved under
// its weight's name, and says all that the weight does.
std::map<std::string, const Stored*> blocks_in(const Weights& weights, CheckpointBlocks which) {
  std::map<std::string, const Stored*> saved, weights_of_masters;
  for (const Stored& stored : weights.all()) {
    if (stored.has_master) continue;
    if (which == CheckpointBlocks::without_moments && stored.kept == Kept::moment) continue;
    const Stored*& known = saved[stored.kept == Kept::master ? stored.parameter : stored.name];
    if (known != nullptr) weights_of_masters[stored.parameter] = known;
    known = &stored;
  }
  return which == CheckpointBlocks::weights_of_masters ? weights_of_masters : saved;
}

// Appends what the block has of elements [from, to) of its matrix.
void append_runs(std::vector<Run>& runs, std::size_t number, const SavedBlock& saved,
                 std::int64_t from, std::int64_t to) {
  const BlockPlace& place = saved.place;
  const std::int64_t whole_cols = saved.matrix.cols;
  const std::int64_t piece_end = place.first_element + place.valid_elements;
  const std::int64_t first_row = std::max({std::int64_t{0}, from / whole_cols - place.rows.first,
                                           place.first_element / place.cols.extent});
  const std::int64_t last_row =
      std::min(place.rows.valid - 1, (to - 1) / whole_cols - place.rows.first);
  for (std::int64_t row = first_row; row <= last_row; ++row) {
    const std::int64_t row_begin = row * place.cols.extent;  // in the uncut block
    if (row_begin >= piece_end) break;
    const std::int64_t to_matrix =
        (place.rows.first + row) * whole_cols + place.cols.first - row_begin;
    const std::int64_t begin = std::max({row_begin, place.first_element, from - to_matrix});
    const std::int64_t end = std::min({row_begin + place.cols.valid, piece_end, to - to_matrix});
    if (begin >= end) continue;
    const Run run{number, saved.matrix.first + begin + to_matrix, begin - place.first_element,
                  end - begin};
    if (!runs.empty() && runs.back().matrix == number &&
        runs.back().element + runs.back().count == run.element &&
        runs.back().local + runs.back().count == run.local) {
      runs.back().count += run.count;
    } else {
      runs.push_back(run);
    }
  }
}

}  // namespace

std::vector<SavedMatrix> saved_matrices(const Model& model, CheckpointBlocks which) {
  const Program program = record_step(model, {});  // of one stage, which has all
  std::map<std::string, const Shape*> shapes;
  for (const Parameter& parameter : program.parameters) {
    for (Id id : {parameter.weight, parameter.first_moment, parameter.second_moment}) {
      if (which == CheckpointBlocks::without_moments && id != parameter.weight) continue;
      shapes[program[id].label.full()] = &program[id].shape;
    }
  }
  std::vector<SavedMatrix> matrices;
  std::int64_t first = 0;
  for (const auto& [name, shape] : shapes) {
    matrices.push_back({name, shape->rows.value({}), shape->cols.value({}), first});
    first += matrices.back().elements();
  }
  return matrices;
}

CheckpointLayout::CheckpointLayout(const Weights& weights, const std::vector<SavedMatrix>& file,
                                   CheckpointBlocks which)
    : grid_(weights.grid()), rank_(weights.rank()), matrices_(file) {
  std::map<std::string, const SavedMatrix*> by_name;
  for (const SavedMatrix& matrix : matrices_) by_name[matrix.name] = &matrix;
  for (const auto& [name, stored] : blocks_in(weights, which)) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) throw std::runtime_error("does not hold " + name);
    const SavedMatrix& matrix = *found->second;
    const std::int64_t rows = stored->shape.rows.value({}), cols = stored->shape.cols.value({});
    if (matrix.rows != rows || matrix.cols != cols) {
      throw std::runtime_error(fmt::format("holds {} as {} x {}, and {} x {} is needed", name,
                                           matrix.rows, matrix.cols, rows, cols));
    }
    blocks_.push_back({matrix, stored->block, stored->memory,
                       block_place(stored->shape, grid_, rank_), uncut_axes(stored->shape)});
  }
  std::ranges::sort(blocks_, {}, [](const SavedBlock& block) { return block.matrix.first; });
}

bool CheckpointLayout::is_same_replica(const SavedBlock& block, std::int64_t other) const {
  return block.uncut.part(grid_, rank_) == block.uncut.part(grid_, other);
}

std::vector<Run> CheckpointLayout::runs(std::int64_t from, std::int64_t to) const {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const SavedMatrix& matrix = blocks_[i].matrix;
    const std::int64_t begin = std::max<std::int64_t>(from - matrix.first, 0);
    const std::int64_t end = std::min(to - matrix.first, matrix.elements());
    if (begin < end) append_runs(runs, i, blocks_[i], begin, end);
  }
  return runs;
}

void CheckpointLayout::copy_out(const Run& run, float* out) const {
  const Tensor& block = blocks_[run.matrix].block;
  DeviceMemory& memory = *blocks_[run.matrix].memory;
  const std::int64_t width = bytes_per_element(block.precision);
  const std::byte* const from = block.data + run.local * width;
  if (block.precision == Precision::fp32) {
    memory.copy_out(reinterpret_cast<std::byte*>(out), from, run.count * width);
    return;
  }
  HostView view(memory);
  const auto* const bits =
      reinterpret_cast<const std::uint16_t*>(view.read(from, run.count * width));
  for (std::int64_t i = 0; i < run.count; ++i) out[i] = from_bf16_bits(bits[i]);
}

void CheckpointLayout::copy_in(const Run& run, const float* in) const {
  const Tensor& block = blocks_[run.matrix].block;
  DeviceMemory& memory = *blocks_[run.matrix].memory;
  const std::int64_t width = bytes_per_element(block.precision);
  std::byte* const to = block.data + run.local * width;
  if (block.precision == Precision::fp32) {
    memory.copy_in(to, reinterpret_cast<const std::byte*>(in), run.count * width);
    return;
  }
  HostView view(memory);
  auto* const bits = reinterpret_cast<std::uint16_t*>(view.open(to, run.count * width));
  for (std::int64_t i = 0; i < run.count; ++i) bits[i] = bf16_bits(in[i]);
  view.close();
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
