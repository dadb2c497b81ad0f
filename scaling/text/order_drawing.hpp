// The picture of an order, stage against time: as text, and as SVG.
#pragma once

#include <string>

#include "sim/explain/order_chart.hpp"

namespace fourfold::inline scaling::inline text {

// Most micro-batches of a picture that people can read.
inline constexpr std::int64_t most_drawn_micro_batches = 64;

// A row for each stage; letters F forward, B backward or its input gradient, W weight gradient,
// with the micro-batch; dots where a stage waits.
std::string order_text(const OrderChart& chart);
// `title` stands above the rows.
std::string order_svg(const OrderChart& chart, const std::string& title);

}  // namespace fourfold::inline scaling::inline text
