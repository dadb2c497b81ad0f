// Compares cuts rank by rank; see views.hpp.
#include "schedule/program/views.hpp"

namespace fourfold::inline schedule::inline program {

namespace {

bool alike(const Cuts& one, const Cuts& other, const ProcessGrid& grid) {
  if (one == other) return true;
  if (one.parts(grid) != other.parts(grid)) return false;
  for (std::int64_t rank = 0; rank < grid.ranks_of_stage(); ++rank) {
    if (one.part(grid, rank) != other.part(grid, rank)) return false;
  }
  return true;
}

}  // namespace

std::string view_misfit(const Program& program, const ProcessGrid& grid) {
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::view) continue;
    const Value& from = program[op.inputs[0]];
    const Sharding &own = from.shape.sharding, &as = program[op.outputs[0]].shape.sharding;
    if (alike(own.rows, as.rows, grid) && alike(own.cols, as.cols, grid) &&
        alike(own.pieces, as.pieces, grid)) {
      continue;
    }
    return from.label.full() + " (" + own.str() + ") does not lie as " + as.str() + " on grid " +
           grid.str() + "; it passes between the two factorings only where both cut it alike";
  }
  return "";
}

}  // namespace fourfold::inline schedule::inline program
