// In which sequence the stages of a pipeline do their micro-batches, as a table: what an order is
// called, and which options are its own. The turns of each are a file in schedule/order/kinds/.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace fourfold::inline schedule::inline program {

// 1f1b: as many forwards as it takes to the last stage and back, then one forward, one backward
// (PipeDream-flush, Megatron-LM); gpipe: all forwards, then all backwards; interleaved: 1f1b over
// several chunks of layers a stage (Megatron-LM, SC21); zero_bubble: 1f1b whose gradients of
// weights are put off into the gaps (ZB-H1, arXiv:2401.10241); message_driven: whichever message
// has arrived is run (AxoNN, IPDPS 2022). With one stage 1f1b and zero_bubble are forward and
// backward of each micro-batch in turn.
enum class PipelineOrder : std::uint8_t {
  one_f_one_b,
  gpipe,
  interleaved,
  zero_bubble,
  message_driven
};

struct PipelineOrderRow {
  PipelineOrder order;
  const char* name;
  bool chunks = false;  // several of layers on each stage, at least 2; else 1
  bool queue = false;   // of turns that messages decide on, which has a limit
  bool gaps = false;    // fills those of a pipeline: with one stage it is 1f1b
};

inline constexpr std::array pipeline_orders{
    PipelineOrderRow{.order = PipelineOrder::one_f_one_b, .name = "1f1b"},
    PipelineOrderRow{.order = PipelineOrder::gpipe, .name = "gpipe"},
    PipelineOrderRow{.order = PipelineOrder::interleaved, .name = "interleaved", .chunks = true},
    PipelineOrderRow{.order = PipelineOrder::zero_bubble, .name = "zero-bubble", .gaps = true},
    PipelineOrderRow{
        .order = PipelineOrder::message_driven, .name = "message-driven", .queue = true}};

constexpr const PipelineOrderRow& row_of(PipelineOrder order) {
  return pipeline_orders[static_cast<std::size_t>(order)];
}
constexpr const char* name(PipelineOrder order) {
  return row_of(order).name;
}
// Whether it is of use, or can be done, on several stages alone.
constexpr bool needs_stages(PipelineOrder order) {
  return row_of(order).chunks || row_of(order).queue;
}
inline std::vector<PipelineOrder> all_pipeline_orders() {
  std::vector<PipelineOrder> all;
  for (const PipelineOrderRow& row : pipeline_orders) all.push_back(row.order);
  return all;
}

}  // namespace fourfold::inline schedule::inline program
