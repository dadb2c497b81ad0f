// To a CSV and back; see residuals.hpp.
#include "scaling/bars/residuals.hpp"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

#include "scaling/words/cell_table.hpp"

namespace fourfold::inline scaling::inline bars {
namespace {

constexpr const char* heading =
    "# Published / projected seconds of the runs in scaling/validation/sets that chose no "
    "constant:\n"
    "# what error bars are made of. Written by: fourfold validate --keep FILE; do not edit.\n"
    "source,id,processor,parallelism,machine,system,devices,published_over_projected,choice,"
    "configuration\n";

constexpr Parallelism all_parallelisms[]{Parallelism::pipelined, Parallelism::sharded,
                                         Parallelism::whole};

std::string family(const std::string& processor) {
  return processor.substr(0, processor.find_first_of("- "));
}

Parallelism read_parallelism(const CellTable& table, std::size_t row) {
  const std::string word = table.cell(row, "parallelism");
  for (Parallelism parallelism : all_parallelisms) {
    if (word == name(parallelism)) return parallelism;
  }
  table.fail(row, "parallelism", "'" + word + "' is neither pipelined, sharded nor whole");
}

std::int64_t read_devices(const CellTable& table, std::size_t row) {
  const std::string word = table.cell(row, "devices");
  std::int64_t devices = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), devices);
  if (error != std::errc() || end != word.data() + word.size() || devices < 1) {
    table.fail(row, "devices", "'" + word + "' is no whole number above 0");
  }
  return devices;
}

double read_ratio(const CellTable& table, std::size_t row) {
  const std::string word = table.cell(row, "published_over_projected");
  double ratio = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), ratio);
  if (error != std::errc() || end != word.data() + word.size() || !(ratio > 0.0)) {
    table.fail(row, "published_over_projected", "'" + word + "' is no number above 0");
  }
  return ratio;
}

}  // namespace

const char* name(Parallelism parallelism) {
  constexpr const char* names[]{"pipelined", "sharded", "whole"};
  return names[static_cast<int>(parallelism)];
}

Likeness likeness(const ProcessGrid& grid, const StepOptions& options, const Platform& platform) {
  Likeness like;
  like.processor = family(platform.processor.name);
  like.machine = platform.name;
  like.system = platform.software.name;
  like.devices = grid.size();
  const bool cut = grid.extent(Axis::z) > 1 || options.zero == 3;
  if (cut) like.parallelism = Parallelism::sharded;
  if (grid.extent(Axis::pipe) > 1) like.parallelism = Parallelism::pipelined;
  return like;
}

std::string residuals_csv(const std::vector<Residual>& residuals) {
  std::string text = heading;
  for (const Residual& one : residuals) {
    text += fmt::format("{},{},{},{},{},{},{},{:.4f},{},{}\n", quoted_cell(one.source),
                        quoted_cell(one.id), quoted_cell(one.like.processor),
                        name(one.like.parallelism), quoted_cell(one.like.machine),
                        quoted_cell(one.like.system), one.like.devices, one.ratio,
                        quoted_cell(one.choice), quoted_cell(one.configuration));
  }
  return text;
}

std::vector<Residual> read_residuals(const std::string& path) {
  const CellTable table(path);
  for (const char* column : {"source", "id", "processor", "parallelism", "machine", "system",
                             "devices", "published_over_projected", "choice", "configuration"}) {
    if (!table.has(column)) {
      throw std::runtime_error(fmt::format("{}: the column '{}' is missing", path, column));
    }
  }
  std::vector<Residual> residuals;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    residuals.push_back(
        {table.cell(i, "source"),
         table.cell(i, "id"),
         {table.cell(i, "processor"), read_parallelism(table, i), table.cell(i, "machine"),
          table.cell(i, "system"), read_devices(table, i)},
         read_ratio(table, i),
         table.cell(i, "choice"),
         table.cell(i, "configuration")});
  }
  return residuals;
}

std::string residuals_file() {
  return fmt::format("{}/scaling/validation/residuals.csv", FOURFOLD_SOURCE_DIR);
}

const std::vector<Residual>& kept_residuals() {
  static const std::vector<Residual> kept = read_residuals(residuals_file());
  return kept;
}

}  // namespace fourfold::inline scaling::inline bars
