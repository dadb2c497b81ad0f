// Boxes on a time axis, in characters and in pixels; see order_drawing.hpp.
#include "scaling/text/order_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "support/markup_text.hpp"

namespace fourfold::inline scaling::inline text {

namespace {

constexpr int widest_row = 400;  // characters

std::int64_t chunks_of(const OrderChart& chart) {
  std::int64_t chunks = 1;
  for (const auto& turns : chart.stages) {
    for (const ChartedTurn& turn : turns) chunks = std::max(chunks, turn.chunk + 1);
  }
  return chunks;
}

bool splits(const OrderChart& chart) {
  return std::ranges::any_of(chart.stages, [](const auto& turns) {
    return std::ranges::any_of(
        turns, [](const ChartedTurn& turn) { return turn.part == StepPart::weight_gradient; });
  });
}

char letter(StepPart part) {
  if (part == StepPart::forward) return 'F';
  return part == StepPart::weight_gradient ? 'W' : 'B';
}

// "F3", and of several chunks "F3.1"; of a turn in parts the last one has the number.
std::string label(const ChartedTurn& turn, std::int64_t chunks) {
  if (turn.goes_on) return {letter(turn.part)};
  std::string text = letter(turn.part) + std::to_string(turn.micro_batch);
  return chunks == 1 ? text : text + '.' + std::to_string(turn.chunk);
}

// Characters a second: every label has room in its box if the rows do not become too wide.
template <typename Label>
double scale_of(const OrderChart& chart, const Label& label) {
  double scale = 0.0;
  for (const auto& turns : chart.stages) {
    for (const ChartedTurn& turn : turns) {
      if (turn.goes_on) continue;
      const auto room = static_cast<double>(label(turn).size() + 1);
      scale = std::max(scale, room / (turn.end - turn.start).value);
    }
  }
  return std::min(scale, widest_row / std::max(chart.end.value, 1e-300));
}

// Colours as in the papers: forwards blue, backwards green, weight gradients of a colour of their
// own; later chunks lighter.
std::string colour(const ChartedTurn& turn, std::int64_t chunks) {
  const std::map<char, std::array<int, 3>> colours{
      {'F', {70, 120, 190}}, {'B', {80, 160, 90}}, {'W', {220, 150, 60}}};
  std::array<int, 3> rgb = colours.at(letter(turn.part));
  const double white = 0.55 * static_cast<double>(turn.chunk) / static_cast<double>(chunks);
  for (int& part : rgb) part += static_cast<int>(std::lround(white * (255 - part)));
  return fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

constexpr double row_height = 26.0;
constexpr double box_height = 22.0;
constexpr double left_margin = 64.0;
constexpr double top_margin = 34.0;
constexpr double font = 11.0;

std::string text_at(double x, double y, const std::string& attributes, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes,
                     markup_text(text));
}

std::string box(double x, double y, double width, const std::string& fill) {
  return fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\" "
      "stroke=\"white\" stroke-width=\"0.8\"/>\n",
      x, y, width, box_height, fill);
}

// What colours mean.
std::string legend(const OrderChart& chart, double y) {
  const bool split = splits(chart);
  const std::int64_t chunks = chunks_of(chart);
  struct Entry {
    StepPart part;
    std::string text;
  };
  std::vector<Entry> entries{{StepPart::forward, "forward"},
                             {StepPart::backward, split ? "input gradient" : "backward"}};
  if (split) entries.push_back({StepPart::weight_gradient, "weight gradient"});
  std::string svg;
  double x = left_margin;
  for (const Entry& entry : entries) {
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      svg += box(x, y, box_height, colour({entry.part, 0, chunk, {}, {}}, chunks));
      x += box_height;
    }
    svg += text_at(x + 6, y + 15, "", entry.text + (chunks > 1 ? ", by chunk" : ""));
    x += 150.0;
  }
  return svg;
}

}  // namespace

std::string order_text(const OrderChart& chart) {
  const std::int64_t chunks = chunks_of(chart);
  const double scale =
      scale_of(chart, [&](const ChartedTurn& turn) { return label(turn, chunks); });
  const auto column = [&](Seconds time) {
    return static_cast<std::size_t>(std::lround(time.value * scale));
  };
  std::string text;
  for (std::size_t stage = 0; stage < chart.stages.size(); ++stage) {
    std::string row(column(chart.end), '.');
    for (const ChartedTurn& turn : chart.stages[stage]) {
      const std::size_t first = column(turn.start);
      const std::size_t width = column(turn.end) - first;
      // A label that is cut off would be another micro-batch's.
      std::string box = label(turn, chunks);
      if (box.size() > width) box.resize(1);
      box.resize(width, '-');
      if (width > 1 && box.back() == '-') box.back() = ' ';
      row.replace(first, width, box);
    }
    text += fmt::format("stage {:<3} |{}|\n", stage, row);
  }
  return text;
}

std::string order_svg(const OrderChart& chart, const std::string& title) {
  const std::int64_t chunks = chunks_of(chart);
  const auto number = [](const ChartedTurn& turn) {
    return turn.goes_on ? "" : std::to_string(turn.micro_batch);
  };
  // Characters in pixels, and room beside them.
  const double scale = scale_of(chart, number) * font * 0.9;
  const auto stages = static_cast<double>(chart.stages.size());
  const double width = left_margin + chart.end.value * scale + 16.0;
  const double height = top_margin + stages * row_height + 44.0;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"{2:.0f}\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      std::max(width, 560.0), height, font);
  svg += text_at(left_margin, 20, "font-weight=\"bold\"", title);
  for (std::size_t stage = 0; stage < chart.stages.size(); ++stage) {
    const double y = top_margin + static_cast<double>(stage) * row_height;
    svg += text_at(8, y + 15, "", fmt::format("stage {}", stage));
    svg += box(left_margin, y, chart.end.value * scale, "#eeeeee");
    for (const ChartedTurn& turn : chart.stages[stage]) {
      const double x = left_margin + turn.start.value * scale;
      const double wide = (turn.end - turn.start).value * scale;
      svg += box(x, y, wide, colour(turn, chunks));
      svg += text_at(x + wide / 2, y + 15, "text-anchor=\"middle\" fill=\"white\"", number(turn));
    }
  }
  return svg + legend(chart, top_margin + stages * row_height + 10) + "</svg>\n";
}

}  // namespace fourfold::inline scaling::inline text
