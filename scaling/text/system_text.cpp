// Tables and JSON of systems; see system_text.hpp.
#include "scaling/text/system_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scaling/systems/rules.hpp"
#include "scaling/words/text_table.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline text {
namespace {

using nlohmann::json;

std::string usual_word(const System& system, const std::string& key) {
  const OptionRule* rule = system.rule(key);
  return rule == nullptr ? "-" : word_of(rule->usual);
}

// "x in a node, data, pipe"
std::string axes_word(const System& system) {
  std::vector<std::string> words;
  for (const AxisRule& rule : system.axes) {
    if (rule.allowed == AxisExtents::one) continue;
    const std::string axis = name(rule.axis);
    words.push_back(rule.searched == AxisExtents::within_node ? axis + " (node)"
                    : rule.searched == AxisExtents::one_node  ? axis + " = node"
                                                              : axis);
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string cut_word(const StateRule& rule) {
  std::string text = std::to_string(rule.bytes);
  for (Axis axis : rule.cut_by) text += fmt::format("/{}", name(axis));
  return text;
}

std::string state_word(const System& system) {
  std::vector<std::string> words;
  for (const StateRule& rule : system.state) words.push_back(cut_word(rule));
  return fmt::format("{}", fmt::join(words, " + "));
}

bool has_pipelines(const System& system) {
  return system.rule(Axis::pipe).allowed != AxisExtents::one;
}

std::string words_of(const std::vector<FieldValue>& values) {
  std::vector<std::string> words;
  for (const FieldValue& value : values) words.push_back(word_of(value));
  return words.empty() ? "any" : fmt::format("{}", fmt::join(words, ", "));
}

std::string axes_text(const System& system) {
  TextTable table;
  table.columns = {{"axis", "", Align::left},
                   {"allowed", "", Align::left},
                   {"searched", "", Align::left},
                   {"source", "", Align::left}};
  for (const AxisRule& rule : system.axes) {
    table.rows.push_back({name(rule.axis), name(rule.allowed), name(rule.searched), rule.source});
  }
  return format(table);
}

std::string options_text(const System& system) {
  TextTable table;
  table.columns = {{"option", "", Align::left},
                   {"usually", "", Align::left},
                   {"allowed", "", Align::left},
                   {"searched", "", Align::left},
                   {"source", "", Align::left}};
  for (const OptionRule& rule : system.options) {
    table.rows.push_back({rule.key, word_of(rule.usual), words_of(rule.allowed),
                          words_of(rule.searched), rule.source});
  }
  return format(table);
}

std::string state_text(const System& system) {
  TextTable table;
  table.columns = {{"state", "", Align::left},
                   {"bytes/", "parameter", Align::left},
                   {"source", "", Align::left}};
  for (const StateRule& rule : system.state) {
    table.rows.push_back({rule.part, cut_word(rule), rule.source});
  }
  if (system.published_state) {
    table.rows.push_back(
        {"published", std::to_string(*system.published_state), system.published_state_source});
  }
  return format(table);
}

json json_of(const FieldValue& value) {
  return std::visit([](const auto& plain) { return json(plain); }, value);
}

json json_of(const std::vector<FieldValue>& values) {
  json list = json::array();
  for (const FieldValue& value : values) list.push_back(json_of(value));
  return list;
}

json json_of(const std::vector<Axis>& axes) {
  json list = json::array();
  for (Axis axis : axes) list.push_back(name(axis));
  return list;
}

json json_of(const System& system) {
  json object{{"name", system.name},
              {"title", system.title},
              {"stands_in", system.stands_in},
              {"software", {{"name", system.software}, {"source", system.software_source}}}};
  for (const AxisRule& rule : system.axes) {
    object["axes"][name(rule.axis)] = {{"allowed", name(rule.allowed)},
                                       {"searched", name(rule.searched)},
                                       {"source", rule.source}};
  }
  for (const OptionRule& rule : system.options) {
    object["options"][rule.key] = {{"usual", json_of(rule.usual)},
                                   {"allowed", json_of(rule.allowed)},
                                   {"searched", json_of(rule.searched)},
                                   {"source", rule.source}};
  }
  for (const StateRule& rule : system.state) {
    object["state"][rule.part] = {
        {"bytes", rule.bytes}, {"cut_by", json_of(rule.cut_by)}, {"source", rule.source}};
  }
  if (system.published_state) {
    object["state"]["published"] = {{"bytes", *system.published_state},
                                    {"source", system.published_state_source}};
  }
  return object;
}

}  // namespace

std::string systems_text(const std::vector<System>& systems) {
  TextTable table;
  table.columns = {{"system", "", Align::left},    {"axes", "", Align::left},
                   {"order", "", Align::left},     {"ZeRO", ""},
                   {"recompute", "", Align::left}, {"state,", "B/parameter", Align::left},
                   {"software", "", Align::left}};
  for (const System& system : systems) {
    table.rows.push_back({system.name, axes_word(system),
                          has_pipelines(system) ? usual_word(system, "order") : "-",
                          usual_word(system, "zero"), usual_word(system, "recompute"),
                          state_word(system), system.software});
  }
  return format(table) +
         "\nState: weights + gradients + optimizer, each over the axes that cut it. (node): within "
         "a node.\n`fourfold systems NAME` shows one with its sources.\n";
}

std::string systems_json(const std::vector<System>& systems) {
  json list = json::array();
  for (const System& system : systems) list.push_back(json_of(system));
  return list.dump() + '\n';
}

std::string system_text(const System& system) {
  std::string text = fmt::format("{}: {}\n", system.name, system.title);
  text += fmt::format("Software {} ({}).\n", system.software, system.software_source);
  if (!system.stands_in.empty()) text += fmt::format("Here {}.\n", system.stands_in);
  text = wrapped(text);
  return text + '\n' + axes_text(system) + '\n' + options_text(system) + '\n' + state_text(system);
}

std::string system_json(const System& system) {
  return json_of(system).dump() + '\n';
}

}  // namespace fourfold::inline scaling::inline text
