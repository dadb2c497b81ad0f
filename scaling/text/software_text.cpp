// Tables and JSON of software; see software_text.hpp.
#include "scaling/text/software_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "platforms/software_memory.hpp"
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

// "optimizer  12", and below it where that is from.
std::string fact_lines(const std::string& what, const std::string& value, const std::string& source,
                       bool unconfirmed) {
  return hanging(fmt::format("  {:<26}{}{}", what, value, unconfirmed ? "   UNCONFIRMED" : ""),
                 28) +
         hanging("      " + source, 6);
}

std::string memory_lines(const Software& software) {
  const std::vector<Fact> facts = memory_facts(software.path);
  if (facts.empty()) {
    return "\nMemory: the step's own, beside PyTorch's context and reserve (docs/memory.md).\n";
  }
  std::string text = "\nMemory (docs/memory.md explains the keys):\n";
  for (const Fact& fact : facts) {
    text += fact_lines(fact.key, fmt::format("{:g}", fact.value), fact.source, fact.unconfirmed);
  }
  return text;
}

json json_of(const Software& software) {
  json maps = json::object(), memory = json::object();
  for (const Fact& fact : memory_facts(software.path)) {
    memory[fact.key] = {
        {"value", fact.value}, {"source", fact.source}, {"unconfirmed", fact.unconfirmed}};
  }
  for (const MapRule& rule : software.rules) {
    maps[rule.name] = {
        {"kernels", rule.kernels}, {"source", rule.source}, {"unconfirmed", rule.unconfirmed}};
  }
  return {
      {"name", software.name},
      {"title", software.title},
      {"attention", {{"kernel", name(software.attention)}, {"source", software.attention_source}}},
      {"products", {{"layouts", layouts(software)}, {"source", software.products_source}}},
      {"beside_products",
       {{"value", software.beside_products}, {"source", software.beside_products_source}}},
      {"dispatch_s", software.dispatch.value},
      {"maps", maps},
      {"memory", memory}};
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
  if (!software.beside_products_source.empty()) {
    text += fmt::format("Gathers and reductions along x {} ({}).\n",
                        software.beside_products
                            ? "go beside the products they belong to, piece by piece"
                            : "are waited for",
                        software.beside_products_source);
  }
  text += fmt::format("The host takes {} us a kernel.\n", dispatch_text(software));
  text = wrapped(text);
  if (software.rules.empty()) {
    return text + "\nEvery function is one kernel that moves its operands once.\n" +
           memory_lines(software);
  }
  text +=
      "\nKernels of a function, in bytes for each element of its first operand (2: as stored):\n";
  for (const MapRule& rule : software.rules) {
    const std::string kernels =
        rule.kernels.empty() ? "none" : fmt::format("{}", fmt::join(rule.kernels, "; "));
    text += fact_lines(rule.name, kernels, rule.source, rule.unconfirmed);
  }
  return text + "All others: one kernel that moves its operands once.\n" + memory_lines(software);
}

std::string software_json(const Software& software) {
  return json_of(software).dump() + '\n';
}

}  // namespace fourfold::inline scaling::inline text
