// Texts for people and programs from a Platform; the pictures are in draw_node and draw_network.
#include "platforms/show/show.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <sstream>

#include "platforms/file/fact_table.hpp"
#include "platforms/file/notice.hpp"
#include "platforms/show/draw.hpp"

namespace fourfold::inline platforms::inline show {
namespace {

constexpr std::size_t width = 100;
constexpr double giga = 1e9;
constexpr double tera = 1e12;

std::ptrdiff_t unconfirmed_count(const Platform& platform) {
  return std::count_if(platform.facts.begin(), platform.facts.end(),
                       [](const Fact& fact) { return fact.unconfirmed; });
}

struct NetworkWords {
  std::string operator()(const CrossbarNetwork& network) const {
    return network.private_port_per_lane ? "crossbar, port per lane" : "crossbar, shared port";
  }
  std::string operator()(const DragonflyNetwork& network) const {
    return fmt::format("dragonfly, {} x {} nodes", network.groups, network.nodes_per_group);
  }
  std::string operator()(const DragonflyPlusNetwork& network) const {
    return fmt::format("dragonfly+, {} x {} nodes", network.cells, network.nodes_per_cell);
  }
  std::string operator()(const FatTreeNetwork& network) const {
    std::vector<std::int64_t> members;
    for (const FatTreeTier& tier : network.tiers) members.insert(members.begin(), tier.members);
    return fmt::format("{}, {}", kind_in_words(network), fmt::join(members, " x "));
  }
  std::string operator()(const TorusNetwork& network) const {
    return fmt::format("torus, {}", fmt::join(network.extents, " x "));
  }
};

std::string network_in_words(const Network& network) {
  return std::visit(NetworkWords{}, network);
}

// Breaks a text at blanks so that no line passes the width; every line starts with `indent`.
std::string wrapped(const std::string& text, const std::string& indent) {
  std::istringstream words(text);
  std::string all;
  std::string line = indent;
  std::string word;
  while (words >> word) {
    if (line.size() > indent.size() && line.size() + 1 + word.size() > width) {
      all += line + "\n";
      line = indent;
    }
    line += (line.size() > indent.size() ? " " : "") + word;
  }
  return all + line + "\n";
}

// Facts that follow each other and share a source are printed together, the source below them.
std::string all_facts(const Platform& platform) {
  std::string text = fmt::format("{} numbers, {} of them UNCONFIRMED\n\n", platform.facts.size(),
                                 unconfirmed_count(platform));
  for (std::size_t i = 0; i < platform.facts.size(); ++i) {
    const Fact& fact = platform.facts[i];
    text += fmt::format("  {:<48}{:>8g}{}\n", fact.key, fact.value,
                        fact.unconfirmed ? "   UNCONFIRMED" : "");
    const bool last = i + 1 == platform.facts.size();
    if (last || platform.facts[i + 1].source != fact.source) {
      text += wrapped(fact.source, "      ");
    }
  }
  return text;
}

std::string scales_in_words(const Platform& platform) {
  std::string text;
  for (const auto& [key, factor] : platform.scales) {
    text += fmt::format("  scaled: {} x {:g} (pictures and sums below; the facts are as written)\n",
                        key, factor);
  }
  return text;
}

}  // namespace

std::string list_platforms() {
  std::string text =
      fmt::format("{:<16} {:>8}  {:<16} {:>8}  {:>7}  {:<26}{:>10}\n", "platform", "devices",
                  "device", "Tflop/s", "memory", "network", "unconfirmed");
  for (const std::string& name : known_platforms()) {
    try {
      const Platform platform = read_platform(name);
      text += fmt::format(
          "{:<16} {:>8}  {:<16} {:>8g}  {:>4g} GB  {:<26}{:>3} of {:>3}\n", name,
          platform.devices(), platform.processor.name,
          platform.processor.advertised_peak.value / tera, platform.processor.memory.value / giga,
          network_in_words(platform.network), unconfirmed_count(platform), platform.facts.size());
      text += wrapped(platform.title, "    ");
    } catch (const std::exception& error) {
      text += fmt::format("{:<16} cannot be read\n", name) + wrapped(error.what(), "    ");
    }
  }
  return text;
}

std::string show_platform(const Platform& platform) {
  const Processor& processor = platform.processor;
  std::string text = wrapped(fmt::format("{}: {}", platform.name, platform.title), "");
  text += fmt::format("  {} nodes x {} = {} devices\n", platform.nodes, platform.node.devices,
                      platform.devices());
  text += fmt::format(
      "  {}: {:g} Tflop/s bf16 advertised, {:g} measured at best; {:g} GB at {:g} TB/s\n",
      processor.name, processor.advertised_peak.value / tera, processor.empirical_peak.value / tera,
      processor.memory.value / giga, processor.memory_bandwidth.value / tera);
  text += fmt::format("  software {} unless another is asked for (fourfold software)\n",
                      platform.default_software);
  text += scales_in_words(platform);
  for (const std::string& sentence : notices(platform)) {
    text += wrapped("note: " + sentence + ".", "  ");
  }
  return text + "\n" + draw_node(platform.node) + "\n" + draw_network(platform) + "\n" +
         all_facts(platform);
}

std::string show_platform_json(const Platform& platform) {
  toml::array facts;
  for (const Fact& fact : platform.facts) {
    facts.push_back(toml::table{{"key", fact.key},
                                {"value", fact.value},
                                {"source", fact.source},
                                {"unconfirmed", fact.unconfirmed}});
  }
  toml::array notes;
  for (const std::string& sentence : notices(platform)) notes.push_back(sentence);
  toml::table scales;
  for (const auto& [key, factor] : platform.scales) scales.insert(key, factor);
  const toml::table all{{"name", platform.name},
                        {"title", platform.title},
                        {"devices", platform.devices()},
                        {"nodes", platform.nodes},
                        {"devices_per_node", platform.node.devices},
                        {"device", platform.processor.name},
                        {"network", network_in_words(platform.network)},
                        {"library", platform.library.name},
                        {"software", platform.default_software},
                        {"unconfirmed", static_cast<std::int64_t>(unconfirmed_count(platform))},
                        {"notices", notes},
                        {"scales", scales},
                        {"facts", facts}};
  std::ostringstream text;
  text << toml::json_formatter{all} << "\n";
  return text.str();
}

}  // namespace fourfold::inline platforms::inline show
