// Reads a system from TOML, refusing what it does not know; see system.hpp.
#include "scaling/systems/system.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "schedule/program/step_options.hpp"
#include "support/nearest_name.hpp"
#include "support/toml_text.hpp"

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

// Places in the file, with the sentences about them.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  [[noreturn]] void refuse(const toml::node& node, const std::string& why) const {
    throw std::runtime_error(fmt::format("{}, line {}: {}", path_, node.source().begin.line, why));
  }

  void allow_only(const toml::table& table, const std::vector<std::string>& known) const {
    for (const auto& [key, node] : table) {
      const std::string text(key.str());
      if (std::ranges::find(known, text) != known.end()) continue;
      throw std::runtime_error(fmt::format("{}, line {}: unknown key \"{}\"{}", path_,
                                           key.source().begin.line, text,
                                           did_you_mean(text, known)));
    }
  }

  const toml::node& at(const toml::table& table, const std::string& key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) refuse(table, "\"" + key + "\" is missing");
    return *node;
  }

  const toml::table& table_at(const toml::table& table, const std::string& key) const {
    const toml::node& node = at(table, key);
    if (!node.is_table()) refuse(node, "\"" + key + "\" must be a table");
    return *node.as_table();
  }

  std::string text(const toml::table& table, const std::string& key) const {
    const toml::node& node = at(table, key);
    const auto value = node.value_exact<std::string>();
    if (!value || value->empty()) refuse(node, "\"" + key + "\" must be a text in quotes");
    return *value;
  }

  // Of a table with a fact.
  std::string source(const toml::table& fact) const {
    if (!fact.contains("source")) {
      refuse(fact, "no source: say who says so, as in source = \"the system's handbook\"");
    }
    return text(fact, "source");
  }

  std::int64_t number(const toml::table& table, const std::string& key) const {
    const toml::node& node = at(table, key);
    const auto value = node.value_exact<std::int64_t>();
    constexpr std::int64_t most = 1'000;  // bytes a parameter
    if (!value || *value < 0) refuse(node, "\"" + key + "\" must be a whole number, 0 or more");
    if (*value > most) {
      refuse(node, fmt::format("\"{}\" is {}, but must be at most {}", key, *value, most));
    }
    return *value;
  }

  std::string one_of(const toml::node& node, const std::string& key,
                     const std::vector<std::string>& words) const {
    const auto value = node.value_exact<std::string>();
    if (value && std::ranges::find(words, *value) != words.end()) return *value;
    refuse(node, fmt::format("\"{}\" must be one of \"{}\"{}", key, fmt::join(words, "\", \""),
                             value ? did_you_mean(*value, words) : ""));
  }

  // The axes in a list, each once.
  std::vector<Axis> axes(const toml::table& table, const std::string& key) const {
    const toml::node& node = at(table, key);
    std::vector<std::string> words;
    for (Axis axis : all_axes) words.emplace_back(name(axis));
    if (!node.is_array()) refuse(node, "\"" + key + "\" must be a list of axes");
    std::vector<Axis> found;
    for (const toml::node& entry : *node.as_array()) {
      const std::string word = one_of(entry, key, words);
      const Axis axis =
          all_axes[static_cast<std::size_t>(std::ranges::find(words, word) - words.begin())];
      if (std::ranges::find(found, axis) != found.end()) {
        refuse(entry, "\"" + word + "\" stands there twice");
      }
      found.push_back(axis);
    }
    return found;
  }

  FieldValue value(const toml::node& node, const FieldFacts& field) const {
    if (const auto* one = std::get_if<OneWord>(&field.kind)) {
      return one_of(node, field.key, one->words);
    }
    if (std::holds_alternative<OnOff>(field.kind)) {
      const auto flag = node.value_exact<bool>();
      if (!flag) refuse(node, "\"" + field.key + "\" must be true or false");
      return *flag;
    }
    const auto number = node.value_exact<std::int64_t>();
    if (!number) refuse(node, "\"" + field.key + "\" must be a whole number");
    if (const std::string why = out_of_range({field}, {{field.key, *number}}); !why.empty()) {
      refuse(node, why);
    }
    return *number;
  }

  std::vector<FieldValue> values(const toml::table& table, const std::string& key,
                                 const FieldFacts& field) const {
    const toml::node& node = at(table, key);
    if (!node.is_array() || node.as_array()->empty()) {
      refuse(node, "\"" + key + "\" must be a list with at least one entry");
    }
    std::vector<FieldValue> found;
    for (const toml::node& entry : *node.as_array()) found.push_back(value(entry, field));
    return found;
  }

  AxisExtents reach(const toml::table& table, const std::string& key) const {
    std::vector<std::string> words;
    for (AxisExtents one : all_reaches) words.emplace_back(name(one));
    const std::string word = one_of(at(table, key), key, words);
    return all_reaches[static_cast<std::size_t>(std::ranges::find(words, word) - words.begin())];
  }

 private:
  std::string path_;
};

