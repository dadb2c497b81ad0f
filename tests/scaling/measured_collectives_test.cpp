// Measured collectives beside the model's: each row's group and time by hand, the classes of sizes,
// and what a file must say.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "platforms/network/axis_rate.hpp"
#include "scaling/calibrate/collective_errors.hpp"
#include "sim/cost/protocol.hpp"
#include "tests/machines.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// Nodes of six devices, and a library that shares a node among groups.
const Platform& machine() {
  static const Platform platform = read_platform(path_of_machine("fat-tree-2"));
  return platform;
}

std::vector<CollectiveErrors> errors_of(const std::string& text,
                                        const std::map<std::string, std::string>& only = {}) {
  const TemporaryFolder folder;
  write_content(folder.file("rows.csv"), text);
  return collective_errors(machine(), folder.file("rows.csv"), only);
}

struct Row {
  const char* op;
  CollectiveKind kind;
  std::int64_t nodes, in_node, bytes;
  const char* groups;
  GroupShape shape;  // as it lies on nodes of six
  bool side_by_side;
};

double seconds_of(const Row& row) {
  CollectiveLibrary library = machine().library;
  BytesPerSecond rate{std::numeric_limits<double>::max()};
  if (row.side_by_side) {
    rate = AxisRates(machine()).rate(row.shape.stride, row.shape.members,
                                     std::max(row.nodes * 6, row.shape.members));
  } else {
    library.sharing_a_node = 0;
  }
  return choose_collective(library, row.kind, {static_cast<double>(row.bytes)}, row.shape, rate)
      .uncontended.value;
}

TEST(MeasuredCollectives, AreOfTheGroupsThatTheirRowsSay) {
  const std::vector<Row> rows{
      {"all_gather", CollectiveKind::all_gather, 2, 6, 4096, "", {12, 2, 1}, false},
      {"allgather", CollectiveKind::all_gather, 4, 3, 4096, "1", {12, 4, 2}, false},
      {"reduce_scatter", CollectiveKind::reduce_scatter, 4, 2, 1 << 26, "3", {8, 4, 3}, true},
      {"reducescatter", CollectiveKind::reduce_scatter, 3, 1, 1 << 24, "6", {3, 3, 6}, true},
      {"all_reduce", CollectiveKind::all_reduce, 1, 3, 1 << 24, "", {3, 1, 1}, false},
      {"all_reduce", CollectiveKind::all_reduce, 1, 2, 1 << 24, "3", {2, 1, 1}, true},
      {"all_reduce", CollectiveKind::all_reduce, 1, 3, 1 << 28, "2", {3, 1, 1}, true},
      {"all_gather", CollectiveKind::all_gather, 1, 2, 1 << 28, "3", {2, 1, 1}, true},
      {"allreduce", CollectiveKind::all_reduce, 5, 4, 1 << 28, "1", {20, 5, 1}, false}};
  for (const Row& row : rows) {
    for (const char* column : {"gpus_per_node", "devices_per_node"}) {
      const double measured = 2e-3;

      const std::vector<CollectiveErrors> errors = errors_of(
          fmt::format("op,nodes,{},bytes,time_us,concurrent_groups\n{},{},{},{},2000,{}\n", column,
                      row.op, row.nodes, row.in_node, row.bytes, row.groups));

      ASSERT_EQ(errors.size(), 1U);
      EXPECT_EQ(errors[0].kind, name(row.kind));
      EXPECT_EQ(errors[0].rows, 1);
      EXPECT_NEAR(errors[0].bias, seconds_of(row) / measured - 1.0, 1e-12)
          << row.op << " on " << row.nodes << " nodes";
      EXPECT_NEAR(errors[0].mean_absolute, std::abs(errors[0].bias), 1e-15);
      EXPECT_EQ(errors[0].worst, errors[0].bias);
    }
  }
}

