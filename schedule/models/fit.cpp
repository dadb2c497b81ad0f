// The rules of a fit, each once; see fit.hpp.
#include "schedule/models/fit.hpp"

#include <algorithm>
#include <numeric>

#include "schedule/program/sharding.hpp"
#include "support/divisors.hpp"

namespace fourfold::inline schedule::inline models {

const char* name(Misfit why) {
  constexpr const char* names[]{"none",   "heads", "key-value heads", "MLP",    "divisibility",
                                "layers", "order", "batch",           "tokens", "second factoring"};
  return names[static_cast<int>(why)];
}

std::int64_t replicas(const ProcessGrid& grid) {
  return token_cuts.parts(grid);
}

std::int64_t batch_unit(const ProcessGrid& grid, std::int64_t micro_batches) {
  return micro_batches * replicas(grid);
}

std::set<std::int64_t> model_parts(const Model& model) {
  std::set<std::int64_t> parts;
  const std::int64_t heads = std::gcd(model.kv_heads(), model.heads);
  for (std::int64_t x : divisors(std::gcd(heads, std::gcd(model.width(), model.hidden)))) {
    for (std::int64_t y : divisors(model.hidden)) parts.insert(x * y);
  }
  return parts;
}

Misfit find_misfit(const Model& model, const ProcessGrid& grid, std::int64_t chunks) {
  const std::int64_t x = grid.extent(Axis::x);
  const std::int64_t y = grid.extent(Axis::y);
  if (model.heads % x != 0) return Misfit::heads;
  if (model.kv_heads() % x != 0) return Misfit::key_value_heads;
  if (model.width() % x != 0) return Misfit::mlp;
  if (model.hidden % x != 0 || model.hidden % y != 0) return Misfit::divisibility;
  // Of several chunks the first and the last may have none: embedding and head alone.
  const std::int64_t most = chunks == 1 ? model.layers : (model.layers + 2) / chunks;
  if (grid.extent(Axis::pipe) > std::min(most, model.layers)) return Misfit::layers;
  return grid.has_second() ? Misfit::second_factoring : Misfit::none;
}

Misfit find_misfit(const Model& model, const ProcessGrid& grid, std::int64_t global_batch,
                   const StepOptions& options) {
  const Misfit of_model = find_misfit(model, grid, options.chunks);
  if (of_model != Misfit::none) return of_model;
  const std::int64_t stages = grid.extent(Axis::pipe);
  if (!options.layers_per_stage.fault(model.layers, stages, options.chunks).empty()) {
    return Misfit::layers;
  }
  if (!order_misfit(options, grid.extent(Axis::pipe)).empty()) return Misfit::order;
  const bool shared_out =
      options.micro_batches >= 1 && global_batch % batch_unit(grid, options.micro_batches) == 0;
  if (!shared_out) return Misfit::batch;
  const std::int64_t tokens =
      tokens_of_sequence(model, options) * (global_batch / batch_unit(grid, options.micro_batches));
  const bool whole = !options.sequence_parallel || tokens % grid.extent(Axis::x) == 0;
  return whole ? Misfit::none : Misfit::tokens;
}

std::int64_t tokens_of_sequence(const Model& model, Phase phase) {
  return row_of(phase).one_token ? 1 : model.sequence;
}

std::int64_t tokens_of_sequence(const Model& model, const StepOptions& options) {
  return tokens_of_sequence(model, options.phase);
}

std::string order_misfit(const StepOptions& options, std::int64_t stages) {
  const PipelineOrderRow& order = row_of(options.order);
  const std::string called = std::string("the ") + order.name + " order ";
  if (order.chunks && options.chunks < 2) {
    return called + "needs at least 2 chunks of layers on each stage: --chunks 2";
  }
  if (!order.queue && options.pipeline_limit > 0) {
    return std::string("the order ") + order.name +
           " has no limit of micro-batches in flight; --pipeline-limit is for --order "
           "message-driven";
  }
  const bool alone = needs_stages(options.order) && stages == 1;
  const std::string why_not_alone = called + "needs at least 2 stages: give the grid a pipe axis";
  if (order.queue && alone) return why_not_alone;
  if (order.queue && !options.overlap.messages) {
    return called +
           "receives messages ahead, as it runs what has arrived: it needs the overlap "
           "of messages";
  }
  if (!order.chunks && options.chunks > 1) {
    return std::string("the order ") + order.name + " has 1 chunk on each stage, not " +
           std::to_string(options.chunks) + "; several are for --order interleaved";
  }
  if (alone) return why_not_alone;
  if (order.chunks && options.micro_batches % stages != 0) {
    const std::int64_t below = options.micro_batches / stages * stages;
    return called + "takes micro-batches in groups of as many as there are stages: " +
           std::to_string(options.micro_batches) + " are no multiple of " + std::to_string(stages) +
           "; the nearest are " + (below > 0 ? std::to_string(below) + " and " : "") +
           std::to_string(below + stages);
  }
  return "";
}

Axis indivisible_axis(const Model& model, const ProcessGrid& grid) {
  return model.hidden % grid.extent(Axis::x) == 0 ? Axis::y : Axis::x;
}

namespace {

// "; 4 or 8 would": the nearest counts that do divide what each share gets.
std::string nearest_counts(const ProcessGrid& grid, std::int64_t batch, std::int64_t count) {
  if (batch < 1 || count < 1 || batch % replicas(grid) != 0) return "";
  std::string below;
  for (std::int64_t divisor : divisors(batch / replicas(grid))) {
    if (divisor > count) return "; " + below + " or " + std::to_string(divisor) + " would";
    below = std::to_string(divisor);
  }
  return "; " + below + " would";
}

}  // namespace

std::string misfit(const Model& model, const ProcessGrid& grid, std::int64_t global_batch,
                   const StepOptions& options) {
  const std::int64_t micro_batches = options.micro_batches;
  const std::string where = "grid " + grid.str() + " does not fit " + model.name + ": ";
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  switch (find_misfit(model, grid, global_batch, options)) {
    case Misfit::none:
      break;
    case Misfit::heads:
      return where + text(model.heads) +
             " heads do not divide by x = " + text(grid.extent(Axis::x)) +
             "; x must be a divisor of the heads";
    case Misfit::key_value_heads: {
      const std::int64_t x = grid.extent(Axis::x);
      return where + text(model.kv_heads()) +
             " heads of keys and values do not divide by x = " + text(x) +
             "; x must be a divisor of them, as each is on one device along x only" +
             (x % model.kv_heads() == 0
                  ? "; copies of them are said in a model file with key_value_heads = " + text(x)
                  : "");
    }
    case Misfit::mlp:
      return where + "the MLP's " + text(model.width()) +
             " columns do not divide by x = " + text(grid.extent(Axis::x)) +
             "; x must be a divisor of them";
    case Misfit::divisibility: {
      const Axis axis = indivisible_axis(model, grid);
      return where + "hidden size " + text(model.hidden) + " does not divide by " + name(axis) +
             " = " + text(grid.extent(axis)) + "; x and y must be divisors of it";
    }
    case Misfit::layers:
      if (find_misfit(model, grid, options.chunks) != Misfit::layers) {
        return where + options.layers_per_stage.fault(model.layers, grid.extent(Axis::pipe),
                                                      options.chunks);
      }
      return where + text(model.layers) + " layers cannot be dealt out to " +
             text(grid.extent(Axis::pipe)) + " stages of " + text(options.chunks) +
             (options.chunks == 1 ? " chunk" : " chunks") +
             " each; stages x chunks must be at most the layers" +
             (options.chunks == 1 ? "" : " and two more");
    case Misfit::order:
      return where + order_misfit(options, grid.extent(Axis::pipe));
    case Misfit::batch:
      return where + "a batch of " + text(global_batch) + " sequences does not divide into " +
             text(micro_batches) +
             " micro-batches of whole sequences on z x data = " + text(grid.extent(Axis::z)) +
             " x " + text(grid.extent(Axis::data)) + " shares" +
             nearest_counts(grid, global_batch, micro_batches);
    case Misfit::tokens:
      return where + "sequence parallelism cuts the " +
             text(tokens_of_sequence(model, options) *
                  (global_batch / batch_unit(grid, micro_batches))) +
             " tokens of a micro-batch on a device by x = " + text(grid.extent(Axis::x)) +
             ", which must divide them";
    case Misfit::second_factoring:
      return where +
             "no layer of it lies on a second factoring of the ranks; leave expert and "
             "expert-tensor out";
  }
  return "";
}

}  // namespace fourfold::inline schedule::inline models
