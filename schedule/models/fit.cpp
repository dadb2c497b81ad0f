// The rules of a fit, each once; see fit.hpp.
#include "schedule/models/fit.hpp"

#include <numeric>

#include "support/divisors.hpp"

namespace fourfold {

std::int64_t replicas(const ProcessGrid& grid) {
  return grid.extent(Axis::z) * grid.extent(Axis::data);
}

std::int64_t batch_unit(const ProcessGrid& grid, std::int64_t micro_batches) {
  return micro_batches * replicas(grid);
}

std::set<std::int64_t> model_parts(const Model& model) {
  std::set<std::int64_t> parts;
  for (std::int64_t x : divisors(std::gcd(model.heads, model.hidden))) {
    for (std::int64_t y : divisors(model.hidden)) parts.insert(x * y);
  }
  return parts;
}

Misfit find_misfit(const Model& model, const ProcessGrid& grid) {
  const std::int64_t x = grid.extent(Axis::x);
  const std::int64_t y = grid.extent(Axis::y);
  if (model.heads % x != 0) return Misfit::heads;
  if (model.hidden % x != 0 || model.hidden % y != 0) return Misfit::divisibility;
  return Misfit::none;
}

Misfit find_misfit(const Model& model, const ProcessGrid& grid, std::int64_t global_batch,
                   std::int64_t micro_batches) {
  const Misfit of_model = find_misfit(model, grid);
  if (of_model != Misfit::none) return of_model;
  const bool shared_out = micro_batches >= 1 && global_batch % batch_unit(grid, micro_batches) == 0;
  return shared_out ? Misfit::none : Misfit::batch;
}

Axis indivisible_axis(const Model& model, const ProcessGrid& grid) {
  return model.hidden % grid.extent(Axis::x) == 0 ? Axis::y : Axis::x;
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
      const Axis axis = indivisible_axis(model, grid);
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
