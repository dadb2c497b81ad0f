// Measurements of single operations as a platform and a software, which are read by the ordinary
// reader and say what was measured; and collectives that were measured beside the model's.
#include "scaling/calibrate/machine_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "platforms/network/axis_rate.hpp"
#include "platforms/platform.hpp"
#include "scaling/calibrate/collective_errors.hpp"
#include "schedule/program/function.hpp"
#include "sim/cost/protocol.hpp"
#include "tests/machines.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

constexpr double micro = 1e-6;

MeasuredOperation made_up(const nlohmann::json& what, std::int64_t ranks, double seconds) {
  MeasuredOperation one;
  one.what = what;
  one.what["ranks"] = ranks;
  one.seconds = seconds;
  one.low = 0.99 * seconds;
  one.high = 1.01 * seconds;
  one.repetitions = 9;
  one.reference = 500 * micro;
  one.date = "2026-11-22";
  return one;
}

// 100 Gflop/s on two cores; an element of any kernel takes 1 ns beside a launch of 1 us.
std::vector<MeasuredOperation> measurements() {
  std::vector<MeasuredOperation> all{made_up({{"kind", "fma"}}, 2, 1.0 / 150e9),
                                     made_up({{"kind", "copy"}, {"bytes", 100'000}}, 2, 10 * micro),
                                     made_up({{"kind", "copy"}, {"bytes", 50'000'000}}, 2, 0.01)};
  for (const char* form : {"NN", "NT", "TN"}) {
    for (int m : {32, 256}) {
      for (int k : {32, 256}) {
        for (int n : {32, 256}) {
          all.push_back(made_up({{"kind", "product"}, {"form", form}, {"m", m}, {"k", k}, {"n", n}},
                                2, 2.0 * m * k * n / (std::string(form) == "NN" ? 100e9 : 50e9)));
        }
      }
    }
  }
  for (const char* name : {"layer_norm", "add ", "update ", "loss_sum"}) {
    for (const auto& [size, elements] :
         {std::pair{"tiny", 1}, {"small", 1000}, {"large", 100'000}}) {
      all.push_back(
          made_up({{"kind", "operation"}, {"name", name}, {"size", size}, {"elements", elements}},
                  2, 1 * micro + (elements > 1 ? 1e-9 * elements : 0.0)));
    }
  }
  for (const char* name : {"forward", "backward"}) {
    for (int sequence : {64, 256}) {
      all.push_back(
          made_up({{"kind", "attention"}, {"name", name}, {"sequence", sequence}, {"flops", 1e9}},
                  2, (sequence == 64 ? 0.05 : 0.025) * (*name == 'b' ? 2 : 1)));
    }
  }
  for (const auto& [ranks, seconds] : {std::pair{1, 0.9}, {2, 1.0}, {4, 1.1}}) {
    for (const char* name : {"product", "map"}) {
      all.push_back(made_up({{"kind", "crowd"}, {"name", name}}, ranks, seconds));
    }
  }
  for (const auto& [ranks, members] : {std::pair{2, 2}, {4, 2}, {4, 4}}) {
    for (const char* name : {"all-reduce", "all-gather", "reduce-scatter", "send"}) {
      for (int bytes : {1024, 1'048'576}) {
        all.push_back(made_up({{"kind", "collective"},
                               {"name", name},
                               {"transport", "ring"},
                               {"members", members},
                               {"bytes", bytes}},
                              ranks, members * ranks * (2 * micro + 1e-10 * bytes)));
      }
    }
  }
  for (const auto& [name, seconds] :
       {std::pair{"product", 0.008}, {"all-reduce", 0.002}, {"both", 0.010}}) {
    for (int ranks : {2, 4}) {
      all.push_back(
          made_up({{"kind", "overlap"}, {"name", name}, {"transport", "ring"}}, ranks, seconds));
    }
  }
  return all;
}

Platform written(const std::vector<MeasuredOperation>& all) {
  const TemporaryFolder folder;
  const MachineFacts facts{"Some Processor", 2, 16e9, "here.software.toml"};
  write_content(folder.file("here.software.toml"), software_toml(all, facts));
  write_content(folder.file("here.toml"), machine_toml(all, facts));
  return read_platform(folder.file("here.toml"));
}

// And a software beside it with the time of an element.
TEST(MachineFile, IsReadWithWhatWasMeasured) {
  const Platform platform = written(measurements());

  EXPECT_EQ(platform.devices(), 4);  // two ranks a core
  EXPECT_NEAR(platform.processor.products[0].rates.front().value, 100e9, 1e6);
  EXPECT_NEAR(platform.processor.products[2].rates.back().value, 50e9, 1e6);
  EXPECT_NEAR(platform.processor.attention[1].forward.value, 40e9, 1e6);
  EXPECT_NEAR(platform.processor.attention[1].backward.value, 20e9, 1e6);
  EXPECT_NEAR(platform.processor.launch_overhead.value, 1 * micro, 1e-9);
  ASSERT_EQ(platform.node.crowding.size(), 3u);
  EXPECT_NEAR(platform.node.crowding[0].slowdown, 0.9, 1e-3);
  EXPECT_NEAR(platform.node.crowding[2].slowdown, 2.2, 1e-3);  // two ranks a core
  EXPECT_EQ(platform.library.measured.size(), 12u);
  // The all-reduce costs all of its time beside the product.
  EXPECT_NEAR(platform.processor.interference, 0.5, 1e-3);
  const MapKernels* layer_norm = platform.software.kernels_of(functions::layer_norm);
  ASSERT_NE(layer_norm, nullptr);
  EXPECT_NEAR(layer_norm->front().time.value, 1e-9, 1e-12);
  EXPECT_NE(platform.software.add(), nullptr);
  EXPECT_NE(platform.software.update(), nullptr);
}

// One rank a core, and two: without either there is no slowdown to speak of.
TEST(MachineFile, NeedsKernelsOnAllCoresAtOnce) {
  for (const std::int64_t missing : {2, 4}) {
    std::vector<MeasuredOperation> some = measurements();
    std::erase_if(some, [&](const MeasuredOperation& one) {
      return one.word("kind") == "crowd" && one.whole("ranks") == missing;
    });
    EXPECT_THAT(refusal<std::runtime_error>([&] { written(some); }),
                HasSubstr("kernels on 2 and on 4 ranks at once are not measured yet"))
        << missing;
  }
}

// A message goes as fast as it was measured to, whatever the ports of the file.
TEST(MachineFile, PortsHoldNoCollectiveBack) {
  const Platform platform = written(measurements());
  const Bytes buffer{1'048'576.0};
  const CollectiveTask task{CollectiveKind::all_reduce, buffer, GroupShape{2, 1, 1},
                            AxisRates(platform).rate(1, 2, 2), 2};

  const CollectiveChoice choice = choose_collective(platform.library, task, {});

  EXPECT_NEAR(choice.uncontended.value, 2 * 2 * (2 * micro + 1e-10 * buffer.value), 1e-7);
}

TEST(MachineFile, CollectivesOfRanksThatShareACoreCostWhatTheyDoBesideKernels) {
  std::vector<MeasuredOperation> all = measurements();
  for (MeasuredOperation& one : all) {
    if (one.is("overlap") && one.word("name") == "both" && one.whole("ranks") == 4) {
      one.seconds = 0.011;  // 3 ms more than the product, for an all-reduce of 2
    }
  }
  const auto time = [](const std::vector<MeasuredOperation>& measured, std::size_t table) {
    return written(measured).library.measured[table].rows.front().time.value;
  };

  EXPECT_NEAR(time(all, 0), time(measurements(), 0), 1e-9);        // on 2 ranks
  EXPECT_NEAR(time(all, 1), 1.5 * time(measurements(), 1), 1e-8);  // on 4
}

TEST(MachineFile, EveryNumberSaysWhenAndHowOftenItWasMeasured) {
  for (const Fact& fact : written(measurements()).facts) {
    const bool said = fact.source.find("fourfold calibrate, 2026-11-22") != std::string::npos ||
                      fact.source.starts_with("definition") || fact.unconfirmed ||
                      fact.source.starts_with("the operating system");
    EXPECT_TRUE(said) << fact.key << ": " << fact.source;
  }
}

TEST(Measurements, AreReadButForALineThatWasCutOff) {
  const std::string line =
      R"({"what":{"kind":"fma","ranks":2},"seconds":1.0,"low":0.9,"high":1.1,"n":5,)"
      R"("reference_s":5e-4,"foreign_cores":0.0,"date":"2026-11-22"})";
  const auto read = [](const std::string& text) { return read_from(text, read_measured); };

  EXPECT_EQ(read(line + '\n' + line.substr(0, 40)).size(), 1u);
  const auto all = read(line.substr(0, line.size() - 1) + R"(,"processor":"Z80"})");
  EXPECT_THAT(refusal<std::runtime_error>([&] { refuse_other_processors(all, "kept"); }),
              HasSubstr("kept has what was measured on Z80, and this is "));
  EXPECT_NO_THROW(refuse_other_processors(read(line), "kept"));
  EXPECT_THAT(refusal<std::runtime_error>([&] { read(line + "\n{}\n" + line + '\n'); }),
              HasSubstr(":2: this is no measurement"));
}

// --- each row beside the model: its group and time by hand, and what a file must say; sums and
// classes of sizes are in tests/golden/verbs

// Nodes of six devices, and a library that shares a node among groups.
const Platform& machine() {
  static const Platform platform = read_platform(path_of_machine("fat-tree-2"));
  return platform;
}

std::vector<CollectiveErrors> errors_of(const std::string& text) {
  return read_from(text,
                   [](const std::string& path) { return collective_errors(machine(), path, {}); });
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

TEST(MeasuredCollectives, AreRefusedByLineAndColumn) {
  for (const char* wrong : {"x", "0", "-2", "inf", "nan", "2x", ""}) {
    for (const char* row : {"all_gather,2,6,4096,{}", "all_gather,{},6,4096,10"}) {
      if (*wrong == '\0' && std::string(row).ends_with("{}")) continue;  // not measured
      EXPECT_THAT(refusal<std::runtime_error>([&] {
                    errors_of("op,nodes,gpus_per_node,bytes,time_us\n" +
                              fmt::format(fmt::runtime(row), wrong) + "\n");
                  }),
                  HasSubstr(fmt::format("\"{}\" is not a number above zero", wrong)));
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
