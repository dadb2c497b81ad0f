// Measurements of single operations as a platform and a software: both files are read by the
// ordinary reader, and say what was measured.
#include "scaling/calibrate/machine_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "platforms/network/axis_rate.hpp"
#include "platforms/platform.hpp"
#include "schedule/program/function.hpp"
#include "sim/cost/protocol.hpp"
#include "tests/refusal.hpp"

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
                  2, sequence == 64 ? 0.05 : 0.025));
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
  const auto folder =
      std::filesystem::temp_directory_path() / ("fourfold-here-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const MachineFacts facts{"Some Processor", 2, 16e9, "here.software.toml"};
  std::ofstream(folder / "here.software.toml") << software_toml(all, facts);
  std::ofstream(folder / "here.toml") << machine_toml(all, facts);
  Platform platform = read_platform((folder / "here.toml").string());
  std::filesystem::remove_all(folder);
  return platform;
}

TEST(MachineFile, IsReadWithWhatWasMeasured) {
  const Platform platform = written(measurements());

  EXPECT_EQ(platform.devices(), 4);  // two ranks a core
  EXPECT_NEAR(platform.processor.products[0].rates.front().value, 100e9, 1e6);
  EXPECT_NEAR(platform.processor.products[2].rates.back().value, 50e9, 1e6);
  EXPECT_NEAR(platform.processor.attention[1].forward.value, 40e9, 1e6);
  EXPECT_NEAR(platform.processor.launch_overhead.value, 1 * micro, 1e-9);
  ASSERT_EQ(platform.node.crowding.size(), 3u);
  EXPECT_NEAR(platform.node.crowding[0].slowdown, 0.9, 1e-3);
  EXPECT_NEAR(platform.node.crowding[2].slowdown, 2.2, 1e-3);  // two ranks a core
  EXPECT_EQ(platform.library.measured.size(), 12u);
  // The all-reduce costs all of its time beside the product.
  EXPECT_NEAR(platform.processor.interference, 0.5, 1e-3);
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

TEST(MachineFile, HasASoftwareBesideItWithTheTimeOfAnElement) {
  const Platform platform = written(measurements());

  const MapKernels* layer_norm = platform.software.kernels_of(functions::layer_norm);
  ASSERT_NE(layer_norm, nullptr);
  EXPECT_NEAR(layer_norm->front().time.value, 1e-9, 1e-12);
  EXPECT_NE(platform.software.add(), nullptr);
  EXPECT_NE(platform.software.update(), nullptr);
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
  const auto path = std::filesystem::temp_directory_path() /
                    ("fourfold-measured-" + std::to_string(::getpid()) + ".jsonl");
  const std::string line =
      R"({"what":{"kind":"fma","ranks":2},"seconds":1.0,"low":0.9,"high":1.1,"n":5,)"
      R"("reference_s":5e-4,"foreign_cores":0.0,"date":"2026-11-22"})";
  std::ofstream(path) << line << '\n' << line.substr(0, 40);

  EXPECT_EQ(read_measured(path.string()).size(), 1u);

  std::ofstream(path) << line << "\n{}\n" << line << '\n';
  EXPECT_THAT(refusal<std::runtime_error>([&] { read_measured(path.string()); }),
              ::testing::HasSubstr(":2: this is no measurement"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace fourfold::tests
