// Whether a grid can hold a model at all; see point.hpp.
#include "sim/point.hpp"

namespace fourfold {

Misfit find_misfit(const Model& model, const ProcessGrid& grid, std::int64_t global_batch,
                   std::int64_t micro_batches) {
  const std::int64_t x = grid.extent(Axis::x);
  const std::int64_t y = grid.extent(Axis::y);
  const std::int64_t replicas = grid.extent(Axis::z) * grid.extent(Axis::data);
  if (model.heads % x != 0) return Misfit::heads;
  if (model.hidden % x != 0 || model.hidden % y != 0) return Misfit::divisibility;
  if (micro_batches < 1 || global_batch % (replicas * micro_batches) != 0) return Misfit::batch;
  return Misfit::none;
}

std::string misfit(const Model& model, const ProcessGrid& grid, std::int64_t global_batch,
                   std::int64_t micro_batches) {
  const std::string where = "grid " + grid.str() + " does not fit " + model.name + ": ";
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  switch (find_misfit(model, grid, global_batch, micro_batches)) {
    case Misfit::none:
      break;
    case Misfit::heads:
      return where + text(model.heads) +
             " heads do not divide by x = " + text(grid.extent(Axis::x)) +
             "; x must be a divisor of the heads";
    case Misfit::divisibility: {
      const bool x_fits = model.hidden % grid.extent(Axis::x) == 0;
      const Axis axis = x_fits ? Axis::y : Axis::x;
      return where + "hidden size " + text(model.hidden) + " does not divide by " + name(axis) +
             " = " + text(grid.extent(axis)) + "; x and y must be divisors of it";
    }
    case Misfit::batch:
      return where + "a batch of " + text(global_batch) + " sequences does not divide into " +
             text(micro_batches) +
             " micro-batches of whole sequences on z x data = " + text(grid.extent(Axis::z)) +
             " x " + text(grid.extent(Axis::data)) + " shares";
  }
  return "";
}

}  // namespace fourfold
