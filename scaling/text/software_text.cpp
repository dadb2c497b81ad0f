// Tables and JSON of software; see software_text.hpp.
#include "scaling/text/software_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scaling/words/text_table.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline text {
namespace {

using nlohmann::json;

const char* layouts(const Software& software) {
  return software.tuned_products ? "tuned" : "default";
}

std::string dispatch_text(const Software& software) {
  return fmt::format("{:g}", software.dispatch.value * 1e6);
}

json json_of(const Software& software) {
  json maps = json::object();
  for (const MapRule& rule : software.rules) {
    maps[rule.name] = {
        {"kernels", rule.kernels}, {"source", rule.source}, {"unconfirmed", rule.unconfirmed}};
  }
  return {
      {"name", software.name},
      {"title", software.title},
      {"attention", {{"kernel", name(software.attention)}, {"source", software.attention_source}}},
      {"products", {{"layouts", layouts(software)}, {"source", software.products_source}}},
      {"dispatch_s", software.dispatch.value},
      {"maps", maps}};
}

}  // namespace

std::string software_list_text(const std::vector<Software>& all) {
  TextTable table;
  table.columns = {{"software", "", Align::left}, {"attention", "", Align::left},
                   {"layouts", "", Align::left},  {"dispatch", "us"},
                   {"functions", "described"},    {"title", "", Align::left}};
  for (const Software& software : all) {
    table.rows.push_back({software.name, name(software.attention), layouts(software),
                          dispatch_text(software), std::to_string(software.rules.size()),
                          software.title});
  }
  return format(table) + "\n`fourfold software NAME` shows one with its sources.\n";
}

std::string software_list_json(const std::vector<Software>& all) {
  json list = json::array();
  for (const Software& software : all) list.push_back(json_of(software));
  return list.dump() + '\n';
}

std::string software_text(const Software& software) {
  std::string text = fmt::format("{}: {}\n", software.name, software.title);
  text += fmt::format("Attention {} ({}).\n", name(software.attention), software.attention_source);
  text +=
      fmt::format("Products in {} layouts ({}).\n", layouts(software), software.products_source);
  text += fmt::format("The host takes {} us a kernel.\n", dispatch_text(software));
  text = wrapped(text);
  if (software.rules.empty()) {
    return text + "\nEvery function is one kernel that moves its operands once.\n";
  }
  text +=
      "\nKernels of a function, in bytes for each element of its first operand (2: as stored):\n";
  for (const MapRule& rule : software.rules) {
    const std::string kernels =
        rule.kernels.empty() ? "none" : fmt::format("{}", fmt::join(rule.kernels, "; "));
    text +=
        fmt::format("  {:<26}{}{}\n", rule.name, kernels, rule.unconfirmed ? "   UNCONFIRMED" : "");
    text += fmt::format("      {}\n", rule.source);
  }
  return text + "All others: one kernel that moves its operands once.\n";
}

std::string software_json(const Software& software) {
  return json_of(software).dump() + '\n';
}

}  // namespace fourfold::inline scaling::inline text
