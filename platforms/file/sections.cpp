// Section by section from a strict table to values; key.hpp says what each key is. The kind of a
// network decides which other keys it has. This file is long because a machine has many sections.
#include "platforms/file/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>

#include "platforms/operation.hpp"
#include "schedule/program/function.hpp"

namespace fourfold::inline platforms::inline file {
namespace {

int device_index(const FactTable& row, const std::string& key) {
  const std::int64_t index = row.label(key);
  if (index < 0 || index > 1'000'000) row.refuse(key, fmt::format("is {}, no device", index));
  return static_cast<int>(index);
}

Protocol read_protocol(const FactTable& table) {
  Protocol protocol;
  protocol.hop_across = {table.number("hop_across_us", Range::non_negative)};
  protocol.hop_in_node = {table.number("hop_in_node_us", Range::non_negative)};
  protocol.bandwidth_fraction_across = table.number("bandwidth_fraction_across", Range::fraction);
  protocol.bandwidth_fraction_in_node = table.number("bandwidth_fraction_in_node", Range::fraction);
  protocol.tree_hop_factor = table.number("tree_hop_factor", Range::positive);
  protocol.tree_bandwidth_fraction = table.number("tree_bandwidth_fraction", Range::fraction);
  if (table.has("ring_base_factor")) {
    protocol.ring_base_factor = table.number("ring_base_factor", Range::positive);
  }
  if (table.has("bandwidth_exponent_across")) {
    protocol.bandwidth_exponent_across = table.number("bandwidth_exponent_across", Range::fraction);
  }
  return protocol;
}

std::vector<GemmPoint> read_gemm(const FactTable& table, const std::string& key) {
  std::vector<GemmPoint> points;
  for (const FactTable& row : table.entries(key)) {
    const std::int64_t size = row.label("size");
    points.push_back({size, {row.entry_number(std::to_string(size), "rate_Tflops")}});
  }
  return points;
}

std::vector<double> values_of(const std::vector<FactTable>& rows, const std::string& key) {
  std::set<double> values;
  for (const FactTable& row : rows) {
    const std::int64_t value = row.label(key);
    if (value < 1) row.refuse(key, fmt::format("is {}, but it must be at least 1", value));
    values.insert(static_cast<double>(value));
  }
  return {values.begin(), values.end()};
}

ProductGrid read_grid(const FactTable& table, const std::string& form,
                      const std::vector<FactTable>& rows) {
  ProductGrid grid{values_of(rows, "m"), values_of(rows, "k"), values_of(rows, "n"), {}};
  const std::size_t all = grid.m.size() * grid.k.size() * grid.n.size();
  grid.rates.resize(all);
  const auto place = [](const std::vector<double>& values, std::int64_t value) {
    return static_cast<std::size_t>(
        std::find(values.begin(), values.end(), static_cast<double>(value)) - values.begin());
  };
  for (const FactTable& row : rows) {
    const std::int64_t m = row.label("m"), k = row.label("k"), n = row.label("n");
    const std::string name = fmt::format("{}-{}x{}x{}", form, m, k, n);
    const std::size_t at =
        (place(grid.m, m) * grid.k.size() + place(grid.k, k)) * grid.n.size() + place(grid.n, n);
    if (grid.rates[at].value > 0.0) row.refuse("m", name + " stands twice");
    grid.rates[at] = {row.entry_number(name, "rate_Tflops")};
  }
  if (rows.size() < all) {
    table.refuse("products", fmt::format("has {} rows of form {}, but a row for each combination "
                                         "of their m, k and n would be {}",
                                         rows.size(), form, all));
  }
  return grid;
}

std::array<ProductGrid, 3> read_products(const FactTable& table) {
  constexpr std::array forms{GemmForm::nn, GemmForm::nt, GemmForm::tn};
  std::array<std::vector<FactTable>, 3> rows;
  for (const FactTable& row : table.entries("products")) {
    const std::string form = row.text("form");
    const auto known =
        std::find_if(forms.begin(), forms.end(), [&](GemmForm one) { return name(one) == form; });
    if (known == forms.end()) {
      row.refuse("form", fmt::format("is \"{}\", but it must be NN, NT or TN", form));
    }
    rows[static_cast<std::size_t>(known - forms.begin())].push_back(row);
  }
  std::array<ProductGrid, 3> grids;
  for (std::size_t i = 0; i < grids.size(); ++i) {
    if (!rows[i].empty()) grids[i] = read_grid(table, name(forms[i]), rows[i]);
  }
  return grids;
}

std::vector<AttentionPoint> read_attention(const FactTable& table) {
  std::vector<AttentionPoint> points;
  for (const FactTable& row : table.entries("attention")) {
    const std::int64_t sequence = row.label("sequence");
    const std::string name = std::to_string(sequence);
    if (sequence < 1 || (!points.empty() && sequence <= points.back().sequence)) {
      row.refuse("sequence", fmt::format("is {}, but rows must ascend from 1 on", sequence));
    }
    points.push_back({sequence,
                      {row.entry_number(name, "forward_Tflops")},
                      {row.entry_number(name, "backward_Tflops")}});
  }
  return points;
}

std::vector<Crowding> read_crowding(const FactTable& table) {
  std::vector<Crowding> rows;
  for (const FactTable& row : table.entries("crowding")) {
    const int devices = device_index(row, "devices");
    if (devices < 1 || (!rows.empty() && devices <= rows.back().devices)) {
      row.refuse("devices", fmt::format("is {}, but rows must ascend from 1 on", devices));
    }
    rows.push_back({devices, row.entry_number(std::to_string(devices), "slowdown")});
  }
  return rows;
}

CollectiveKind kind_in(const FactTable& row) {
  const std::string word = row.text("kind");
  if (const auto kind = kind_named(word, collective_rows)) return *kind;
  std::string known;
  for (const KindRow& one : collective_rows) {
    const bool last = &one == &collective_rows.back();
    known += (known.empty() ? "" : last ? " or " : ", ") + std::string(one.name);
  }
  row.refuse("kind", fmt::format("is \"{}\", but it must be {}", word, known));
}

// Rows of one group stand together.
std::vector<MeasuredCollectives> read_measured(const FactTable& table) {
  std::vector<MeasuredCollectives> all;
  for (const FactTable& row : table.entries("measured")) {
    const CollectiveKind kind = kind_in(row);
    const int members = device_index(row, "members");
    const int devices = device_index(row, "devices");
    const auto bytes = static_cast<double>(row.label("bytes"));
    const double time = row.entry_number(
        fmt::format("{}-{}-{}-{:g}", name(kind), members, devices, bytes), "time_us");
    if (members < 2 || devices < 1 || (members > devices && members % devices != 0)) {
      row.refuse("members", fmt::format("is {}, but a group has 2 to all of the {} devices that "
                                        "are busy, or so many in each of several nodes",
                                        members, devices));
    }
    const auto known = std::ranges::find_if(all, [&](const MeasuredCollectives& one) {
      return one.kind == kind && one.members == members && one.devices == devices;
    });
    if (known == all.end()) {
      all.push_back({kind, members, devices, {}});
    } else if (known + 1 != all.end()) {
      row.refuse("kind", fmt::format("{} of {} members and {} devices stands in two places; rows "
                                     "of one kind and group stand together",
                                     name(kind), members, devices));
    }
    auto& rows = all.back().rows;
    if (bytes < 1.0 || (!rows.empty() && bytes <= rows.back().bytes)) {
      row.refuse("bytes", fmt::format("is {:g}, but rows must ascend from 1 on", bytes));
    }
    rows.push_back({bytes, {time}});
  }
  return all;
}

std::optional<PieceCliff> read_cliff(const FactTable& table) {
  if (!table.has("cliff")) return std::nullopt;
  const FactTable cliff = table.section("cliff");
  return PieceCliff{{cliff.number("from_KiB", Range::positive)},
                    {cliff.number("to_KiB", Range::positive)},
                    {cliff.number("per_member_us", Range::non_negative)}};
}

std::vector<Plateau> read_plateaus(const FactTable& table, const std::string& key) {
  std::vector<Plateau> plateaus;
  if (!table.has(key)) return plateaus;
  for (const FactTable& row : table.entries(key)) {
    const int devices = device_index(row, "devices");
    const double rate = row.entry_number(std::to_string(devices), "bus_bandwidth_GBps");
    plateaus.push_back({devices, {rate}});
  }
  return plateaus;
}

}  // namespace

Processor read_processor(const FactTable& root) {
  const FactTable table = root.section("processor");
  Processor processor;
  processor.name = table.text("name");
  processor.advertised_peak = {table.number("advertised_peak_Tflops", Range::positive)};
  processor.empirical_peak = {table.number("empirical_peak_Tflops", Range::positive)};
  if (table.has("fp32_Tflops")) table.number("fp32_Tflops", Range::positive);  // vector_rates.hpp
  processor.gemm = read_gemm(table, "gemm");
  if (table.has("gemm_fp8")) processor.gemm_fp8 = read_gemm(table, "gemm_fp8");
  if (table.has("mxfp8_over_fp8")) {
    processor.mxfp8_over_fp8 = table.number("mxfp8_over_fp8", Range::positive);
  }
  if (table.has("products")) processor.products = read_products(table);
  processor.layout_penalty_nt = table.number("layout_penalty_nt", Range::positive);
  processor.layout_penalty_tn = table.number("layout_penalty_tn", Range::positive);
  processor.attention_forward = {table.number("attention_forward_Tflops", Range::positive)};
  processor.attention_backward = {table.number("attention_backward_Tflops", Range::positive)};
  if (table.has("attention")) processor.attention = read_attention(table);
  if (table.has("attention_flash_1")) {
    processor.flash_1 = table.number("attention_flash_1", Range::positive);
  }
  if (table.has("attention_flash_3")) {
    processor.flash_3 = table.number("attention_flash_3", Range::positive);
  }
  if (table.has("compute_units") || table.has("tile_edge") || table.has("product_start")) {
    processor.tiles = {table.count("compute_units", Range::positive),
                       table.count("tile_edge", Range::positive),
                       table.number("product_start", Range::non_negative)};
  }
  processor.memory = {table.number("memory_GB", Range::positive)};
  processor.usable_memory = table.number("usable_memory", Range::fraction);
  processor.memory_bandwidth = {table.number("memory_bandwidth_GBps", Range::positive)};
  if (table.has("host_link_GBps")) {
    processor.host_link = {table.number("host_link_GBps", Range::positive)};
  }
  processor.launch_overhead = {table.number("launch_overhead_us", Range::non_negative)};
  processor.interference = table.number("interference", Range::open_fraction);
  if (table.has("spread")) processor.spread = table.number("spread", Range::open_fraction);
  if (table.has("repetition_spread")) {
    processor.repetition_spread = table.number("repetition_spread", Range::open_fraction);
  }
  return processor;
}

Node read_node(const FactTable& root) {
  const FactTable table = root.section("node");
  Node node;
  const std::int64_t devices = table.count("devices", Range::positive);
  if (devices > Node::most_devices) {
    table.refuse("devices", fmt::format("is {}, but at most {} fit", devices, Node::most_devices));
  }
  node.devices = static_cast<int>(devices);
  if (table.has("crowding")) node.crowding = read_crowding(table);
  if (table.has("links")) {
    for (const FactTable& row : table.entries("links")) {
      const int a = device_index(row, "a");
      const int b = device_index(row, "b");
      const double rate = row.entry_number(fmt::format("{}-{}", a, b), "bandwidth_GBps");
      node.links.push_back({a, b, {rate}, row.text("kind")});
    }
  }
  if (table.has("switch_port_GBps")) {
    node.switch_port = {table.number("switch_port_GBps", Range::positive)};
  }
  for (const FactTable& row : table.entries("nics")) {
    const double rate = row.entry_number(std::to_string(node.nics.size()), "bandwidth_GBps");
    node.nics.push_back({{rate}, row.labels("devices")});
  }
  return node;
}

CollectiveLibrary read_library(const FactTable& root) {
  const FactTable table = root.section("library");
  CollectiveLibrary library;
  library.name = table.text("name");
  library.base_across = {table.number("base_across_us", Range::non_negative)};
  library.base_in_node = {table.number("base_in_node_us", Range::non_negative)};
  library.low_latency = read_protocol(table.section("low_latency"));
  library.simple = read_protocol(table.section("simple"));
  library.interference = table.number("interference", Range::open_fraction);
  library.overlap_exponent = table.number("overlap_exponent", Range::positive);
  library.across = read_plateaus(table, "across");
  library.across_at_once = read_plateaus(table, "across_at_once");
  library.in_node = read_plateaus(table, "in_node");
  if (table.has("measured")) library.measured = read_measured(table);
  library.cliff = read_cliff(table);
  const std::string strided = "in_node_by_stride";
  if (!table.has(strided)) return library;
  for (const FactTable& row : table.entries(strided)) {
    const int stride = device_index(row, "stride");
    const int devices = device_index(row, "devices");
    const double rate =
        row.entry_number(fmt::format("{}x{}", stride, devices), "bus_bandwidth_GBps");
    const bool twice = std::ranges::any_of(
        library.in_node_by_stride,
        [&](const StridedPlateau& one) { return one.stride == stride && one.devices == devices; });
    if (twice) {
      row.refuse("stride",
                 fmt::format("{} of {} devices stands twice; leave one row", stride, devices));
    }
    library.in_node_by_stride.push_back({stride, devices, {rate}});
  }
  return library;
}

void replace_library(const std::string& path, FactSheet& sheet, CollectiveLibrary& library) {
  FactSheet own{path, sheet.scales, {}};
  const FactTable table = FactTable(own, parse_toml(path), "").section("library");
  const std::vector<std::string> known{"name", "measured", "cliff"};
  for (const std::string& key : table.keys()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      table.refuse(key,
                   "is not of a library beside a machine's own: that has name, measured and "
                   "cliff");
    }
  }
  library.name = table.text("name");
  library.measured = read_measured(table);
  library.cliff = read_cliff(table);
  std::erase_if(sheet.facts, [](const Fact& fact) {
    return fact.key.starts_with("library.measured.") || fact.key.starts_with("library.cliff.");
  });
  std::move(own.facts.begin(), own.facts.end(), std::back_inserter(sheet.facts));
}

