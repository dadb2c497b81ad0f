// Keeps and hands out blocks; see block_store.hpp.
#include "engine/reference/block_store.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/bf16.hpp"
#include "engine/reference/scatter.hpp"

namespace fourfold::inline engine::inline reference {

template <typename T>
BlockStore<T>::BlockStore(Program program, const ProcessGrid& grid, Rounding rounding)
    : program_(std::move(program)),
      grid_(grid),
      rounding_(rounding),
      values_(program_.values.size()) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Id id = static_cast<Id>(i);
    const bool sized = program_[id].role != Role::cache;
    if (program_[id].persistent && sized && !is_words(id)) values_[i] = empty(id, 0);
  }
}

template <typename T>
void BlockStore<T>::put(Id id, Blocks<T> blocks) {
  if (kept_precision(id) == Precision::bf16) {
    for (Matrix<T>& block : blocks) {
      for (T& x : block.values) x = static_cast<T>(rounded_to_bf16(static_cast<float>(x)));
    }
  }
  (*this)[id] = std::move(blocks);
}

template <typename T>
void BlockStore<T>::release(Id id) {
  if (!holds(id)) {
    throw std::logic_error("lockstep: " + program_[id].label.full() + " is released but not there");
  }
  (*this)[id].clear();
}

template <typename T>
void BlockStore<T>::expect_step_is_over() const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const bool kept =
        std::count(program_.kept.begin(), program_.kept.end(), static_cast<Id>(i)) > 0;
    if (!program_.values[i].persistent && !kept && !values_[i].empty()) {
      throw std::logic_error("lockstep: nobody released " + program_.values[i].label.full());
    }
  }
}

template <typename T>
Blocks<T> BlockStore<T>::empty(Id id, std::int64_t tokens) const {
  const Value& value = program_[id];
  const auto ranks = static_cast<std::size_t>(grid_.size());
  if (!value.members.empty() || !value.shape.sharding.pieces.empty()) {
    return Blocks<T>(ranks, {1, program_.local_elements(id, grid_, {tokens})});
  }
  return Blocks<T>(
      ranks, {value.shape.local_rows(grid_, {tokens}), value.shape.local_cols(grid_, {tokens})});
}

template <typename T>
std::vector<std::string> BlockStore<T>::parameters() const {
  std::vector<std::string> names;
  for (const Parameter& parameter : program_.parameters) {
    names.push_back(program_[parameter.weight].label.full());
  }
  return names;
}

template <typename T>
Id BlockStore<T>::persistent(const std::string& name) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Id id = static_cast<Id>(i);
    if (program_[id].persistent && !is_words(id) && program_[id].label.full() == name) return id;
  }
  throw std::invalid_argument("the program has no parameter " + name);
}

template <typename T>
Matrix<T> BlockStore<T>::global(const std::string& name) const {
  const Id id = persistent(name);
  return gather(program_[id].shape, grid_, values_[static_cast<std::size_t>(id)]);
}

template <typename T>
void BlockStore<T>::set(Id id, const Matrix<T>& global) {
  Blocks<T> blocks;
  for (std::int64_t rank = 0; rank < grid_.size(); ++rank) {
    blocks.push_back(scatter(program_[id].shape, grid_, rank, global));
  }
  put(id, std::move(blocks));
}

template class BlockStore<float>;
template class BlockStore<double>;

}  // namespace fourfold::inline engine::inline reference
