// Pictures of orders: as text in the papers' way, and as SVG with a box for every turn.
#include "scaling/text/order_drawing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/schedule/orders.hpp"

namespace fourfold::tests {
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

double after(const std::string& box, const std::string& mark) {
  return std::stod(box.substr(box.find(mark) + mark.size()));
}

// Boxes of a row lie in it, side by side, as wide as their turns are long: an input gradient is a
// quarter longer than a forward, a weight gradient half as long.
TEST(OrderDrawing, OfEachOrderHasBoxesAsWideAsTheirTurns) {
  for (PipelineOrder order :
       {PipelineOrder::gpipe, PipelineOrder::one_f_one_b, PipelineOrder::interleaved,
        PipelineOrder::zero_bubble, PipelineOrder::message_driven}) {
    const std::int64_t chunks = order == PipelineOrder::interleaved ? 2 : 1;
    const OrderChart chart = chart_of(with(order, 4, chunks), 2, {{1.0}, {1.25}, {0.5}});
    const std::string svg = order_svg(chart, name(order));
    std::map<double, double> ends;       // by row
    std::map<std::string, double> wide;  // by colour
    double width = 0.0;
    const std::regex box("<rect x=[^>]*>");
    for (std::sregex_iterator it(svg.begin(), svg.end(), box); it != std::sregex_iterator(); ++it) {
      const std::string one = it->str();
      const double x = after(one, "x=\""), y = after(one, "y=\"");
      const double w = after(one, "width=\"");
      const std::size_t at = one.find("fill=\"") + 6;
      const std::string colour = one.substr(at, 7);
      if (colour == "#eeeeee") {
        width = w;
        ends[y] = x;
        continue;
      }
      if (!ends.contains(y)) continue;  // what colours mean
      EXPECT_GE(x, ends[y] - 0.011) << name(order) << ": " << one;
      ends[y] = x + w;
      EXPECT_NEAR(wide.try_emplace(colour, w).first->second, w, 0.011) << one;
    }
    EXPECT_EQ(ends.size(), 2U);
    std::vector<double> widths;
    for (const auto& [colour, w] : wide) widths.push_back(w);
    std::ranges::sort(widths);
    const double forward = order == PipelineOrder::zero_bubble ? widths.at(1) : widths.at(0);
    EXPECT_NEAR(widths.back() / forward, order == PipelineOrder::zero_bubble ? 1.25 : 1.75, 2e-3)
        << name(order);
    EXPECT_GT(width, 8 * forward) << "four forwards and backwards";
    EXPECT_NE(order_text(chart).find("stage 1 "), std::string::npos);
  }
}

}  // namespace
}  // namespace fourfold::tests
