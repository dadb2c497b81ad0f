// Measurements of this machine: their quartiles and means over ranks, the file that keeps them, and
// which collectives are timed on how many ranks.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "engine/cpu/tuned_backend.hpp"
#include "engine/train/measure/collective_times.hpp"
#include "engine/train/measure/kernel_times.hpp"
#include "engine/train/measure/measurements.hpp"
#include "engine/train/measure/step_values.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using json = nlohmann::ordered_json;

TEST(Timings, QuartilesAreTheNearestRepetitions) {
  const auto quartiles = [](Times times) {
    const Timing timing = timing_of(std::move(times));
    return std::vector{timing.low, timing.median, timing.high};
  };

  EXPECT_EQ(quartiles({7.0}), (std::vector<double>{7, 7, 7}));
  EXPECT_EQ(quartiles({9, 1, 8, 2, 7, 3, 6, 4, 5}), (std::vector<double>{3, 5, 7}));
  EXPECT_EQ(quartiles({4, 3, 2, 1}), (std::vector<double>{2, 3, 3}));
  EXPECT_EQ(timing_of({4, 3, 2, 1}).repetitions, 4);
}

TEST(Timings, OfAllRanksAreTheirMean) {
  const World world;
  const auto own = static_cast<double>(world.rank());
  const double mean = 0.5 * static_cast<double>(world.size() - 1);

  const Timing timing = on_all_ranks(world, Timing{10.0 + own, own, 20.0 + own, 7, 30.0 + own});

  EXPECT_DOUBLE_EQ(timing.median, 10.0 + mean);
  EXPECT_DOUBLE_EQ(timing.low, mean);
  EXPECT_DOUBLE_EQ(timing.high, 20.0 + mean);
  EXPECT_EQ(timing.repetitions, 7);
  EXPECT_DOUBLE_EQ(timing.reference, 30.0 + mean);
  EXPECT_DOUBLE_EQ(on_all_ranks(world, Times{own, own, own}).high, mean);
}

TEST(Timings, AreRepeatedAsOftenAndAsLongAsAskedFor) {
  int calls = 0;
  const Times least = repeated([&] { ++calls; }, {5, 0.0});
  EXPECT_EQ(least.size(), 5U);
  EXPECT_EQ(calls, 6);  // the first warms up
  const Times lasting = repeated([] {}, {1, 0.02});
  EXPECT_GT(lasting.size(), 1U);
  for (const double seconds : lasting) EXPECT_GT(seconds, 0.0);
}

// A line of the file, but for what it names.
std::string line_of(json what, std::int64_t ranks) {
  what["ranks"] = ranks;
  return json{{"what", what}, {"seconds", 1.0}}.dump() + '\n';
}

