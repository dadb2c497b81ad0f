// Pictures of orders: as text in the papers' way, and as SVG with a box for every turn.
#include "scaling/text/order_drawing.hpp"

#include <gtest/gtest.h>

#include <regex>

#include "tests/golden.hpp"
#include "tests/schedule/orders.hpp"

namespace fourfold {
namespace {

TEST(OrderText, DrawsTurnsAsLongAsTheyTake) {
  EXPECT_EQ(order_text(chart_of(with(PipelineOrder::one_f_one_b, 3), 2, {})),
            "stage 0   |F0 F1 ......B0--- F2 B1--- ...B2--- |\n"
            "stage 1   |...F0 B0--- F1 B1--- F2 B2--- ......|\n");
}

TEST(OrderText, TellsWeightGradientsApart) {
  EXPECT_EQ(order_text(chart_of(with(PipelineOrder::zero_bubble, 3), 2, {})),
            "stage 0   |F0 F1 ...B0 W0 F2 B1 W1 B2 W2 |\n"
            "stage 1   |...F0 B0 F1 B1 W0 F2 B2 W1 W2 |\n");
}

TEST(OrderText, NamesTheChunk) {
  const std::string text = order_text(chart_of(with(PipelineOrder::interleaved, 2, 2), 2, {}));

  EXPECT_EQ(
      text.substr(0, text.find('\n')),
      "stage 0   |F0.0 F1.0 F0.1 F1.1 ..........B0.1----- .....B1.1----- B0.0----- B1.0----- |");
}

TEST(OrderText, StaysReadableWhereTurnsDiffer) {
  const std::string text =
      order_text(chart_of(with(PipelineOrder::one_f_one_b, 60), 2, {{1}, {1}, {1}}));

  EXPECT_LE(text.find('\n'), 420U);
  EXPECT_EQ(text.find("F1B10"), std::string::npos) << "a micro-batch that it is not";
}

TEST(OrderSvg, HasABoxForEveryTurn) {
  const std::string svg =
      order_svg(chart_of(with(PipelineOrder::zero_bubble, 5), 3, {}), "a title");

  const std::regex box("<rect x=");
  const std::ptrdiff_t boxes =
      std::distance(std::sregex_iterator(svg.begin(), svg.end(), box), std::sregex_iterator());
  EXPECT_EQ(boxes, 3 * 15 + 3 + 3) << "turns, a row a stage, what colours mean";
  EXPECT_NE(svg.find(">a title</text>"), std::string::npos);
  EXPECT_NE(svg.find("weight gradient"), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(OrderSvg, NamesBackwardsWhereTheyAreWhole) {
  const std::string svg = order_svg(chart_of(with(PipelineOrder::gpipe, 2), 2, {}), "");

  EXPECT_NE(svg.find(">backward<"), std::string::npos);
  EXPECT_EQ(svg.find("gradient"), std::string::npos);
}

// Every order, with times of its own for each part, as text and as SVG.
TEST(OrderDrawing, OfEachOrderIsTheGoldenOne) {
  std::string text;
  for (PipelineOrder order :
       {PipelineOrder::gpipe, PipelineOrder::one_f_one_b, PipelineOrder::interleaved,
        PipelineOrder::zero_bubble, PipelineOrder::message_driven}) {
    const std::int64_t chunks = order == PipelineOrder::interleaved ? 3 : 1;
    const OrderChart chart = chart_of(with(order, 4, chunks), 2, {{1.0}, {1.25}, {0.5}});
    text += order_text(chart) + order_svg(chart, name(order));
  }
  expect_golden("order_drawings.txt", text);
}

}  // namespace
}  // namespace fourfold
