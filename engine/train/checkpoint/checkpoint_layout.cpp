// Arithmetic of runs; see checkpoint_layout.hpp.
#include "engine/train/checkpoint/checkpoint_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "engine/bf16.hpp"

namespace fourfold {

namespace {

Cuts uncut_axes(const Shape& shape) {
  Cuts uncut;
  for (Axis axis : all_axes) {
    if (!shape.sharding.cuts().contains(axis)) uncut = uncut.with(axis);
  }
  return uncut;
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

CheckpointLayout::CheckpointLayout(const Weights& weights)
    : grid_(weights.grid()), rank_(weights.rank()), device_(weights.device()) {
  // A master is saved under its weight's name, and says all that the weight does.
  std::map<std::string, const Stored*> saved;
  for (const Stored& stored : weights.all()) {
    if (stored.has_master) continue;
    saved[stored.kept == Kept::master ? stored.parameter : stored.name] = &stored;
  }
  std::int64_t first = 0;
  for (const auto& [name, stored] : saved) {
    const SavedBlock& block = blocks_.emplace_back(
        SavedBlock{{name, stored->shape.rows.value({}), stored->shape.cols.value({}), first},
                   stored->block,
                   block_place(stored->shape, weights.grid(), weights.rank()),
                   uncut_axes(stored->shape)});
    first += block.matrix.elements();
  }
}

std::vector<SavedMatrix> CheckpointLayout::matrices() const {
  std::vector<SavedMatrix> matrices;
  for (const SavedBlock& block : blocks_) matrices.push_back(block.matrix);
  return matrices;
}

void CheckpointLayout::place_as_in(const std::vector<SavedMatrix>& file) {
  std::map<std::string, SavedMatrix> by_name;
  for (const SavedMatrix& matrix : file) by_name[matrix.name] = matrix;
  for (SavedBlock& block : blocks_) {
    const auto found = by_name.find(block.matrix.name);
    if (found == by_name.end()) {
      throw std::runtime_error("does not hold " + block.matrix.name);
    }
    const SavedMatrix& saved = found->second;
    if (saved.rows != block.matrix.rows || saved.cols != block.matrix.cols) {
      throw std::runtime_error(fmt::format("holds {} as {} x {}, and {} x {} is needed", saved.name,
                                           saved.rows, saved.cols, block.matrix.rows,
                                           block.matrix.cols));
    }
    block.matrix.first = saved.first;
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
  const std::int64_t width = bytes_per_element(block.precision);
  const std::byte* const from = block.data + run.local * width;
  if (block.precision == Precision::fp32) {
    device_.copy_out(reinterpret_cast<std::byte*>(out), from, run.count * width);
    return;
  }
  HostView view(device_);
  const auto* const bits =
      reinterpret_cast<const std::uint16_t*>(view.read(from, run.count * width));
  for (std::int64_t i = 0; i < run.count; ++i) out[i] = from_bf16_bits(bits[i]);
}

void CheckpointLayout::copy_in(const Run& run, const float* in) const {
  const Tensor& block = blocks_[run.matrix].block;
  const std::int64_t width = bytes_per_element(block.precision);
  std::byte* const to = block.data + run.local * width;
  if (block.precision == Precision::fp32) {
    device_.copy_in(to, reinterpret_cast<const std::byte*>(in), run.count * width);
    return;
  }
  HostView view(device_);
  auto* const bits = reinterpret_cast<std::uint16_t*>(view.open(to, run.count * width));
  for (std::int64_t i = 0; i < run.count; ++i) bits[i] = bf16_bits(in[i]);
  view.close();
}

}  // namespace fourfold
