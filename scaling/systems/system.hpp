// A training system as data: which axes it has, what its step does, and in which space its best
// configuration is looked for. Each fact has its source.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/program/process_grid.hpp"
#include "support/field.hpp"

namespace fourfold::inline scaling::inline systems {

// Which extents an axis may have: 1, all, those whose groups lie in one node, or the node's
// devices.
enum class AxisExtents : std::uint8_t { one, any, within_node, one_node };
const char* name(AxisExtents reach);

struct AxisRule {
  Axis axis = Axis::x;
  AxisExtents allowed = AxisExtents::any;
  AxisExtents searched = AxisExtents::any;  // by a search; nothing that is not allowed
  std::string source;
};

// What a system does about one option of the step.
struct OptionRule {
  std::string key;                   // of step_fields()
  FieldValue usual;                  // unless something else is asked for
  std::vector<FieldValue> allowed;   // empty: whatever the step can do
  std::vector<FieldValue> searched;  // at least one: the space of a search
  std::string source;
};

// Bytes of state for each parameter, and the axes that cut them.
struct StateRule {
  std::string part;  // "weights", "gradients" or "optimizer"
  std::int64_t bytes = 0;
  std::vector<Axis> cut_by;
  std::string source;
};

struct System {
  std::string name;  // of the file, without its ending
  std::string title;
  std::string software;  // which kernels and fusions it runs on: a name
  std::string software_source;
  std::string stands_in;  // what its step does otherwise here, in a sentence; empty: nothing
  std::array<AxisRule, axis_count> axes;
  std::vector<OptionRule> options;  // the order of ranks is the last
  std::vector<StateRule> state;
  // What a paper prints of all state together, where it counts otherwise.
  std::optional<std::int64_t> published_state;
  std::string published_state_source;

  const AxisRule& rule(Axis axis) const { return axes[static_cast<std::size_t>(axis)]; }
  const OptionRule* rule(const std::string& key) const;
};

// Reads a system by name (systems/NAME.toml) or by path to a .toml file. Throws std::runtime_error
// with file, line and key: unknown (nearest known), missing, without source or impossible.
System read_system(const std::string& name_or_path);
std::vector<std::string> known_systems();

}  // namespace fourfold::inline scaling::inline systems
