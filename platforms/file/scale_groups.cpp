// The table of parts, and checks of scaled numbers; see scale_groups.hpp.
#include "platforms/file/scale_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "platforms/file/check.hpp"
#include "platforms/file/fact_table.hpp"

namespace fourfold::inline platforms::inline file {
namespace {

constexpr const char* fat_tree = "fat-tree";

double factor_of_group(const ScaleGroup& group, double factor, const std::string& family,
                       const std::string& network) {
  const auto has = [&](const std::vector<std::string>& keys) {
    return std::ranges::find(keys, family) != keys.end();
  };
  if (has(group.rates) || (network == fat_tree && group.of_tree == family)) return factor;
  return has(group.times) ? 1.0 / factor : 1.0;
}

std::string network_of(const Platform& platform) {
  return std::holds_alternative<FatTreeNetwork>(platform.network) ? fat_tree : "";
}

}  // namespace

const std::vector<ScaleGroup>& scale_groups() {
  static const std::vector<ScaleGroup> groups{
      {"nics",
       {"node.nics.bandwidth_GBps", "library.across.bus_bandwidth_GBps",
        "library.across_at_once.bus_bandwidth_GBps"},
       {},
       "network.link_bandwidth_GBps"},
      {"links",
       {"node.links.bandwidth_GBps", "node.switch_port_GBps", "library.in_node.bus_bandwidth_GBps",
        "library.in_node_by_stride.bus_bandwidth_GBps"},
       {"library.measured.time_us"},
       ""},
      {"network", {"network.link_bandwidth_GBps", "network.global_link_bandwidth_GBps"}, {}, ""},
      {"memory", {"processor.memory_bandwidth_GBps"}, {}, ""},
      {"devices",
       {"processor.advertised_peak_Tflops", "processor.empirical_peak_Tflops",
        "processor.gemm.rate_Tflops", "processor.gemm_fp8.rate_Tflops",
        "processor.products.rate_Tflops", "processor.fp32_Tflops",
        "processor.attention_forward_Tflops", "processor.attention_backward_Tflops",
        "processor.attention.forward_Tflops", "processor.attention.backward_Tflops",
        "processor.memory_bandwidth_GBps", "processor.host_link_GBps"},
       {"processor.launch_overhead_us", "software.dispatch_us"},
       ""}};
  return groups;
}

std::vector<std::string> names_of_scale_groups() {
  std::vector<std::string> names;
  for (const ScaleGroup& group : scale_groups()) names.push_back(group.name);
  return names;
}

double factor_for(const Scales& scales, const std::string& key, const std::string& network) {
  if (scales.empty()) return 1.0;
  double factor = 1.0;
  if (const auto found = scales.find(key); found != scales.end()) factor *= found->second;
  const std::string family = without_label(key);
  if (family != key) {
    if (const auto found = scales.find(family); found != scales.end()) factor *= found->second;
  }
  for (const ScaleGroup& group : scale_groups()) {
    const auto found = scales.find(group.name);
    if (found != scales.end()) factor *= factor_of_group(group, found->second, family, network);
  }
  return factor;
}

double factor_for(const Platform& platform, const Fact& fact) {
  return factor_for(platform.scales, fact.key, network_of(platform));
}

void follow_plateaus(CollectiveLibrary& library, const Scales& scales, const std::string& network) {
  for (MeasuredCollectives& table : library.measured) {
    const auto plateau = std::ranges::find(library.across, table.devices, &Plateau::devices);
    if (!table.over_nodes() || plateau == library.across.end()) continue;
    const double factor = factor_for(
        scales, fmt::format("library.across.{}.bus_bandwidth_GBps", table.devices), network);
    const BytesPerSecond was = plateau->bus_bandwidth / factor;
    for (MeasuredCollectives::Row& row : table.rows) {
      const Bytes sent{row.bytes * part_sent(table.kind, table.members)};
      row.time += std::min(sent / was, row.time) * (1.0 / factor - 1.0);
    }
  }
}

std::string words_of_group(const ScaleGroup& group, const Platform& platform) {
  std::vector<std::string> families;
  for (const Fact& fact : platform.facts) {
    const std::string family = without_label(fact.key);
    if (factor_of_group(group, 2.0, family, network_of(platform)) == 1.0) continue;
    if (std::ranges::find(families, family) == families.end()) families.push_back(family);
  }
  return fmt::format("{}", fmt::join(families, ", "));
}

void check_as_scaled(const Platform& platform) {
  if (platform.scales.empty()) return;
  Platform scaled = platform;
  for (Fact& fact : scaled.facts) fact.value *= factor_for(platform, fact);
  try {
    check(scaled);
  } catch (const std::runtime_error& error) {
    std::string hint;
    for (const ScaleGroup& group : scale_groups()) {
      const std::string all = words_of_group(group, platform);
      for (const auto& [key, factor] : platform.scales) {
        if (!hint.empty() || factor_of_group(group, 2.0, without_label(key), "") == 1.0) continue;
        if (all.find(", ") == std::string::npos) continue;
        hint = fmt::format("; --scale {}={:g} scales what belongs together: {}", group.name, factor,
                           all);
      }
    }
    throw std::runtime_error(fmt::format("as scaled: {}{}", error.what(), hint));
  }
}

}  // namespace fourfold::inline platforms::inline file
