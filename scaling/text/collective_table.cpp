// Sizes, algorithms and their costs as a table; see collective_table.hpp.
#include "scaling/text/collective_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "platforms/network/axis_rate.hpp"
#include "platforms/network/pair_loads.hpp"
#include "scaling/words/text_table.hpp"
#include "schedule/collectives/counts.hpp"
#include "support/binary_size.hpp"

namespace fourfold::inline scaling::inline text {
namespace {

constexpr double giga = 1e9;
constexpr double micro = 1e-6;

// The columns of a kind: what goes around has those of an all-reduce.
std::vector<CollectiveAlgorithm> shown(CollectiveKind kind) {
  using enum CollectiveAlgorithm;
  if (row_of(kind).motion == Motion::around) return {ring, tree, recursive, hierarchical};
  std::vector<CollectiveAlgorithm> own;
  for (CollectiveAlgorithm algorithm : {ring, pairwise, recursive, hierarchical}) {
    if (row_of(kind).algorithms.contains(algorithm)) own.push_back(algorithm);
  }
  return own;
}

// 1 KiB to 2 GiB.
constexpr std::int64_t smallest_buffer = std::int64_t{1} << 10;
constexpr std::int64_t largest_buffer = std::int64_t{1} << 31;
constexpr std::int64_t buffer_step = 8;

// `uncounted`: why nobody knows what links give; empty if it is known.
CollectiveRow priced(const CollectiveLibrary& library, const CollectiveTask& task,
                     const std::string& uncounted) {
  const CollectiveChoice free =
      uncounted.empty() ? choose_collective(library, task, {}) : CollectiveChoice{};
  CollectiveRow row{task.kind, task.buffer, task.link_rate, {}};
  for (CollectiveAlgorithm algorithm : shown(task.kind)) {
    CollectiveCell cell;
    cell.algorithm = algorithm;
    cell.refusal = uncounted.empty() ? misfit(task.kind, algorithm, task.shape) : uncounted;
    if (cell.refusal.empty()) {
      cell.automatic = algorithm == free.algorithm;
      cell.choice = cell.automatic ? free : forced_collective(library, algorithm, task);
      cell.bus_bandwidth =
          task.buffer * part_sent(task.kind, task.shape.members) / cell.choice.uncontended;
    }
    row.cells.push_back(cell);
  }
  return row;
}

std::string kind_text(const CollectiveTable& table, CollectiveKind kind) {
  TextTable text;
  text.columns = {{name(kind), "bytes", Align::right}};
  for (CollectiveAlgorithm algorithm : shown(kind)) {
    text.columns.push_back({name(algorithm), "us"});
    text.columns.push_back({"", "GB/s"});
  }
  std::set<std::string> refusals;
  for (const CollectiveRow& row : table.rows) {
    if (row.kind != kind) continue;
    if (goes_by_pairs(row_of(kind).motion) && row.link_rate.value > 0.0) {
      refusals.insert(
          fmt::format("links give the busiest member {:.1f} GB/s", row.link_rate.value / giga));
    }
    std::vector<std::string> cells{size_text(row.buffer.value)};
    for (const CollectiveCell& cell : row.cells) {
      if (!cell.refusal.empty()) {
        refusals.insert(cell.refusal);
        cells.insert(cells.end(), {"-", "-"});
        continue;
      }
      cells.push_back(fmt::format("{}{:.1f}", cell.automatic ? "*" : "",
                                  cell.choice.uncontended.value / micro));
      cells.push_back(fmt::format("{:.2f}", cell.bus_bandwidth.value / giga));
    }
    text.rows.push_back(std::move(cells));
  }
  std::string result = format(text);
  for (const std::string& refusal : refusals) result += hanging("- " + refusal + ".", 2);
  return result;
}

}  // namespace

CollectiveTable collective_table(const Platform& platform, std::int64_t devices,
                                 std::int64_t stride, const std::vector<double>& parts) {
  if (devices < 2) {
    throw std::runtime_error("a collective needs at least 2 devices, not " +
                             std::to_string(devices));
  }
  if (stride < 1) {
    throw std::runtime_error("the stride is the distance between neighbours, at least 1, not " +
                             std::to_string(stride));
  }
  if (stride > platform.devices() || devices > platform.devices() / stride) {
    throw std::runtime_error(fmt::format("{} devices {} apart do not fit {}, which has {}", devices,
                                         stride, platform.name, platform.devices()));
  }
  CollectiveTable table;
  table.platform = platform.name;
  table.library = platform.library.name;
  table.shape = packed_group(devices, stride, platform.node.devices);
  table.link_rate = AxisRates(platform).rate(stride, devices, devices * stride);
  const double skewed = parts.empty() ? 1.0 : skew(parts, devices);
  for (const KindRow& row : collective_rows) {
    const bool unequal = row.kind == CollectiveKind::all_to_all_v;
    if (row.motion == Motion::one_way || (unequal && parts.empty())) continue;
    BytesPerSecond link_rate = table.link_rate;
    std::string uncounted;
    if (goes_by_pairs(row.motion)) {
      try {
        link_rate = exchange_rate(platform, row.motion, {stride, devices, devices * stride});
      } catch (const std::invalid_argument& error) {
        uncounted = error.what();
        link_rate = {};
      }
    }
    for (std::int64_t bytes = smallest_buffer; bytes <= largest_buffer; bytes *= buffer_step) {
      const CollectiveTask task{row.kind,
                                {static_cast<double>(bytes)},
                                table.shape,
                                link_rate,
                                table.shape.stride * table.shape.members,
                                unequal ? skewed : 1.0};
      table.rows.push_back(priced(platform.library, task, uncounted));
    }
  }
  return table;
}

std::string collective_text(const CollectiveTable& table) {
  std::string text = fmt::format(
      "{} devices of {}, {} apart, on {} {}; {}; links give each ring {:.1f} GB/s\n"
      "time in us and bus bandwidth as nccl-tests define it; * is what the library chooses\n",
      table.shape.members, table.platform, table.shape.stride, table.shape.nodes,
      table.shape.nodes == 1 ? "node" : "nodes", table.library, table.link_rate.value / giga);
  for (const KindRow& row : collective_rows) {
    const bool shown = std::ranges::count(table.rows, row.kind, &CollectiveRow::kind) > 0;
    if (shown) text.append("\n").append(kind_text(table, row.kind));
  }
  return text;
}

std::string collective_json(const CollectiveTable& table) {
  nlohmann::json rows = nlohmann::json::array();
  for (const CollectiveRow& row : table.rows) {
    for (const CollectiveCell& cell : row.cells) {
      nlohmann::json entry{{"collective", name(row.kind)},
                           {"buffer_bytes", static_cast<std::int64_t>(row.buffer.value)},
                           {"algorithm", name(cell.algorithm)}};
      if (cell.refusal.empty()) {
        entry["variant"] = name(cell.choice.algorithm);
        entry["protocol"] = name(cell.choice.protocol);
        entry["time_us"] = cell.choice.uncontended.value / micro;
        entry["bus_bandwidth_GBps"] = cell.bus_bandwidth.value / giga;
        entry["automatic"] = cell.automatic;
      } else {
        entry["refusal"] = cell.refusal;
      }
      rows.push_back(std::move(entry));
    }
  }
  const nlohmann::json object{{"platform", table.platform},
                              {"library", table.library},
                              {"devices", table.shape.members},
                              {"stride", table.shape.stride},
                              {"nodes", table.shape.nodes},
                              {"link_rate_GBps", table.link_rate.value / giga},
                              {"collectives", rows}};
  return object.dump() + "\n";
}

}  // namespace fourfold::inline scaling::inline text
