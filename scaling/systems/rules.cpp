// The rules of a system, applied; see rules.hpp.
#include "scaling/systems/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace fourfold::inline scaling::inline systems {
namespace {

// Where the groups of an axis lie, if ranks lie one after the other.
struct Span {
  std::int64_t extent, distance, node_devices;

  // The first and last rank of a group do: the axes inside it fill whole parts of the node.
  bool in_one_node() const {
    const std::int64_t span = distance * extent;
    return extent == 1 || (span <= node_devices && node_devices % span == 0);
  }
};

bool holds(AxisExtents reach, const Span& span) {
  switch (reach) {
    case AxisExtents::one:
      return span.extent == 1;
    case AxisExtents::any:
      return true;
    case AxisExtents::within_node:
      return span.in_one_node();
    case AxisExtents::one_node:
      return span.extent == span.node_devices;
  }
  return false;
}

std::string flag_of(const std::string& key) {
  for (const FieldFacts& field : step_fields().facts()) {
    if (field.key == key) return field.flag;
  }
  return "";
}

std::string listed(const std::vector<FieldValue>& values) {
  std::vector<std::string> words;
  for (const FieldValue& value : values) words.push_back(word_of(value));
  return fmt::format("{}", fmt::join(words, " or "));
}

// Several chunks are of orders that have them, and of no other.
bool consistent(const StepOptions& options) {
  return row_of(options.order).chunks == (options.chunks > 1);
}

}  // namespace

std::string word_of(const FieldValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "on" : "off";
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    return fmt::format("{}", fmt::join(*texts, " "));
  }
  return std::get<std::string>(value);
}

std::string forbidden(const System& system, const StepOptions& options) {
  const FieldValues values = step_fields().values(options);
  for (const OptionRule& rule : system.options) {
    const FieldValue& value = values.at(rule.key);
    if (rule.allowed.empty() || std::ranges::find(rule.allowed, value) != rule.allowed.end()) {
      continue;
    }
    return fmt::format("{} does not do {} {}: {} must be {} ({})", system.name, rule.key,
                       word_of(value), flag_of(rule.key), listed(rule.allowed), rule.source);
  }
  return "";
}

std::string forbidden(const System& system, const ProcessGrid& grid, const RankOrder& order,
                      std::int64_t node_devices) {
  for (const AxisRule& rule : system.axes) {
    const Span span{grid.extent(rule.axis), order.distance(grid, rule.axis), node_devices};
    if (holds(rule.allowed, span)) continue;
    const std::string start = fmt::format("{} does not run on grid {}: ", system.name, grid.str());
    const std::string extent =
        fmt::format("{} is {}, but ", name(rule.axis), grid.extent(rule.axis));
    switch (rule.allowed) {
      case AxisExtents::one:
        return start + extent + fmt::format("it must be 1 ({})", rule.source);
      case AxisExtents::within_node:
        return start + extent +
               fmt::format("its groups must lie within a node of {} devices ({})", node_devices,
                           rule.source);
      default:
        return start + extent +
               fmt::format("it must be the {} devices of a node ({})", node_devices, rule.source);
    }
  }
  return "";
}

bool searches(const System& system, const ProcessGrid& grid, const RankOrder& order,
              std::int64_t node_devices) {
  return std::ranges::all_of(system.axes, [&](const AxisRule& rule) {
    return holds(rule.searched,
                 {grid.extent(rule.axis), order.distance(grid, rule.axis), node_devices});
  });
}

std::vector<StepOptions> product(std::vector<StepOptions> found, const std::vector<Choice>& choices,
                                 const std::function<bool(const StepOptions&)>& allowed) {
  for (const Choice& choice : choices) {
    const std::vector<StepOptions> before = std::exchange(found, {});
    for (const StepOptions& one : before) {
      std::vector<FieldValue> values = choice.values;
      const FieldValue own = step_fields().values(one).at(choice.key);
      std::ranges::stable_partition(values, [&](const FieldValue& value) { return value == own; });
      for (const FieldValue& value : values) {
        StepOptions other = one;
        step_fields().set(other, {{choice.key, value}});
        if (!allowed(other)) continue;
        if (std::ranges::find(found, other) == found.end()) found.push_back(other);
      }
    }
    if (found.empty()) found = before;
  }
  return found;
}

std::vector<StepOptions> variants(const System& system, const FieldValues& typed) {
  FieldValues usual;
  for (const OptionRule& rule : system.options) usual[rule.key] = rule.usual;
  for (const auto& [key, value] : typed) usual[key] = value;
  StepOptions options;
  step_fields().set(options, usual);
  // Chunks that nobody typed follow the order that somebody did.
  const bool whole =
      typed.contains("order") && !typed.contains("chunks") && !row_of(options.order).chunks;
  if (whole) options.chunks = 1;
  if (const std::string why = forbidden(system, options); !why.empty()) {
    throw std::runtime_error(why);
  }
  std::vector<Choice> choices;
  for (const OptionRule& rule : system.options) {
    if (typed.contains(rule.key) || (whole && rule.key == "chunks")) continue;
    choices.push_back({rule.key, rule.searched});
  }
  std::vector<StepOptions> found =
      product({options}, choices, [](const StepOptions&) { return true; });
  // The step itself refuses the others, with its own words if one is all there is.
  if (std::ranges::any_of(found, consistent)) {
    std::erase_if(found, [](const StepOptions& other) { return !consistent(other); });
  }
  return found;
}

SetBy set_by(const System& system, const FieldValues& typed, const std::string& typist) {
  SetBy who;
  for (const FieldFacts& field : step_fields().facts()) {
    if (field.key == "micro_batches") continue;
    const OptionRule* rule = system.rule(field.key);
    std::string& whom = who[field.key] = "default";
    if (rule != nullptr) whom = rule->searched.size() > 1 ? "search" : "system";
    if (typed.contains(field.key)) whom = typist;
  }
  return who;
}

}  // namespace fourfold::inline scaling::inline systems
