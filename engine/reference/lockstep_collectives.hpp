// Collectives on the blocks of all ranks, done line by line of the process grid: sums run over the
// line's members in the order of our rings (ring_order.hpp), so that every member holds the same
// bits and a real run with rings does too.
#pragma once

#include <string>
#include <vector>

#include "engine/reference/matrix.hpp"
#include "schedule/program/sharding.hpp"
#include "schedule/program/step_options.hpp"

namespace fourfold::inline engine::inline reference {

template <typename T>
struct LineCollective {
  const ProcessGrid* grid = nullptr;
  Axis axis = Axis::x;
  const std::vector<Matrix<T>>* input = nullptr;  // by rank
  std::vector<Matrix<T>>* output = nullptr;       // by rank, sized already
  Precision wire = Precision::fp32;               // bf16: every hop receives a sum rounded to it

  void all_reduce(Owed owed) const;
  // The members' blocks one after the other; what exceeds the output is padding.
  void all_gather() const;
  // Member i keeps the i-th piece of the sum.
  void reduce_scatter() const;
  // From rows that are cut to columns that are, or back, as the extents of the blocks say.
  void all_to_all() const;
  // Of an all-to-all of marked blocks: what is not marked is zero, and of marks those that arrive
  // are what became of the input. Throw std::logic_error with the names.
  void expect_marked(const std::string& name, const std::vector<Matrix<T>>& marks) const;
  void expect_arrival(const std::string& name, const std::string& arriving_name,
                      const std::vector<Matrix<T>>& arriving) const;
  // Everybody's becomes the first member's.
  void broadcast() const;
  void neighbour_exchange() const;
};

}  // namespace fourfold::inline engine::inline reference
