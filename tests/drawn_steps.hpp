// Training steps drawn over all options, small enough for every rung: what golden texts are made
// of. A draw depends on its number and on what is drawn alone, so that another option to draw from
// moves no other choice.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "schedule/models/fit.hpp"
#include "schedule/models/model.hpp"
#include "schedule/program/process_grid.hpp"
#include "schedule/program/step_options.hpp"
#include "support/field.hpp"
#include "support/random.hpp"

namespace fourfold::tests {

// FNV-1a: of words, and of all numbers of something whose parts nobody wants to read.
class Checksum {
 public:
  Checksum& operator()(std::string_view text) {
    for (char c : text) byte(static_cast<unsigned char>(c));
    return *this;
  }
  Checksum& operator()(std::int64_t number) {
    for (int i = 0; i < 8; ++i) byte(static_cast<std::uint64_t>(number) >> (8 * i) & 0xff);
    return *this;
  }
  std::uint64_t value() const { return sum_; }

 private:
  void byte(std::uint64_t one) { sum_ = (sum_ ^ one) * 0x100000001b3U; }

  std::uint64_t sum_ = 0xcbf29ce484222325U;
};

class Draw {
 public:
  Draw(std::int64_t number, std::int64_t attempt) : number_(number), attempt_(attempt) {}

  std::uint64_t bits(std::string_view what) const {
    return random_at(Checksum()(what).value(), static_cast<std::uint64_t>(number_),
                     static_cast<std::uint64_t>(attempt_));
  }
  std::int64_t below(std::string_view what, std::int64_t count) const {
    return static_cast<std::int64_t>(bits(what) % static_cast<std::uint64_t>(count));
  }
  template <typename T>
  T of(std::string_view what, std::initializer_list<T> choices) const {
    return choices.begin()[below(what, static_cast<std::int64_t>(choices.size()))];
  }
  // True so many times of a hundred.
  bool often(std::string_view what, std::int64_t percent) const {
    return below(what, 100) < percent;
  }

 private:
  std::int64_t number_, attempt_;
};

struct DrawnStep {
  Model model;
  ProcessGrid grid;
  std::int64_t batch = 0;  // sequences
  StepOptions options;

  std::int64_t micro_batch_tokens() const { return model.sequence * batch / options.micro_batches; }
};

// Sizes that divide by much or by little, so that some blocks, pieces and vocabularies are padded.
inline Model drawn_model(const Draw& draw) {
  return draw.of<Model>("model", {{"small", 5, 240, 12, 60, 1009},
                                  {"odd", 7, 1440, 12, 600, 50'257},
                                  {"wide", 6, 7680, 96, 2048, 51'200},
                                  {"deep", 14, 1152, 24, 120, 2000}});
}

inline StepOptions drawn_options(const Draw& draw, PipelineOrder order, std::int64_t zero) {
  StepOptions options;
  options.order = order;
  options.zero = zero;
  options.micro_batches = draw.of<std::int64_t>("micro-batches", {1, 2, 3, 4, 6, 8});
  if (draw.often("fp32", 20)) options.precision = Precision::fp32;
  options.recompute =
      draw.of("recompute", {Recompute::full, Recompute::none, Recompute::selective});
  if (draw.often("unfused", 30)) options.attention = AttentionKernel::unfused;
  options.overlap.all_reduce = !draw.often("no oar", 20);
  options.overlap.reduce_scatter = !draw.often("no ors", 20);
  options.overlap.all_gather = !draw.often("no oag", 20);
  options.overlap.recompute_gather = !draw.often("no recompute gather", 20);
  options.overlap.messages = !draw.often("no messages", 20);
  options.in_flight_blocks = draw.of<std::int64_t>("in flight", {1, 2, 2, 3, 5, 1000});
  if (draw.often("keep", 30)) options.weight_gather = WeightGather::keep;
  if (draw.often("accumulated", 30)) {
    options.gradient_reduction = GradientReduction::accumulated;
  }
  if (draw.often("beside", 40)) options.data_reduction = DataReduction::beside_backward;
  if (order == PipelineOrder::interleaved) options.chunks = draw.of<std::int64_t>("chunks", {2, 3});
  if (order == PipelineOrder::message_driven) {
    options.pipeline_limit = draw.of<std::int64_t>("limit", {0, 1, 3, 5});
  }
  options.sequence_parallel = draw.often("sequence parallel", 40);
  options.cut_messages = draw.often("cut messages", 40);
  if (draw.often("offload", 20)) {
    options.offload_bucket = draw.of<std::int64_t>("bucket", {1000, 70'000, 4'000'000});
  }
  if (draw.often("fp32 along z", 30)) options.grad_reduce_precision_z = Precision::fp32;
  if (draw.often("bf16 along data", 30)) options.grad_reduce_precision_data = Precision::bf16;
  return options;
}

// Orders and stages of ZeRO come in turn.
inline StepOptions drawn_options(const Draw& draw, std::int64_t number) {
  constexpr std::array orders{PipelineOrder::one_f_one_b, PipelineOrder::gpipe,
                              PipelineOrder::interleaved, PipelineOrder::zero_bubble,
                              PipelineOrder::message_driven};
  return drawn_options(draw, orders[static_cast<std::size_t>(number) % orders.size()],
                       number / 5 % 4);
}

// Drawn until it fits together.
inline DrawnStep drawn_step(std::int64_t number, std::int64_t most_devices,
                            const std::optional<Model>& model = {}) {
  for (std::int64_t attempt = 0;; ++attempt) {
    const Draw draw(number, attempt);
    const ProcessGrid grid(
        draw.of<std::int64_t>("x", {1, 2, 3, 4, 6, 8}), draw.of<std::int64_t>("y", {1, 1, 2, 3, 4}),
        draw.of<std::int64_t>("z", {1, 2, 3, 4, 6}), draw.of<std::int64_t>("data", {1, 2, 3, 4, 5}),
        draw.of<std::int64_t>("pipe", {1, 2, 3, 4}));
    if (grid.size() > most_devices || grid.size() < 2) continue;
    DrawnStep step{model ? *model : drawn_model(draw), grid, 0, drawn_options(draw, number)};
    step.batch = draw.of<std::int64_t>("sequences", {1, 2, 3}) *
                 batch_unit(grid, step.options.micro_batches);
    if (find_misfit(step.model, grid, step.batch, step.options) == Misfit::none) return step;
  }
}

// Of steps that are trained: heads and columns divide by much, 29 words by nothing.
inline const Model trained_model{"tiny", 4, 24, 12, 4, 29};
inline constexpr std::int64_t most_trained_devices = 8;
inline constexpr std::int64_t most_trained_sequences = 24;

// "odd on 2x3x1x4, batch 24, zero=2": what differs from the usual options.
inline std::string words_of(const DrawnStep& step) {
  struct Word {
    std::string operator()(bool on) const { return on ? "on" : "off"; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return std::to_string(number); }
    std::string operator()(const std::string& word) const { return word; }
    std::string operator()(const std::vector<std::string>&) const { return ""; }
  };
  std::string text =
      step.model.name + " on " + step.grid.str() + ", batch " + std::to_string(step.batch);
  const FieldValues usual = step_fields().values(StepOptions{});
  for (const auto& [key, value] : step_fields().values(step.options)) {
    if (usual.at(key) != value) text += ", " + key + "=" + std::visit(Word{}, value);
  }
  return text;
}

}  // namespace fourfold::tests