// Errors of +100 %, -20 % and -90 % of one class, and what is not asked for.
TEST(MeasuredCollectives, AreSummedByKindAndSize) {
  const Row row{"", CollectiveKind::all_gather, 2, 6, 4096, "", {12, 2, 1}, false};
  const double micros = seconds_of(row) * 1e6;
  std::string text = "op,nodes,gpus_per_node,bytes,time_us,who\n";
  const auto add = [&](const char* op, double error, const char* who) {
    text += fmt::format("{},2,6,4096,{:.17g},{}\n", op, micros / (1.0 + error), who);
  };
  add("all_gather", 1.0, "me");
  add("all_gather", -0.2, "me");
  add("all_gather", -0.9, "you");
  add("broadcast", 5.0, "me");
  text += "all_gather,2,6,4096,,me\n";  // not measured

  const std::vector<CollectiveErrors> all = errors_of(text),
                                      mine = errors_of(text, {{"who", "me"}});

  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].rows, 3);
  EXPECT_NEAR(all[0].bias, -0.1 / 3, 1e-12);
  EXPECT_NEAR(all[0].mean_absolute, 2.1 / 3, 1e-12);
  EXPECT_NEAR(all[0].worst, 1.0, 1e-12);
  EXPECT_EQ(mine[0].rows, 2);
  EXPECT_NEAR(mine[0].bias, 0.4, 1e-12);
  EXPECT_NEAR(errors_of(text, {{"who", "you"}})[0].worst, -0.9, 1e-12);
}

TEST(MeasuredCollectives, StandInOrderWithTheirSizes) {
  std::string text = "op,nodes,gpus_per_node,bytes,time_us\n";
  for (const char* op : {"reduce_scatter", "all_gather"}) {
    for (std::int64_t bytes : {67108864, 1048575, 1048576, 67108863}) {
      text += fmt::format("{},2,6,{},100\n", op, bytes);
    }
  }
  const std::vector<CollectiveErrors> errors = errors_of(text);

  std::vector<std::string> classes;
  for (const CollectiveErrors& one : errors) {
    classes.push_back(fmt::format("{} {} {}", one.kind, one.least >> 20, one.rows));
  }
  EXPECT_THAT(classes, ::testing::ElementsAre("all-gather 0 1", "all-gather 1 2", "all-gather 64 1",
                                              "reduce-scatter 0 1", "reduce-scatter 1 2",
                                              "reduce-scatter 64 1"));
  EXPECT_EQ(collective_errors_text({{"all-gather", 0, 1 << 20, 12, 0.123, -0.05, -0.5},
                                    {"all-reduce", 64 << 20,
                                     std::numeric_limits<std::int64_t>::max(), 3, 1.5, 1.5, 2.25}}),
            "Modelled against measured seconds, %:\n"
            "all-gather     below 1 MiB      12 rows  mean  12.3  bias   -5.0  worst   -50.0\n"
            "all-reduce     from 64 MiB       3 rows  mean 150.0  bias +150.0  worst  +225.0\n");
}

TEST(MeasuredCollectives, AreRefusedByLineAndColumn) {
  const std::string header = "op,nodes,gpus_per_node,bytes,time_us\n";
  const auto why = [&](const std::string& text, const std::map<std::string, std::string>& only) {
    return refusal<std::runtime_error>([&] { errors_of(text, only); });
  };

  for (const char* wrong : {"x", "0", "-2", "inf", "nan", "2x"}) {
    EXPECT_THAT(why(header + "all_gather,2,6,4096," + wrong + "\n", {}),
                HasSubstr(fmt::format("\"{}\" is not a number above zero", wrong)));
    EXPECT_THAT(why(header + "all_gather," + wrong + ",6,4096,10\n", {}),
                HasSubstr(fmt::format("\"{}\" is not a number above zero", wrong)));
  }
  EXPECT_THAT(why(header + "all_gather,2,6,,10\n", {}),
              HasSubstr("\"\" is not a number above zero"));
  EXPECT_THAT(why(header + "broadcast,2,6,4096,10\n", {}), HasSubstr("has no such row of an"));
  EXPECT_THAT(why(header + "all_gather,2,6,4096,10\n", {{"who", "me"}}),
              EndsWith("rows.csv has no column \"who\""));
}

}  // namespace
}  // namespace fourfold::tests
