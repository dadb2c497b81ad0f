// The memory of all ranks: for each value of a program the blocks that the ranks hold of it, while
// it is there; and trained matrices as wholes, by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/reference/packs.hpp"
#include "schedule/program/program.hpp"

namespace fourfold::inline engine::inline reference {

// Whether values are kept in the precision that the program records, or just as they were computed.
enum class Rounding : std::uint8_t { none, recorded };

template <typename T>
class BlockStore {
 public:
  // Parameters and optimizer state are there from the start, as zeros. Caches are put by whoever
  // knows how many tokens there are.
  BlockStore(Program program, const ProcessGrid& grid, Rounding rounding);

  const Program& program() const { return program_; }
  const ProcessGrid& grid() const { return grid_; }

  Blocks<T>& operator[](Id id) { return values_[static_cast<std::size_t>(id)]; }
  const Blocks<T>& operator[](Id id) const { return values_[static_cast<std::size_t>(id)]; }
  // bf16 where values are kept in it; fp32 stands for all the digits of T.
  Precision kept_precision(Id id) const {
    return rounding_ == Rounding::recorded ? program_[id].precision : Precision::fp32;
  }
  // Rounds once, here: sums within an operation have all the digits of T.
  void put(Id id, Blocks<T> blocks);
  bool holds(Id id) const { return !values_[static_cast<std::size_t>(id)].empty(); }
  // Throws std::logic_error if the value is not there.
  void release(Id id);
  // Throws std::logic_error if a value is there that should not outlive a step.
  void expect_step_is_over() const;

  // Zeros with the local extents of a value; `tokens` are those of a micro-batch on all devices.
  Blocks<T> empty(Id id, std::int64_t tokens) const;
  // Whether a value is a list of words, which no blocks are kept of.
  bool is_words(Id id) const { return program_[id].words(); }

  // Names of the trained matrices in the program's order.
  std::vector<std::string> parameters() const;
  // Throws std::invalid_argument if no parameter or optimizer state has that name.
  Id persistent(const std::string& name) const;
  Matrix<T> global(const std::string& name) const;
  void set(Id id, const Matrix<T>& global);

 private:
  Program program_;
  ProcessGrid grid_;
  Rounding rounding_;
  std::vector<Blocks<T>> values_;  // by value; none: it is not there
};

}  // namespace fourfold::inline engine::inline reference
