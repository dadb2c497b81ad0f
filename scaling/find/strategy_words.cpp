// From words to lists; see strategy_words.hpp.
#include "scaling/find/strategy_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "platforms/file/scale_groups.hpp"
#include "schedule/models/launch_words.hpp"
#include "schedule/program/step_options.hpp"
#include "support/field.hpp"
#include "support/shell_word.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

constexpr std::size_t longest_list = 10'000;

[[noreturn]] void refuse_list(const std::string& what, const std::string& text) {
  throw std::runtime_error(fmt::format(
      "{} '{}' is no list of whole numbers, such as 1,2,4 or 4-20, nor all", what, text));
}

// At least 1.
std::int64_t number_in(const std::string& what, const std::string& text, const std::string& word) {
  std::int64_t number = 0;
  const char* end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < 1 || number > most_of_anything) {
    refuse_list(what, text);
  }
  return number;
}

// Empty for all.
std::vector<std::int64_t> numbers_or_all(const std::string& what, const std::string& text) {
  if (text.empty() || text == "all") return {};
  return numbers_in(what, text);
}

Axis axis_of(const std::string& called) {
  const ProcessGrid grid = ProcessGrid::parse(called + "=2");
  for (Axis axis : all_axes) {
    if (grid.extent(axis) == 2) return axis;
  }
  throw std::logic_error("grid " + grid.str() + " has no axis of extent 2");
}

// "x=1,2,pipe=all" by axis: "1,2", "", "", "", "all".
std::array<std::string, axis_count> by_axis(const std::string& grid) {
  std::array<std::string, axis_count> texts;
  std::string* text = nullptr;
  for (std::string word : listed("--grid", grid)) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) {
      const std::string called = word.substr(0, equals);
      text = &texts[static_cast<std::size_t>(axis_of(called))];
      if (!text->empty()) {
        throw std::runtime_error(
            fmt::format("--grid '{}': axis {} stands there twice", grid, called));
      }
      word = word.substr(equals + 1);
    }
    if (text == nullptr) {
      throw std::runtime_error(fmt::format(
          "--grid '{}' is no grid and no list of them, such as x=1,2,4,pipe=8,16", grid));
    }
    *text += (text->empty() ? "" : ",") + word;
  }
  return texts;
}

void read_axes(const SpaceWords& words, StrategySpace& space) {
  if (words.grid.empty()) {
    const std::string stages = words.stages.empty() ? "1" : words.stages;
    space.extents[static_cast<std::size_t>(Axis::pipe)] = numbers_or_all("--stages", stages);
    return;
  }
  if (!lists_grids(words.grid)) {
    const ProcessGrid grid = ProcessGrid::parse(words.grid);
    for (Axis axis : all_axes) {
      space.extents[static_cast<std::size_t>(axis)] = {grid.extent(axis)};
    }
    if (space.devices.empty()) space.devices = {grid.size()};
    return;
  }
  const std::array<std::string, axis_count> texts = by_axis(words.grid);
  for (Axis axis : all_axes) {
    const auto a = static_cast<std::size_t>(axis);
    if (axis == Axis::data && texts[a].empty()) continue;
    space.extents[a] = texts[a].empty()
                           ? std::vector<std::int64_t>{1}
                           : numbers_or_all(fmt::format("--grid, {}:", name(axis)), texts[a]);
  }
}

}  // namespace

std::string model_flags(const std::string& name_or_path, const FieldValues& instead) {
  std::string text = says_launch(name_or_path) ? "--model=" + shell_word(name_or_path)
                                               : "--model " + shell_argument(name_or_path);
  const std::vector<FieldFacts>& facts = model_fields().facts();
  for (const std::string& flag : flags_of(facts)) {
    const std::string word = flag_word(facts, flag, instead);
    if (!word.empty()) text += " " + flag + " " + word;
  }
  return text;
}

char separator_of(const std::string& flag) {
  const auto& facts = step_fields().facts();
  const auto field = std::ranges::find(facts, flag, &FieldFacts::flag);
  if (field == facts.end()) return ',';
  const auto* kind = std::get_if<OnOff>(&field->kind);
  const bool lists = kind != nullptr && !kind->word.empty();
  return lists || std::holds_alternative<FreeText>(field->kind) ? '/' : ',';
}

std::vector<std::string> listed(const std::string& what, const std::string& text, char separator) {
  std::vector<std::string> words(1);
  for (char letter : text) {
    if (letter == separator) {
      words.emplace_back();
    } else {
      words.back() += letter;
    }
  }
  for (const std::string& word : words) {
    if (!word.empty()) continue;
    throw std::runtime_error(text.empty() ? fmt::format("{} has an empty list", what)
                                          : fmt::format("{} '{}' has an empty word", what, text));
  }
  return words;
}

std::vector<std::int64_t> numbers_in(const std::string& what, const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (const std::string& word : listed(what, text)) {
    const std::size_t dash = word.find('-');
    const std::int64_t first = number_in(what, text, word.substr(0, dash));
    const std::int64_t last =
        dash == std::string::npos ? first : number_in(what, text, word.substr(dash + 1));
    if (last < first || static_cast<std::size_t>(last - first) > longest_list) {
      refuse_list(what, text);
    }
    for (std::int64_t number = first; number <= last; ++number) numbers.push_back(number);
  }
  return numbers;
}

bool lists_grids(const std::string& grid) {
  if (grid.find("all") != std::string::npos || grid.find('-') != std::string::npos) return true;
  // A list goes on after a comma without a name.
  for (std::size_t comma = grid.find(','); comma != std::string::npos;
       comma = grid.find(',', comma + 1)) {
    if (comma + 1 < grid.size() && grid[comma + 1] >= '0' && grid[comma + 1] <= '9') return true;
  }
  return false;
}

bool makes_its_batch(const StrategySpace& space) {
  return !space.micro_batch_sizes.empty() && !space.micro_batches.empty();
}

StrategySpace space_in(const SpaceWords& words, const Platform& platform, StepOptions& pattern) {
  check_as_scaled(platform);
  StrategySpace space;
  if (!words.devices.empty() && !words.nodes.empty()) {
    throw std::runtime_error("--devices and --nodes say the same; give one of them");
  }
  if (!words.devices.empty()) space.devices = numbers_in("--devices", words.devices);
  if (!words.nodes.empty()) {
    for (std::int64_t nodes : numbers_in("--nodes", words.nodes)) {
      space.devices.push_back(nodes * platform.node.devices);
    }
  }
  read_axes(words, space);
  if (space.devices.empty()) {
    throw std::runtime_error("--devices or --nodes is required, or a --grid that says how many");
  }
  space.micro_batch_sizes = numbers_or_all("--micro-batch-size", words.micro_batch_size);
  space.micro_batches = numbers_or_all("--micro-batches", words.micro_batches);
  if (platform.software.attention == AttentionSoftware::unfused &&
      !words.options.contains("--attention")) {
    pattern.attention = AttentionKernel::unfused;
  }
  // In the order of the table, whatever the order in which they are said.
  for (const std::string& flag : flags_of(step_fields().facts())) {
    const auto said = words.options.find(flag);
    if (said == words.options.end()) continue;
    const std::vector<std::string> choices = listed(flag, said->second, separator_of(flag));
    for (const std::string& word : choices) flag_values(step_fields().facts(), flag, {word});
    if (choices.size() == 1) {
      pattern = step_fields().with(pattern, flag, choices.front());
    } else {
      space.options.push_back({flag, choices});
    }
  }
  return space;
}

}  // namespace fourfold::inline scaling::inline find
