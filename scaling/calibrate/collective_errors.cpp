// Reads measurements and asks the model for each; see collective_errors.hpp.
#include "scaling/calibrate/collective_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>

#include "platforms/network/axis_rate.hpp"
#include "scaling/calibrate/library_fit.hpp"
#include "scaling/calibrate/log_run.hpp"
#include "scaling/words/cell_table.hpp"
#include "sim/cost/protocol.hpp"

namespace fourfold::inline scaling::inline calibrate {
namespace {

constexpr std::int64_t mebi = std::int64_t{1} << 20;
constexpr std::int64_t most_nodes = 1'000'000;
constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t class_ends[]{mebi, 64 * mebi, no_end};

double number(const CellTable& table, std::size_t row, const std::string& column,
              double most = 1e15) {
  const std::string cell = table.cell(row, column);
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  if (cell.empty() || *end != 0 || !(value > 0.0) || !std::isfinite(value)) {
    table.fail(row, column, fmt::format("\"{}\" is not a number above zero", cell));
  }
  if (value < 1e-9 || value > most) {
    table.fail(row, column, fmt::format("\"{}\" is not a number from 1e-9 to {:g}", cell, most));
  }
  return value;
}

std::int64_t whole(const CellTable& table, std::size_t row, const std::string& column,
                   std::int64_t most) {
  const double value = number(table, row, column);
  if (value < 1.0 || value > static_cast<double>(most) || value != std::floor(value)) {
    table.fail(
        row, column,
        fmt::format("\"{}\" is not a whole number from 1 to {}", table.cell(row, column), most));
  }
  return static_cast<std::int64_t>(value);
}

class LibraryModel {
 public:
  explicit LibraryModel(const Platform& platform)
      : devices_(platform.node.devices),
        shared_(platform.library),
        alone_(platform.library),
        rates_(platform) {
    alone_.sharing_a_node = 0;
  }

  double seconds(CollectiveKind kind, Bytes bytes, GroupShape shape, bool side_by_side) const {
    if (!side_by_side) {
      const BytesPerSecond unlimited{std::numeric_limits<double>::max()};
      return choose_collective(alone_, kind, bytes, shape, unlimited).uncontended.value;
    }
    const std::int64_t job = std::max(shape.nodes * devices_, shape.members);
    const BytesPerSecond rate = rates_.rate(shape.stride, shape.members, job);
    return choose_collective(shared_, kind, bytes, shape, rate).uncontended.value;
  }

  // `in_node` members in each of `nodes` nodes, evenly apart.
  GroupShape shape(std::int64_t nodes, std::int64_t in_node) const {
    const std::int64_t stride = std::max<std::int64_t>(1, devices_ / in_node);
    return {nodes * in_node, nodes, nodes == 1 ? 1 : stride};
  }

 private:
  std::int64_t devices_;
  CollectiveLibrary shared_, alone_;
  AxisRates rates_;
};

CollectiveErrors& class_of(std::vector<CollectiveErrors>& classes, const std::string& kind,
                           double bytes) {
  std::int64_t least = 0;
  for (const std::int64_t end : class_ends) {
    if (end == no_end || bytes < static_cast<double>(end)) {
      for (CollectiveErrors& one : classes) {
        if (one.kind == kind && one.least == least) return one;
      }
      CollectiveErrors fresh;
      fresh.kind = kind;
      fresh.least = least;
      fresh.beyond = end;
      classes.push_back(fresh);
      break;
    }
    least = end;
  }
  return classes.back();
}

bool left_out(const CellTable& table, std::size_t row,
              const std::map<std::string, std::string>& only) {
  for (const auto& [column, value] : only) {
    if (table.cell(row, column) != value) return true;
  }
  return table.cell(row, "time_us").empty();
}

void add(double error, CollectiveErrors& sums) {
  ++sums.rows;
  sums.mean_absolute += std::abs(error);
  sums.bias += error;
  if (std::abs(error) > std::abs(sums.worst)) sums.worst = error;
}

// Sums become means, in the order of the text.
void finish(std::vector<CollectiveErrors>& classes) {
  for (CollectiveErrors& sums : classes) {
    sums.mean_absolute /= static_cast<double>(sums.rows);
    sums.bias /= static_cast<double>(sums.rows);
  }
  std::sort(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.least < b.least;
  });
}

}  // namespace

std::vector<CollectiveErrors> collective_errors(const Platform& platform, const std::string& path,
                                                const std::map<std::string, std::string>& only) {
  const CellTable table(path);
  for (const auto& [column, value] : only) {
    if (!table.has(column)) throw std::runtime_error(path + " has no column \"" + column + "\"");
  }
  const std::string per_node = table.has("gpus_per_node") ? "gpus_per_node" : "devices_per_node";
  const LibraryModel model(platform);
  std::vector<CollectiveErrors> classes;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::optional<CollectiveKind> kind = collective_named(table.cell(row, "op"));
    if (!kind || left_out(table, row, only)) continue;
    const std::int64_t nodes = whole(table, row, "nodes", most_nodes);
    const double bytes = number(table, row, "bytes");
    const GroupShape shape = model.shape(nodes, whole(table, row, per_node, platform.node.devices));
    const std::string groups = table.cell(row, "concurrent_groups");
    const bool side_by_side = !groups.empty() && groups != "1";
    const double modelled = model.seconds(*kind, {bytes}, shape, side_by_side);
    const double error = modelled / (1e-6 * number(table, row, "time_us")) - 1.0;
    add(error, class_of(classes, name(*kind), bytes));
  }
  if (classes.empty()) {
    throw std::runtime_error(path +
                             " has no such row of an all-gather, a reduce-scatter or an "
                             "all-reduce that says time_us");
  }
  finish(classes);
  return classes;
}

std::vector<CollectiveErrors> collective_errors(const CollectiveLibrary& library,
                                                const std::vector<CollectiveSample>& samples) {
  std::vector<CollectiveErrors> classes;
  for (const CollectiveSample& one : samples) {
    add(modelled(library, one) / one.time - 1.0,
        class_of(classes, name(one.kind), one.buffer.value));
  }
  finish(classes);
  return classes;
}

std::string sizes_in_words(const CollectiveErrors& errors) {
  return errors.beyond == no_end ? fmt::format("from {} MiB", errors.least / mebi)
                                 : fmt::format("below {} MiB", errors.beyond / mebi);
}

std::string collective_errors_text(const std::vector<CollectiveErrors>& errors) {
  std::string text = "Modelled against measured seconds, %:\n";
  for (const CollectiveErrors& one : errors) {
    text += fmt::format("{:14} {:14} {:4} rows  mean {:5.1f}  bias {:+6.1f}  worst {:+7.1f}\n",
                        one.kind, sizes_in_words(one), one.rows, 100 * one.mean_absolute,
                        100 * one.bias, 100 * one.worst);
  }
  return text;
}

}  // namespace fourfold::inline scaling::inline calibrate
