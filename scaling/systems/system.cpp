// Reads a system from TOML, refusing what it does not know; see system.hpp.
#include "scaling/systems/system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "schedule/program/step_options.hpp"
#include "support/nearest_name.hpp"
#include "support/toml_table.hpp"

namespace fourfold::inline scaling::inline systems {
namespace {

namespace fs = std::filesystem;

constexpr std::array all_reaches{AxisExtents::one, AxisExtents::any, AxisExtents::within_node,
                                 AxisExtents::one_node};

fs::path folder() {
  return fs::path(FOURFOLD_SOURCE_DIR) / "systems";
}

std::string path_of(const std::string& name_or_path) {
  if (name_or_path.ends_with(".toml")) return name_or_path;
  const fs::path path = folder() / (name_or_path + ".toml");
  if (name_or_path.find('/') == std::string::npos && fs::exists(path)) return path.string();
  throw std::runtime_error("unknown system \"" + name_or_path + "\"" +
                           did_you_mean(name_or_path, known_systems()) +
                           " (`fourfold systems` lists all; a file of your own goes by its path, "
                           "ending in .toml)");
}

// Of a table with a fact.
std::string source(const TomlReader& reader, const toml::table& fact) {
  if (!fact.contains("source")) {
    reader.refuse(fact, "no source: say who says so, as in source = \"the system's handbook\"");
  }
  return reader.text(fact, "source");
}

std::int64_t bytes(const TomlReader& reader, const toml::table& table) {
  const FieldFacts field{"bytes", "", "", WholeNumber{0, 1'000, "as no parameter has more"}};
  return std::get<std::int64_t>(reader.value(reader.at(table, field.key), field));
}

// The axes in a list, each once.
std::vector<Axis> axes(const TomlReader& reader, const toml::table& table, const std::string& key) {
  std::vector<std::string> words;
  for (Axis axis : all_axes) words.emplace_back(name(axis));
  std::vector<Axis> found;
  for (const toml::node& entry : reader.list(table, key, "axes")) {
    const std::string word = reader.one_of(entry, key, words);
    const Axis axis =
        all_axes[static_cast<std::size_t>(std::ranges::find(words, word) - words.begin())];
    if (std::ranges::find(found, axis) != found.end()) {
      reader.refuse(entry, "\"" + word + "\" stands there twice");
    }
    found.push_back(axis);
  }
  return found;
}

std::vector<FieldValue> values(const TomlReader& reader, const toml::table& table,
                               const std::string& key, const FieldFacts& field) {
  std::vector<FieldValue> found;
  for (const toml::node& entry : reader.list(table, key, "values")) {
    found.push_back(reader.value(entry, field));
  }
  if (found.empty()) reader.refuse(table, "\"" + key + "\" must have at least one entry");
  return found;
}

AxisExtents reach(const TomlReader& reader, const toml::table& table, const std::string& key) {
  std::vector<std::string> words;
  for (AxisExtents one : all_reaches) words.emplace_back(name(one));
  const std::string word = reader.one_of(reader.at(table, key), key, words);
  return all_reaches[static_cast<std::size_t>(std::ranges::find(words, word) - words.begin())];
}

AxisRule read_axis(const TomlReader& reader, const toml::table& all, Axis axis) {
  const toml::table& table = reader.table(all, name(axis));
  reader.allow_only(table, {"allowed", "searched", "source"});
  AxisRule rule{axis, reach(reader, table, "allowed"), {}, source(reader, table)};
  rule.searched = rule.allowed;
  if (table.contains("searched")) {
    rule.searched = reach(reader, table, "searched");
    const bool less =
        rule.allowed == AxisExtents::any || rule.searched == rule.allowed ||
        (rule.allowed == AxisExtents::within_node && rule.searched != AxisExtents::any);
    if (!less) {
      reader.refuse(reader.at(table, "searched"),
                    fmt::format("\"{}\" is not allowed, which only \"{}\" is", name(rule.searched),
                                name(rule.allowed)));
    }
  }
  return rule;
}

bool contains(const std::vector<FieldValue>& values, const FieldValue& value) {
  return std::ranges::find(values, value) != values.end();
}

OptionRule read_option(const TomlReader& reader, const toml::table& table,
                       const FieldFacts& field) {
  reader.allow_only(table, {"usual", "allowed", "searched", "source"});
  OptionRule rule{
      field.key, reader.value(reader.at(table, "usual"), field), {}, {}, source(reader, table)};
  if (table.contains("allowed")) rule.allowed = values(reader, table, "allowed", field);
  rule.searched = {rule.usual};
  if (table.contains("searched")) rule.searched = values(reader, table, "searched", field);
  if (!rule.allowed.empty() && !contains(rule.allowed, rule.usual)) {
    reader.refuse(reader.at(table, "usual"), "what is usual must be allowed");
  }
  for (const FieldValue& value : rule.searched) {
    if (rule.allowed.empty() || contains(rule.allowed, value)) continue;
    reader.refuse(reader.at(table, "searched"), "what is searched must be allowed");
  }
  return rule;
}

constexpr const char* rank_order_key = "rank_order";

OptionRule read_rank_order(const TomlReader& reader, const toml::table& table) {
  reader.allow_only(table, {"axes", "source"});
  const std::vector<Axis> order = axes(reader, table, "axes");
  if (order.size() != axis_count) {
    reader.refuse(table, "\"axes\" must name x, y, z, data and pipe, neighbours first");
  }
  std::vector<std::string> words;
  for (Axis axis : order) words.emplace_back(name(axis));
  const std::string word = fmt::format("{}", fmt::join(words, ","));
  return {rank_order_key, word, {}, {word}, source(reader, table)};
}

std::vector<OptionRule> read_options(const TomlReader& reader, const toml::table& table) {
  std::vector<std::string> known, of_overlap;
  for (const FieldFacts& field : step_fields().facts()) {
    const std::size_t dot = field.key.find('.');
    if (field.key == "micro_batches") continue;  // of a point, not of a system
    if (field.key == rank_order_key) continue;   // a fact of its own
    known.push_back(field.key.substr(0, dot));
    if (dot != std::string::npos) of_overlap.push_back(field.key.substr(dot + 1));
  }
  reader.allow_only(table, known);
  if (table.contains("overlap")) reader.allow_only(reader.table(table, "overlap"), of_overlap);
  std::vector<OptionRule> rules;
  for (const FieldFacts& field : step_fields().facts()) {
    const toml::node_view<const toml::node> found = table.at_path(field.key);
    if (!found) continue;
    if (!found.is_table()) {
      reader.refuse(*found.node(), fmt::format("\"{}\" must be a table, as in {{ usual = ..., "
                                               "source = \"...\" }}",
                                               field.key));
    }
    rules.push_back(read_option(reader, *found.as_table(), field));
  }
  return rules;
}

std::vector<StateRule> read_state(const TomlReader& reader, const toml::table& table,
                                  System& system) {
  const std::vector<std::string> parts{"weights", "gradients", "optimizer"};
  reader.allow_only(table, {"weights", "gradients", "optimizer", "published"});
  std::vector<StateRule> rules;
  for (const std::string& part : parts) {
    const toml::table& one = reader.table(table, part);
    reader.allow_only(one, {"bytes", "cut_by", "source"});
    rules.push_back({part, bytes(reader, one), axes(reader, one, "cut_by"), source(reader, one)});
  }
  if (table.contains("published")) {
    const toml::table& one = reader.table(table, "published");
    reader.allow_only(one, {"bytes", "source"});
    system.published_state = bytes(reader, one);
    system.published_state_source = source(reader, one);
  }
  return rules;
}

System read(const TomlReader& reader, const toml::table& file) {
  reader.allow_only(file,
                    {"title", "stands_in", "software", rank_order_key, "axes", "options", "state"});
  System system;
  system.title = reader.text(file, "title");
  if (file.contains("stands_in")) system.stands_in = reader.text(file, "stands_in");
  const toml::table& software = reader.table(file, "software");
  reader.allow_only(software, {"name", "source"});
  system.software = reader.text(software, "name");
  system.software_source = source(reader, software);
  const toml::table& of_axes = reader.table(file, "axes");
  std::vector<std::string> names;
  for (Axis axis : all_axes) names.emplace_back(name(axis));
  reader.allow_only(of_axes, names);
  for (Axis axis : all_axes) {
    system.axes[static_cast<std::size_t>(axis)] = read_axis(reader, of_axes, axis);
  }
  system.options = read_options(reader, reader.table(file, "options"));
  system.options.push_back(read_rank_order(reader, reader.table(file, rank_order_key)));
  system.state = read_state(reader, reader.table(file, "state"), system);
  return system;
}

}  // namespace

const char* name(AxisExtents reach) {
  constexpr const char* names[]{"1", "any", "within the node", "one node"};
  return names[static_cast<int>(reach)];
}

const OptionRule* System::rule(const std::string& key) const {
  const auto found = std::ranges::find(options, key, &OptionRule::key);
  return found == options.end() ? nullptr : &*found;
}

std::vector<std::string> known_systems() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

System read_system(const std::string& name_or_path) {
  const std::string path = path_of(name_or_path);
  System system = read(TomlReader(path), parse_toml_file(path, "the system file"));
  system.name = fs::path(path).stem().string();
  return system;
}

}  // namespace fourfold::inline scaling::inline systems
