// The paper's communication model: its bandwidths per axis, and seconds by hand.
#include "sim/cost/paper_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "schedule/models/fit.hpp"
#include "schedule/models/model_file.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

Platform four_devices_a_node() {
  Platform platform;
  platform.node.devices = 4;
  platform.library.across = {{1, {20e9}}, {4, {80e9}}};
  platform.library.in_node = {{2, {76e9}}, {4, {225e9}}};
  platform.library.in_node_by_stride = {{2, 2, {50e9}}};
  return platform;
}

// Of sizes that nobody measured, the largest below counts; below all, the smallest there is. What
// ends with the node lies in it; groups that leave it share its bandwidth with those inside them.
TEST(PaperModel, TakesBandwidthsFromTheNodesTablesOrSharesThatOfTheWholeNode) {
  const Platform of_four = four_devices_a_node();
  Platform of_twelve = of_four;
  of_twelve.node.devices = 12;
  of_twelve.library.across = {{1, {20e9}}, {12, {120e9}}};
  Platform from_four_on = of_twelve;
  from_four_on.library.in_node = {{4, {225e9}}, {8, {300e9}}};
  struct Row {
    const Platform& platform;
    ProcessGrid grid;
    Axis axis;
    double rate;
  };
  const std::vector<Row> rows{{of_four, {1, 1, 8, 1}, Axis::z, 80e9},
                              {of_four, {2, 1, 8, 1}, Axis::z, 40e9},
                              {of_four, {4, 4, 8, 1}, Axis::z, 20e9},
                              {of_four, {4, 1, 1, 1}, Axis::x, 225e9},
                              {of_four, {2, 2, 1, 1}, Axis::x, 76e9},
                              {of_four, {2, 2, 1, 1}, Axis::y, 50e9},
                              {of_twelve, {2, 1, 1, 1}, Axis::x, 76e9},
                              {of_twelve, {3, 1, 1, 1}, Axis::x, 76e9},
                              {of_twelve, {12, 1, 1, 1}, Axis::x, 225e9},
                              {of_twelve, {13, 1, 1, 1}, Axis::x, 120e9},
                              {of_twelve, {2, 3, 1, 1}, Axis::y, 76e9},
                              {of_twelve, {4, 3, 1, 1}, Axis::y, 76e9},
                              {of_twelve, {5, 3, 1, 1}, Axis::y, 120e9 / 5},
                              {of_twelve, {3, 2, 1, 5}, Axis::data, 120e9 / 6},
                              {from_four_on, {2, 1, 1, 1}, Axis::x, 225e9},
                              {from_four_on, {7, 1, 1, 1}, Axis::x, 225e9},
                              {from_four_on, {8, 1, 1, 1}, Axis::x, 300e9}};
  for (const Row& row : rows) {
    EXPECT_DOUBLE_EQ(paper_bandwidth(row.grid, row.axis, row.platform).value, row.rate)
        << row.grid.str() << " on nodes of " << row.platform.node.devices;
  }
}

TEST(PaperModel, SecondsAddUpOverAxesThatAreCut) {
  const Platform platform = four_devices_a_node();
  Counts counts;
  counts.channels = {{Axis::x, ""}, {Axis::z, "gather"}, {Axis::z, "reduce"}};
  counts.sent = {{225e9}, {40e9}, {20e9}};

  EXPECT_DOUBLE_EQ(paper_communication(counts, ProcessGrid(4, 1, 8, 1), platform).value, 4.0);
  EXPECT_DOUBLE_EQ(paper_communication(counts, ProcessGrid(1, 1, 8, 1), platform).value, 0.75);
}

// The scripts' tables: of groups of `own` whose members lie `inner` apart, GB/s in a node. Over
// nodes a whole one's, which as many groups share as begin in it.
double table_of(const std::string& machine, std::int64_t inner, std::int64_t own) {
  using Row = std::pair<std::pair<std::int64_t, std::int64_t>, double>;
  const bool frontier = machine == "frontier";
  const std::int64_t in_node = frontier ? 8 : 4;
  if (inner * own > in_node) {
    return (frontier ? 40e9 : 80e9) / static_cast<double>(std::min(inner, in_node));
  }
  const std::vector<Row> rows =
      frontier ? std::vector<Row>{{{1, 2}, 129e9}, {{1, 4}, 52e9}, {{1, 8}, 135e9},
                                  {{2, 2}, 50e9},  {{2, 4}, 72e9}, {{4, 2}, 36e9}}
               : std::vector<Row>{{{1, 2}, 76e9}, {{1, 4}, 225e9}, {{2, 2}, 76e9}};
  for (const auto& [group, rate] : rows) {
    if (group == std::pair{inner, own}) return rate;
  }
  ADD_FAILURE() << machine << " " << inner << " " << own;
  return 0.0;
}