namespace {

Network read_crossbar(const FactTable& table) {
  return CrossbarNetwork{table.flag("private_port_per_lane")};
}

Network read_dragonfly(const FactTable& table) {
  DragonflyNetwork network;
  network.groups = table.count("groups", Range::positive);
  network.switches_per_group = table.count("switches_per_group", Range::positive);
  network.nodes_per_group = table.count("nodes_per_group", Range::positive);
  network.links_per_group_pair = table.count("links_per_group_pair", Range::positive);
  network.link_bandwidth = {table.number("link_bandwidth_GBps", Range::positive)};
  network.global_link_bandwidth = network.link_bandwidth;
  if (table.has("global_link_bandwidth_GBps")) {
    network.global_link_bandwidth = {table.number("global_link_bandwidth_GBps", Range::positive)};
  }
  network.global_link_bandwidth *= table.scale(global_bandwidth_scale);
  network.local_detours = table.count("local_detours", Range::non_negative);
  network.global_detours = table.count("global_detours", Range::non_negative);
  return network;
}

Network read_dragonfly_plus(const FactTable& table) {
  DragonflyPlusNetwork network;
  network.cells = table.count("cells", Range::positive);
  network.leaves_per_cell = table.count("leaves_per_cell", Range::positive);
  network.nodes_per_cell = table.count("nodes_per_cell", Range::positive);
  network.uplinks_per_leaf = table.count("uplinks_per_leaf", Range::positive);
  network.links_per_cell_pair = table.count("links_per_cell_pair", Range::positive);
  network.link_bandwidth = {table.number("link_bandwidth_GBps", Range::positive)};
  network.global_link_bandwidth = network.link_bandwidth * table.scale(global_bandwidth_scale);
  network.global_detours = table.count("global_detours", Range::non_negative);
  return network;
}

// Rows are numbered from `label` = 1 on without a gap: their order is their meaning.
void check_numbering(const FactTable& row, const std::string& label, std::size_t expected) {
  if (row.label(label) != static_cast<std::int64_t>(expected)) {
    row.refuse(label, fmt::format("is {}, but the next one is {}", row.label(label), expected));
  }
}

Network read_fat_tree(const FactTable& table) {
  FatTreeNetwork network;
  network.link_bandwidth = {table.number("link_bandwidth_GBps", Range::positive)};
  network.rails = table.count("rails", Range::positive);
  const auto rows = table.entries("tiers");
  for (const FactTable& row : rows) {
    FatTreeTier tier;
    const std::size_t number = network.tiers.size() + 1;
    check_numbering(row, "tier", number);
    tier.members = row.entry_count(std::to_string(number), "members");
    if (number < rows.size()) {
      tier.oversubscription = row.entry_number(std::to_string(number), "oversubscription");
    } else if (row.has("oversubscription")) {
      row.refuse("oversubscription", "makes no sense: nothing is above the last tier");
    }
    network.tiers.push_back(tier);
  }
  if (network.tiers.size() > 1) {
    network.tiers[network.tiers.size() - 2].oversubscription /= table.scale(global_bandwidth_scale);
  }
  return network;
}

Network read_torus(const FactTable& table) {
  TorusNetwork network;
  network.link_bandwidth = {table.number("link_bandwidth_GBps", Range::positive)};
  for (const FactTable& row : table.entries("dimensions")) {
    const std::size_t number = network.extents.size() + 1;
    check_numbering(row, "dimension", number);
    network.extents.push_back(row.entry_count(std::to_string(number), "routers"));
  }
  return network;
}

}  // namespace

Network read_network(const FactTable& root) {
  const FactTable table = root.section("network");
  const std::string kind = table.text("kind");
  if (kind == "crossbar") return read_crossbar(table);
  if (kind == "dragonfly") return read_dragonfly(table);
  if (kind == "dragonfly-plus") return read_dragonfly_plus(table);
  if (kind == "fat-tree") return read_fat_tree(table);
  if (kind == "torus") return read_torus(table);
  throw std::logic_error("a kind of network that has keys but no reader: " + kind);
}

void read_operation(const FactTable& root) {
  if (!root.has(operation_section)) return;
  const FactTable table = root.section(operation_section);
  for (const char* key : {node_power_key, node_failures_key, file_system_key}) {
    if (table.has(key)) table.number(key, Range::positive);
  }
  for (const char* key : {step_p90_key, step_p99_key}) {
    if (table.has(key)) table.number(key, Range::at_least_1);
  }
}

}  // namespace fourfold::inline platforms::inline file
