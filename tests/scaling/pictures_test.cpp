// Pictures of orders, as text in the papers' way and as SVG with a box for every turn, and of
// memory over a step.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "scaling/text/memory_text.hpp"
#include "scaling/text/order_drawing.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/schedule/orders.hpp"

namespace fourfold::tests {
namespace {

TEST(OrderText, StaysReadableWhereTurnsDiffer) {
  const std::string text =
      order_text(chart_of(with(PipelineOrder::one_f_one_b, 60), 2, {{1}, {1}, {1}}));

  EXPECT_LE(text.find('\n'), 420U);
  EXPECT_EQ(text.find("F1B10"), std::string::npos) << "a micro-batch that it is not";
}

// A label that fits its box to the letter is whole.
TEST(OrderText, NamesEachTurnThatHasRoomForItsName) {
  const std::string text =
      order_text(chart_of(with(PipelineOrder::one_f_one_b, 12), 2, {{1}, {1}, {1}}));

  for (const char* turn : {"F", "B"}) {
    for (int i = 0; i < 12; ++i) {
      EXPECT_NE(text.find(turn + std::to_string(i)), std::string::npos) << turn << i << '\n'
                                                                        << text;
    }
  }
}

TEST(OrderSvg, HasABoxForEveryTurnAndNamesItsColours) {
  const std::string svg =
      order_svg(chart_of(with(PipelineOrder::zero_bubble, 5), 3, {}), "a title");

  const std::regex box("<rect x=");
  const std::ptrdiff_t boxes =
      std::distance(std::sregex_iterator(svg.begin(), svg.end(), box), std::sregex_iterator());
  EXPECT_EQ(boxes, 3 * 15 + 3 + 3) << "turns, a row a stage, what colours mean";
  EXPECT_NE(svg.find(">a title</text>"), std::string::npos);
  EXPECT_NE(svg.find("weight gradient"), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  const std::string whole = order_svg(chart_of(with(PipelineOrder::gpipe, 2), 2, {}), "");
  EXPECT_NE(whole.find(">backward<"), std::string::npos);
  EXPECT_EQ(whole.find("gradient"), std::string::npos);
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

// --- memory: as high in each column as the most there is within it; of its table the fullest stage

constexpr std::size_t width = 72, height = 12;

// Moments at drawn times, each with so many bytes of one part.
MemorySeries drawn_series(std::int64_t number) {
  const Draw draw(number, 0);
  const std::int64_t moments = 2 + draw.below("moments", 60);
  MemorySeries series;
  double time = 0.0;
  for (std::int64_t i = 0; i < moments; ++i) {
    const std::string own = std::to_string(i);
    MemoryParts parts;
    parts.bytes[static_cast<std::size_t>(draw.below("part " + own, memory_part_count))] = {
        1e9 * static_cast<double>(1 + draw.below("bytes " + own, 40))};
    series.moments.push_back({{time}, parts});
    time += static_cast<double>(1 + draw.below("time " + own, 9));
  }
  return series;
}

// Of each column, how many rows of it are filled.
std::vector<std::size_t> drawn_heights(const std::string& drawing) {
  std::vector<std::size_t> heights(width, 0);
  std::istringstream lines(drawing);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t bar = line.find('|');
    for (std::size_t c = 0; bar != std::string::npos && bar + 1 + c < line.size(); ++c) {
      if (line[bar + 1 + c] != ' ') ++heights[c];
    }
  }
  return heights;
}

TEST(MemoryDrawing, IsAsHighInEachColumnAsTheMostWithinIt) {
  for (std::int64_t number = 0; number < 100; ++number) {
    const MemorySeries series = drawn_series(number);
    const std::vector<MemoryAt>& moments = series.moments;
    const double end = moments.back().time.value, column = end / static_cast<double>(width);
    double most = 0.0;
    for (std::size_t i = 0; i + 1 < moments.size(); ++i) {
      most = std::max(most, moments[i].parts.sum().value);
    }
    const std::vector<std::size_t> heights = drawn_heights(memory_drawing(series));
    for (std::size_t c = 0; c < width; ++c) {
      const double from = column * static_cast<double>(c), to = from + column;
      double here = 0.0;
      for (std::size_t i = 0; i + 1 < moments.size(); ++i) {
        // Not those that only touch it.
        if (moments[i + 1].time.value <= from + 1e-9 || moments[i].time.value >= to - 1e-9)
          continue;
        here = std::max(here, moments[i].parts.sum().value);
      }
      const double rows = here / most * static_cast<double>(height);
      EXPECT_GE(static_cast<double>(heights[c]), rows - 0.5001) << number << ", column " << c;
    }
    EXPECT_EQ(*std::ranges::max_element(heights), height) << number;
  }
}

TEST(MemoryTable, ShowsTheFullestOfAnyNumberOfStages) {
  const Platform platform = read_platform("crossbar");
  for (const std::size_t count : {2, 8, 9, 20}) {
    for (std::size_t fullest = 0; fullest < count; ++fullest) {
      MemoryCourse course;
      course.fullest = fullest;
      course.stages.resize(count);
      for (StageCourse& stage : course.stages) {
        stage.sections.resize(1);
        stage.moments.resize(1);
      }

      const std::string text = memory_text(course, platform);

      EXPECT_NE(text.find("> " + std::to_string(fullest) + " "), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