class KeptMeasurements : public OneRank {
 protected:
  // The file after one more measurement was wanted, which was made or not.
  std::string after(const std::string& content, const json& what) {
    const std::string path = folder_.write("kept", content);
    made_ = 0;
    {
      Measurements measurements(world_, path, "test");
      measurements.want(what, [&] {
        ++made_;
        return Timing{2.0, 1.0, 3.0, 5, 0.5};
      });
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const std::string text = content_of(path);
    MPI_Barrier(MPI_COMM_WORLD);
    return text;
  }

  SharedFolder folder_;
  World world_;
  int made_ = 0;
};

TEST_F(KeptMeasurements, AreOfAsManyRanks) {
  const json what{{"kind", "fma"}};
  const std::string ours = line_of(what, world_.size());
  const std::string others = line_of(what, world_.size() + 1);

  EXPECT_EQ(after(ours + others, what), ours + others);
  EXPECT_EQ(made_, 0);
  const std::string more = after(others, what);
  EXPECT_GE(made_, 1);
  ASSERT_TRUE(more.starts_with(others));
  const json line = json::parse(more.substr(others.size()));
  EXPECT_EQ(line.at("what"), (json{{"kind", "fma"}, {"ranks", world_.size()}}));
  EXPECT_EQ(line.at("seconds"), 2.0);
  EXPECT_EQ(line.at("low"), 1.0);
  EXPECT_EQ(line.at("high"), 3.0);
  EXPECT_EQ(line.at("n"), 5);
  EXPECT_EQ(line.at("reference_s"), 0.5);
  EXPECT_EQ(line.at("date").get<std::string>().size(), 10U);
  EXPECT_TRUE(line.at("processor").is_string());
}

TEST_F(KeptMeasurements, LoseNothingButALineThatWasCutOff) {
  const json what{{"kind", "fma"}};
  const std::string first = line_of({{"kind", "one"}}, 1), ours = line_of(what, world_.size());
  for (const std::string& whole : {std::string(), first, first + "\n" + ours}) {
    for (const std::size_t length : {std::size_t{1}, std::size_t{9}, ours.size() / 2}) {
      const std::string text = after(whole + ours.substr(0, length), what);

      ASSERT_TRUE(text.starts_with(whole));
      EXPECT_EQ(made_ == 0, whole.ends_with(ours));
      const std::string added = text.substr(whole.size());
      EXPECT_EQ(added.empty(), made_ == 0);
      EXPECT_EQ(std::count(added.begin(), added.end(), '\n'), made_ == 0 ? 0 : 1);
    }
  }
}

TEST_F(KeptMeasurements, OfSomethingElseAreRefused) {
  const json what{{"kind", "fma"}};
  for (const char* wrong : {"{}\n", "[1]\n", "{\"seconds\":1.0}\n", "{\"what\":{}}\n",
                            "{\"what\":{}}", "no\n{}\n", "A dark and stormy night.\nSuddenly\n"}) {
    EXPECT_EQ(refusal([&] { after(wrong, what); }),
              folder_.file("kept") + " is no file of measurements; name another one")
        << wrong;
  }
}

// 2 and 4 of these ranks, as they divide them; 1 KiB to 16 MiB; messages between two. Those that
// are not kept, of the largest size, are made.
TEST(Timings, OfCollectivesAreThoseOfEveryGroup) {
  const SharedFolder folder;
  const World world;
  if (world.size() > 4) GTEST_SKIP() << "four ranks have groups of two sizes";

  std::string all;
  const std::int64_t ranks = world.size();
  for (const std::int64_t members : {2, 4}) {
    for (const char* name : {"all-reduce", "all-gather", "reduce-scatter", "send"}) {
      if (members > ranks || (members > 2 && std::string(name) == "send")) continue;
      for (std::int64_t bytes = 1024; bytes < 16 << 20; bytes *= 4) {
        all += line_of({{"kind", "collective"},
                        {"name", name},
                        {"transport", "ring"},
                        {"members", members},
                        {"bytes", bytes}},
                       ranks);
      }
    }
  }
  const std::string path = folder.write("kept", all);
  Measurements measurements(world, path, "test");

  measure_collectives(measurements, TransportKind::ring);
  MPI_Barrier(MPI_COMM_WORLD);

  const std::string made = content_of(path);
  EXPECT_EQ(collective_measurements(ranks), std::ranges::count(made, '\n'));
  ASSERT_TRUE(made.starts_with(all));
  EXPECT_EQ(std::ranges::count(made.substr(all.size()), '\n'), std::ranges::count(all, '\n') / 7);
}

// All products are kept already; the other kernels are made, each with what a fit asks of it.
TEST_F(KeptMeasurements, OfKernelsAreThoseThatAreCounted) {
  std::string all;
  for (const char* form : {"NN", "NT", "TN"}) {
    for (const int m : {32, 128, 384, 1024, 3072}) {
      for (const int k : {32, 128, 384, 1024, 3072}) {
        for (const int n : {32, 128, 384, 1024, 3072}) {
          all += line_of({{"kind", "product"}, {"form", form}, {"m", m}, {"k", k}, {"n", n}}, 1);
        }
      }
    }
  }
  all += line_of({{"kind", "crowd"}, {"name", "product"}}, 1);
  all += line_of({{"kind", "crowd"}, {"name", "map"}}, 1);
  const std::string path = folder_.write("kept", all);
  {
    Measurements measurements(world_, path, "test");
    measure_crowding(measurements);
    measure_kernels(measurements);
    measure_overlap(measurements, TransportKind::ring);  // of one rank there is none
  }
  const std::string text = content_of(path);
  ASSERT_TRUE(text.starts_with(all));
  EXPECT_EQ(std::ranges::count(text, '\n'), kernel_measurements() + crowding_measurements());

  std::map<std::string, std::vector<double>> sizes;  // what was asked of each, in turn
  std::istringstream lines(text.substr(all.size()));
  for (std::string line; std::getline(lines, line);) {
    const json made = json::parse(line), what = made.at("what");
    EXPECT_GT(made.at("seconds"), 0.0) << line;
    EXPECT_LE(made.at("low"), made.at("high")) << line;
    const std::string kind = what.at("kind");
    const char* const size = kind == "copy" ? "bytes" : kind == "operation" ? "elements" : "flops";
    sizes[kind + ' ' + what.value("name", "")].push_back(what.at(size));
  }
  const std::map<std::string, std::size_t> asked_of{
      {"fma", 1}, {"copy", 2}, {"operation", 3}, {"attention", 4}};
  int attentions = 0;
  for (const auto& [name, asked] : sizes) {
    const std::size_t times = asked_of.at(name.substr(0, name.find(' ')));
    EXPECT_EQ(asked.size(), times) << name;
    EXPECT_TRUE(std::ranges::is_sorted(asked)) << name;
    const bool of_one_number = asked.back() == 1.0;  // whatever the model's size
    EXPECT_EQ(std::set<double>(asked.begin(), asked.end()).size(), of_one_number ? 1U : times)
        << name;
    attentions += name.starts_with("attention ") ? 1 : 0;
  }
  EXPECT_EQ(attentions, 2) << "forward and backward";
}

using StepValuesOf = OneRank;

TEST_F(StepValuesOf, AnOperationHaveTheBytesOfItsOperandsAndResults) {
  StepOptions options;
  options.precision = Precision::bf16;
  const StepValues values({"tiny", 1, 32, 2, 8, 48}, 2, options);

  EXPECT_EQ(values.tokens(), 16);
  for (const Op& op : values.program().ops) {
    double bytes = 0.0;
    for (const std::vector<Id>& ids : {op.inputs, op.outputs}) {
      for (const Id id : ids) {
        const Tensor& tensor = values[id];
        bytes +=
            static_cast<double>(tensor.rows * tensor.cols * bytes_per_element(tensor.precision));
      }
    }
    ASSERT_DOUBLE_EQ(values.bytes(op), bytes);
  }
}

TEST_F(StepValuesOf, EveryOperationOfAStepLetItBeComputedAlone) {
  const StepValues values({"tiny", 2, 32, 2, 8, 48}, 2);
  TunedBackend backend;
  int computed = 0;
  for (const Op& op : values.program().ops) {
    if (!StepValues::is_kernel(op)) continue;
    EXPECT_NO_THROW(values.run(backend, op)) << name(op.kind);
    ++computed;
  }
  EXPECT_GT(computed, 50);
}

}  // namespace
}  // namespace fourfold::tests