AxisRule read_axis(const Reader& reader, const toml::table& axes, Axis axis) {
  const toml::table& table = reader.table_at(axes, name(axis));
  reader.allow_only(table, {"allowed", "searched", "source"});
  AxisRule rule{axis, reader.reach(table, "allowed"), {}, reader.source(table)};
  rule.searched = rule.allowed;
  if (table.contains("searched")) {
    rule.searched = reader.reach(table, "searched");
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

OptionRule read_option(const Reader& reader, const toml::table& table, const FieldFacts& field) {
  reader.allow_only(table, {"usual", "allowed", "searched", "source"});
  OptionRule rule{
      field.key, reader.value(reader.at(table, "usual"), field), {}, {}, reader.source(table)};
  if (table.contains("allowed")) rule.allowed = reader.values(table, "allowed", field);
  rule.searched = {rule.usual};
  if (table.contains("searched")) rule.searched = reader.values(table, "searched", field);
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

OptionRule read_rank_order(const Reader& reader, const toml::table& table) {
  reader.allow_only(table, {"axes", "source"});
  const std::vector<Axis> axes = reader.axes(table, "axes");
  if (axes.size() != axis_count) {
    reader.refuse(table, "\"axes\" must name x, y, z, data and pipe, neighbours first");
  }
  std::vector<std::string> words;
  for (Axis axis : axes) words.emplace_back(name(axis));
  const std::string order = fmt::format("{}", fmt::join(words, ","));
  return {rank_order_key, order, {}, {order}, reader.source(table)};
}

std::vector<OptionRule> read_options(const Reader& reader, const toml::table& table) {
  std::vector<std::string> known, of_overlap;
  for (const FieldFacts& field : step_fields().facts()) {
    const std::size_t dot = field.key.find('.');
    if (field.key == "micro_batches") continue;  // of a point, not of a system
    if (field.key == rank_order_key) continue;   // a fact of its own
    known.push_back(field.key.substr(0, dot));
    if (dot != std::string::npos) of_overlap.push_back(field.key.substr(dot + 1));
  }
  reader.allow_only(table, known);
  if (table.contains("overlap")) reader.allow_only(reader.table_at(table, "overlap"), of_overlap);
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

std::vector<StateRule> read_state(const Reader& reader, const toml::table& table, System& system) {
  const std::vector<std::string> parts{"weights", "gradients", "optimizer"};
  reader.allow_only(table, {"weights", "gradients", "optimizer", "published"});
  std::vector<StateRule> rules;
  for (const std::string& part : parts) {
    const toml::table& one = reader.table_at(table, part);
    reader.allow_only(one, {"bytes", "cut_by", "source"});
    rules.push_back(
        {part, reader.number(one, "bytes"), reader.axes(one, "cut_by"), reader.source(one)});
  }
  if (table.contains("published")) {
    const toml::table& one = reader.table_at(table, "published");
    reader.allow_only(one, {"bytes", "source"});
    system.published_state = reader.number(one, "bytes");
    system.published_state_source = reader.source(one);
  }
  return rules;
}

System read(const Reader& reader, const toml::table& file) {
  reader.allow_only(file,
                    {"title", "stands_in", "software", rank_order_key, "axes", "options", "state"});
  System system;
  system.title = reader.text(file, "title");
  if (file.contains("stands_in")) system.stands_in = reader.text(file, "stands_in");
  const toml::table& software = reader.table_at(file, "software");
  reader.allow_only(software, {"name", "source"});
  system.software = reader.text(software, "name");
  system.software_source = reader.source(software);
  const toml::table& axes = reader.table_at(file, "axes");
  std::vector<std::string> names;
  for (Axis axis : all_axes) names.emplace_back(name(axis));
  reader.allow_only(axes, names);
  for (Axis axis : all_axes) {
    system.axes[static_cast<std::size_t>(axis)] = read_axis(reader, axes, axis);
  }
  system.options = read_options(reader, reader.table_at(file, "options"));
  system.options.push_back(read_rank_order(reader, reader.table_at(file, rank_order_key)));
  system.state = read_state(reader, reader.table_at(file, "state"), system);
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
  const std::string file = "system file " + path;
  const std::string text = read_toml_text(path, "the system file");
  toml::table table;
  try {
    table = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    throw std::runtime_error(
        fmt::format("{}, line {}: {}", file, error.source().begin.line, error.description()));
  }
  System system = read(Reader(file), table);
  system.name = fs::path(path).stem().string();
  return system;
}

}  // namespace fourfold::inline scaling::inline systems
