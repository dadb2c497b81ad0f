// Tests of the table of collectives: the library's choice is marked, bus bandwidth is that of
// nccl-tests, what a group cannot do is said, and impossible groups are refused.
#include "scaling/text/collective_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "platforms/network/axis_rate.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

TEST(CollectiveTable, MarksTheLibrarysChoiceInEveryRow) {
  const Platform platform = read_platform("perlmutter");

  const CollectiveTable table = collective_table(platform, 256, 1);

  EXPECT_EQ(table.shape, (GroupShape{256, 64, 1}));
  for (const CollectiveRow& row : table.rows) {
    const CollectiveChoice free =
        choose_collective(platform.library, row.kind, row.buffer, table.shape, table.link_rate);
    if (row.cells.size() < 4) continue;  // does not go around: one algorithm is the library's
    int marked = 0;
    for (const CollectiveCell& cell : row.cells) {
      if (!cell.automatic) continue;
      ++marked;
      EXPECT_EQ(cell.choice.uncontended, free.uncontended);
    }
    EXPECT_EQ(marked, 1) << name(row.kind) << " of " << row.buffer.value << " bytes";
  }
}

// nccl-tests: all-gather, reduce-scatter and all-to-all (n-1)/n S / t, all-reduce 2 (n-1)/n S / t,
// broadcast S / t.
TEST(CollectiveTable, BusBandwidthIsThatOfNcclTests) {
  const CollectiveTable table = collective_table(read_platform("alps"), 4, 4);

  for (const CollectiveRow& row : table.rows) {
    const CollectiveCell& ring = row.cells.front();
    const double factor = row.kind == CollectiveKind::all_reduce ? 1.5
                          : row_of(row.kind).sends_whole()       ? 1.0
                                                                 : 0.75;
    EXPECT_DOUBLE_EQ(ring.bus_bandwidth.value,
                     factor * row.buffer.value / ring.choice.uncontended.value);
    EXPECT_LE(ring.bus_bandwidth, table.link_rate);
  }
}

// As many devices lie between the first and the last member as groups are busy beside this one: a
// line of 256 devices on Polaris has narrower links than one of its 8 members would have.
TEST(CollectiveTable, SharesLinksWithTheGroupsBesideIt) {
  const Platform polaris = read_platform("polaris");
  const AxisRates rates(polaris);

  const CollectiveTable table = collective_table(polaris, 8, 32);

  EXPECT_EQ(table.link_rate, rates.rate(32, 8, 256));
  EXPECT_LT(table.link_rate, rates.rate(32, 8, 8));
}

TEST(CollectiveTable, SaysWhyAGroupCannot) {
  const std::string text = collective_text(collective_table(read_platform("frontier"), 48, 1));

  EXPECT_THAT(text, HasSubstr("48 devices of frontier, 1 apart, on 6 nodes"));
  EXPECT_THAT(text, HasSubstr("only an all-reduce can be tree, not an all-gather"));
  EXPECT_THAT(text, HasSubstr("powers of two of members and of nodes, not 48 members on 6 nodes"));
}

TEST(CollectiveTable, JsonHasEveryCell) {
  const CollectiveTable table = collective_table(read_platform("frontier"), 16, 8);

  const nlohmann::json object = nlohmann::json::parse(collective_json(table));

  EXPECT_EQ(object.at("nodes"), 16);
  std::size_t cells = 0;
  for (const CollectiveRow& row : table.rows) cells += row.cells.size();
  EXPECT_EQ(object.at("collectives").size(), cells);
  EXPECT_EQ(object.at("collectives").at(0).at("time_us"),
            table.rows[0].cells[0].choice.uncontended.value / 1e-6);
  EXPECT_TRUE(object.at("collectives").at(1).contains("refusal"));
}

// Of parts of one size nothing changes; the largest holds up all.
TEST(CollectiveTable, HasUnequalPartsWhereTheyAreGiven) {
  const Platform platform = read_platform("frontier");
  const auto times = [&](CollectiveKind kind, const std::vector<double>& parts) {
    std::vector<double> seconds;
    for (const CollectiveRow& row : collective_table(platform, 4, 8, parts).rows) {
      if (row.kind == kind) seconds.push_back(row.cells.front().choice.uncontended.value);
    }
    return seconds;
  };

  EXPECT_TRUE(times(CollectiveKind::all_to_all_v, {}).empty());
  EXPECT_EQ(times(CollectiveKind::all_to_all_v, {3, 3, 3, 3}),
            times(CollectiveKind::all_to_all, {}));
  EXPECT_NEAR(times(CollectiveKind::all_to_all_v, {2, 1, 1, 0}).back(),
              2 * times(CollectiveKind::all_to_all, {}).back(),
              0.1 * times(CollectiveKind::all_to_all, {}).back());
  EXPECT_THROW(collective_table(platform, 4, 8, {1, 2, 3}), std::invalid_argument);
}

// Exchanges are counted pair by pair; a group with too many pairs has all its other rows.
TEST(CollectiveTable, OfAVeryLargeGroupLeavesOutExchangesAlone) {
  const CollectiveTable table = collective_table(read_platform("frontier"), 32'768, 1);

  for (const CollectiveRow& row : table.rows) {
    const bool counted = row_of(row.kind).motion != Motion::pairs;
    EXPECT_EQ(row.cells.front().refusal.empty(), counted) << name(row.kind);
    if (!counted) {
      EXPECT_THAT(row.cells.front().refusal, HasSubstr("pair by pair"));
    }
  }
  EXPECT_THAT(collective_text(table), HasSubstr("536854528 pairs"));
  EXPECT_THAT(collective_json(table), HasSubstr("536854528 pairs"));
}

}  // namespace
}  // namespace fourfold::tests
