// Text, JSON and CSV of what was measured; see bench_table.hpp.
#include "bench/kinds/bench_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scaling/words/text_table.hpp"
#include "support/prose.hpp"

namespace fourfold::inline bench::inline kinds {

namespace {

// Four digits, whatever the size.
std::string four_digits(double value) {
  const int whole = value < 1.0 ? 1 : static_cast<int>(std::log10(value)) + 1;
  return fmt::format("{:.{}f}", value, std::max(0, 4 - whole));
}

std::array<double, 5> shares_of(const Summary& s) {
  return {s.min, s.p50, s.p90, s.p99, s.max};
}

constexpr std::array share_names{"min", "p50", "p90", "p99", "max"};

}  // namespace

std::string bench_text(const BenchHeader& h, const BenchTable& table) {
  std::string text = fmt::format(
      "{}; {}; {}\n{} on cores {}; load {:.1f}; FMA peak {:.1f} Gflop/s and triad {:.1f} GB/s of "
      "rank 0\n{}\n\n",
      h.cpu, h.kernels, h.mpi, counted(h.ranks, "rank"), h.cores, h.load, h.fma_peak_Gflops,
      h.triad_GBps, h.timing);
  TextTable lines{{{table.what, "", Align::left}}, {}};
  for (const char* name : share_names) lines.columns.push_back({name, "us"});
  lines.columns.push_back({"n", ""});
  for (const BenchFigure& figure : table.figures) {
    lines.columns.push_back({figure.header, figure.unit});
  }
  lines.columns.push_back({"right", ""});
  for (const BenchRow& row : table.rows) {
    std::vector<std::string> cells{row.name};
    const Summary all = summary(row.seconds);
    for (double seconds : shares_of(all)) cells.push_back(four_digits(1e6 * seconds));
    cells.push_back(std::to_string(all.n));
    for (double figure : row.figures) {
      cells.push_back(std::isnan(figure) ? std::string("-") : four_digits(figure));
    }
    cells.emplace_back(row.right ? "yes" : "NO");
    lines.rows.push_back(std::move(cells));
  }
  return text + format(lines) + "\n" + wrapped(table.notes) + "\n";
}

std::string bench_json(const BenchHeader& h, const BenchTable& table) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const BenchRow& row : table.rows) {
    nlohmann::ordered_json one{{"name", row.name}};
    const Summary all = summary(row.seconds);
    for (std::size_t i = 0; i < share_names.size(); ++i) {
      one[fmt::format("{}_s", share_names[i])] = shares_of(all)[i];
    }
    one["n"] = all.n;
    for (std::size_t i = 0; i < row.figures.size(); ++i) {
      const BenchFigure& figure = table.figures[i];
      const std::string key =
          figure.unit.empty() ? figure.header : figure.header + " " + figure.unit;
      if (!std::isnan(row.figures[i])) one[key] = row.figures[i];
    }
    one["right"] = row.right;
    rows.push_back(std::move(one));
  }
  return nlohmann::ordered_json{{"kind", table.kind},
                                {"header",
                                 {{"cpu", h.cpu},
                                  {"kernels", h.kernels},
                                  {"mpi", h.mpi},
                                  {"commit", h.commit},
                                  {"ranks", h.ranks},
                                  {"cores", h.cores},
                                  {"load", h.load},
                                  {"fma_peak_Gflops", h.fma_peak_Gflops},
                                  {"triad_GBps", h.triad_GBps},
                                  {"timing", h.timing}}},
                                {"rows", rows}}
             .dump() +
         "\n";
}

std::string bench_csv(const BenchHeader& h, const BenchTable& table) {
  std::string text = fmt::format(
      "# {}; {}; {}; {}; cores {}; load {:.1f}; FMA peak {:.1f} Gflop/s; triad {:.1f} "
      "GB/s\nkind,name",
      h.cpu, h.kernels, h.mpi, counted(h.ranks, "rank"), h.cores, h.load, h.fma_peak_Gflops,
      h.triad_GBps);
  for (const char* name : share_names) text += fmt::format(",{}_s", name);
  text += ",n";
  for (const BenchFigure& figure : table.figures) {
    text += fmt::format(",{}{}{}", figure.header, figure.unit.empty() ? "" : " ", figure.unit);
  }
  text += ",right\n";
  for (const BenchRow& row : table.rows) {
    const Summary all = summary(row.seconds);
    text += fmt::format("{},\"{}\"", table.kind, row.name);
    for (double seconds : shares_of(all)) text += fmt::format(",{:.9g}", seconds);
    text += fmt::format(",{}", all.n);
    for (double figure : row.figures) {
      text += std::isnan(figure) ? std::string(",") : fmt::format(",{:.6g}", figure);
    }
    text += row.right ? ",1\n" : ",0\n";
  }
  return text;
}

}  // namespace fourfold::inline bench::inline kinds