// Every axis by the paper's equations (1) to (6) written down again, on all grids of 64 devices.
TEST(CodedModel, IsTheSumOfItsRingsOnEveryGrid) {
  const Model model{"odd", 3, 1024, 16, 512, 8192};
  constexpr double h = 1024.0, tokens = 64 * 512.0;
  int grids = 0;
  for (const std::string machine : {"perlmutter", "frontier"}) {
    for (std::int64_t x = 1; x <= 64; x *= 2) {
      for (std::int64_t y = 1; x * y <= 64; y *= 2) {
        for (std::int64_t z = 1; x * y * z <= 64; z *= 2) {
          const std::int64_t data = 64 / (x * y * z);
          const auto ring = [&](std::int64_t inner, std::int64_t own, double bytes) {
            if (own == 1) return 0.0;
            const auto n = static_cast<double>(own);
            return (n - 1) / n * bytes / table_of(machine, inner, own);
          };
          const auto number = [](std::int64_t value) { return static_cast<double>(value); };
          const double rows_here = tokens / number(z * data);
          const double weights = 12 * h * h / number(x * y);
          // Results of 3h and 4h columns along y, gathered for recompute: all twice; gradients of h
          // and h. Of h and h along x, gradients of h and 4h along y.
          const double along_y =
              2 * 2 * rows_here * 7 * h / number(x) * 2 + 2 * rows_here * 5 * h / number(x) * 2;
          const double along_x =
              2 * 2 * rows_here * 2 * h / number(y) * 2 + 2 * rows_here * 2 * h / number(y) * 2;
          const double expected =
              3 * (ring(1, y, along_y) + ring(y, x, along_x) + 3 * ring(x * y, z, 2 * weights) +
                   ring(x * y * z, data, 2 * 4 * weights / number(z)));

          const ProcessGrid grid(x, y, z, data);

          EXPECT_NEAR(coded_communication(model, 64, grid, machine).value / expected, 1.0, 1e-12)
              << machine << " " << grid.str();
          ++grids;
        }
      }
    }
  }
  EXPECT_EQ(grids, 2 * 84);
}

// By trying all grids. The scripts' least devices of a copy double from 4 of 5B parameters on.
TEST(CodedModel, ListsAllGridsOfPowersOfTwoThatHoldACopy) {
  const std::vector<std::pair<std::string, std::int64_t>> least_of{
      {"gpt-5b", 4}, {"gpt-10b", 8}, {"gpt-20b", 16}, {"gpt-40b", 32}, {"gpt-80b", 64}};
  for (const auto& [name, least] : least_of) {
    const Model model = read_model(name);
    for (const std::int64_t devices : {256, 384}) {
      std::vector<ProcessGrid> expected;
      for (std::int64_t y = 1; y <= devices; y *= 2) {
        for (std::int64_t x = 1; x * y <= devices; x *= 2) {
          for (std::int64_t z = 1; x * y * z <= devices; z *= 2) {
            for (std::int64_t data = 1; x * y * z * data <= devices; data *= 2) {
              const ProcessGrid grid(x, y, z, data);
              const bool fits = grid.size() == devices && x * y * z >= least &&
                                384 % (z * data) == 0 &&
                                find_misfit(model, grid, 1) == Misfit::none;
              if (fits) expected.push_back(grid);
            }
          }
        }
      }
      std::ranges::stable_sort(expected, {}, [&](const ProcessGrid& grid) {
        return coded_communication(model, 384, grid, "frontier").value;
      });

      EXPECT_EQ(coded_grids(model, 384, devices, "frontier", 1000), expected)
          << name << " " << devices;
      expected.resize(std::min<std::size_t>(expected.size(), 3));
      EXPECT_EQ(coded_grids(model, 384, devices, "frontier", 3), expected);
      EXPECT_EQ(expected.empty(), devices == 384) << "no power of two";
    }
  }
}

TEST(CodedModel, RefusesWhatTheScriptsDoNotKnow) {
  const auto said = [](std::int64_t batch, const ProcessGrid& grid, const std::string& machine) {
    return refusal([&] { coded_communication(read_model("gpt-5b"), batch, grid, machine); });
  };

  EXPECT_EQ(said(64, {1, 2, 1, 1}, "alps"), "the authors' scripts do not know alps");
  EXPECT_EQ(said(63, {1, 3, 1, 1}, "perlmutter"),
            "the authors' scripts have no bandwidth of such a group");
  EXPECT_EQ(said(60, {1, 5, 1, 1}, "perlmutter"), "accepted");
}

}  // namespace
}  // namespace fourfold::tests
