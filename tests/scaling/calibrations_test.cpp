// Files and tables of calibrations over drawn measurements of which no two are alike: what is
// written of them is read back, and follows by arithmetic.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "scaling/calibrate/machine_file.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/golden.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using nlohmann::json;

// 1 to 2, of two digits.
double drawn(const std::string& what) {
  return 1.0 + 0.01 * static_cast<double>(Draw(1, 0).below(what, 100));
}

MeasuredOperation measured(json what, std::int64_t ranks, double seconds) {
  MeasuredOperation one;
  what["ranks"] = ranks;
  one.what = what;
  const std::string words = what.dump();
  one.seconds = seconds * drawn(words);
  one.low = one.seconds * (1.0 - 0.01 * drawn("low of " + words));
  one.high = one.seconds * (1.0 + 0.01 * drawn("high of " + words));
  one.repetitions = 7 + Draw(1, 0).below("repetitions of " + words, 9);
  one.reference = 5e-4 * drawn("reference of " + words);
  one.date = fmt::format("2026-11-{:02d}", 10 + Draw(1, 0).below("day of " + words, 9));
  return one;
}

// Of a machine with so many cores.
std::vector<MeasuredOperation> measurements(std::int64_t cores) {
  std::vector<MeasuredOperation> all{
      measured({{"kind", "fma"}}, cores, 1.0 / 150e9),
      measured({{"kind", "copy"}, {"bytes", 100'000}}, cores, 1e-5),
      measured({{"kind", "copy"}, {"bytes", 900'000}}, cores, 1e-4),
      measured({{"kind", "copy"}, {"bytes", 50'000'000}}, cores, 1e-2)};
  for (const char* form : {"NN", "NT", "TN"}) {
    for (int m : {32, 64, 256}) {
      for (int k : {32, 128, 256}) {
        for (int n : {32, 256}) {
          all.push_back(
              measured({{"kind", "product"}, {"form", form}, {"m", m}, {"k", k}, {"n", n}}, cores,
                       2.0 * m * k * n / 50e9));
        }
      }
    }
  }
  for (const char* name : {"layer_norm", "add ", "update ", "loss_sum", "nobody's"}) {
    for (const auto& [size, elements] :
         {std::pair{"tiny", 1}, {"small", 1000}, {"large", 100'000}}) {
      all.push_back(
          measured({{"kind", "operation"}, {"name", name}, {"size", size}, {"elements", elements}},
                   cores, 1e-6 + 1e-9 * elements));
    }
  }
  for (const char* name : {"forward", "backward"}) {
    for (int sequence : {64, 256, 512}) {
      all.push_back(
          measured({{"kind", "attention"}, {"name", name}, {"sequence", sequence}, {"flops", 1e9}},
                   cores, 0.03));
    }
  }
  std::vector<std::int64_t> counts{cores, 2 * cores};
  if (cores > 1) counts.push_back(1);
  for (const std::int64_t ranks : counts) {
    for (const char* name : {"product", "map"}) {
      all.push_back(
          measured({{"kind", "crowd"}, {"name", name}}, ranks, ranks > cores ? 0.02 : 0.01));
    }
  }
  for (const std::int64_t ranks : {std::max<std::int64_t>(cores, 2), 2 * cores}) {
    if (ranks == 2 && cores == 1 && all.back().is("overlap")) continue;
    for (const char* name : {"product", "all-reduce", "both"}) {
      all.push_back(measured({{"kind", "overlap"}, {"name", name}}, ranks,
                             std::string(name) == "both" ? 0.016 : 0.01));
    }
  }
  for (std::int64_t members = 2; members <= 2 * cores; members *= 2) {
    for (const std::int64_t ranks : counts) {
      if (members > ranks) continue;
      for (const char* name : {"all-reduce", "all-gather", "reduce-scatter", "send"}) {
        for (int bytes : {1024, 4096, 1'048'576}) {
          all.push_back(measured({{"kind", "collective"},
                                  {"name", name},
                                  {"transport", cores == 1 ? "auto" : "ring"},
                                  {"members", members},
                                  {"bytes", bytes}},
                                 ranks, 5e-6 + bytes / 2e9));
        }
      }
    }
  }
  return all;
}

MachineFacts facts_of(std::int64_t cores) {
  return {"a processor", cores, 64e9, "mine.software.toml"};
}

Platform read_back(const std::vector<MeasuredOperation>& all, std::int64_t cores) {
  const TemporaryFolder folder;
  write_content(folder.file("mine.software.toml"), software_toml(all, facts_of(cores)));
  write_content(folder.file("mine.toml"), machine_toml(all, facts_of(cores)));
  return read_platform(folder.file("mine.toml"));
}

// What is written is a machine with as many devices as ranks and every product that was measured,
// and one that took twice as long has half the rates.
TEST(Calibrations, AreFilesThatAreReadAsWhatWasMeasured) {
  for (const std::int64_t cores : {1, 2, 4}) {
    SCOPED_TRACE(cores);
    std::vector<MeasuredOperation> all = measurements(cores);
    const Platform platform = read_back(all, cores);
    for (MeasuredOperation& one : all) {
      for (double* seconds : {&one.seconds, &one.low, &one.high}) *seconds *= 2.0;
    }
    const Platform slow = read_back(all, cores);
    const Processor &fast = platform.processor, &half = slow.processor;
    const auto is_half = [](double part, double whole) {
      EXPECT_NEAR(2.0 * part / whole, 1.0, 2e-3);
    };
    is_half(half.advertised_peak.value, fast.advertised_peak.value);
    is_half(half.empirical_peak.value, fast.empirical_peak.value);
    is_half(half.memory_bandwidth.value, fast.memory_bandwidth.value);
    is_half(fast.launch_overhead.value, half.launch_overhead.value);
    EXPECT_EQ(fast.memory.value, 64e9 / static_cast<double>(2 * cores));
    EXPECT_EQ(platform.nodes, 1);
    EXPECT_GE(platform.node.devices, cores);
    for (std::size_t form = 0; form < 3; ++form) {
      ASSERT_EQ(fast.products[form].rates.size(), 3u * 3u * 2u);
      for (std::size_t i = 0; i < fast.products[form].rates.size(); ++i) {
        is_half(half.products[form].rates[i].value, fast.products[form].rates[i].value);
      }
    }
    EXPECT_EQ(fast.attention.size(), 3u);
    for (std::size_t i = 0; i < fast.attention.size(); ++i) {
      is_half(half.attention[i].forward.value, fast.attention[i].forward.value);
      is_half(half.attention[i].backward.value, fast.attention[i].backward.value);
    }
    ASSERT_EQ(platform.library.measured.size(), slow.library.measured.size());
    EXPECT_GT(platform.library.measured.size(), cores == 1 ? 3u : 7u);
    for (const MeasuredCollectives& group : platform.library.measured) {
      EXPECT_TRUE(std::ranges::is_sorted(group.rows, {}, [](const auto& row) { return row.time; }));
    }
    for (const Fact& fact : platform.facts) EXPECT_FALSE(fact.source.empty()) << fact.key;
  }
}

TEST(Calibrations, DoNotDependOnTheOrderOfCollectives) {
  std::vector<MeasuredOperation> all = measurements(2);
  const std::string text = machine_toml(all, facts_of(2));
  const auto first =
      std::ranges::find_if(all, [](const auto& one) { return one.is("collective"); });
  std::reverse(first, all.end());
  const std::string other = machine_toml(all, facts_of(2));
  const std::string mark = "[library.measured]";
  EXPECT_EQ(text.substr(text.find(mark)), other.substr(other.find(mark)));
}

// Within a kind, members and ranks more bytes take no less; between them nothing is compared.
TEST(Calibrations, TakeNoCollectiveForFasterThanOneOfFewerBytes) {
  std::vector<MeasuredOperation> all = measurements(2);
  std::erase_if(all, [](const MeasuredOperation& one) { return one.is("collective"); });
  const auto add = [&](std::int64_t ranks, int bytes, double seconds) {
    MeasuredOperation one = measured({{"kind", "collective"},
                                      {"name", "all-reduce"},
                                      {"transport", "ring"},
                                      {"members", 2},
                                      {"bytes", bytes}},
                                     ranks, 1.0);
    one.seconds = seconds;
    all.push_back(one);
  };
  add(2, 1024, 30e-6);
  add(2, 4096, 20e-6);
  add(2, 8192, 50e-6);
  add(1, 1024, 10e-6);
  const std::string text = machine_toml(all, facts_of(2));
  for (const char* row :
       {"devices = 2, bytes = 1024, time_us = 30 ", "devices = 2, bytes = 4096, time_us = 30 ",
        "devices = 2, bytes = 8192, time_us = 50 ", "devices = 1, bytes = 1024, time_us = 10 "}) {
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

TEST(Calibrations, AreRefusedWithoutWhatTheyNeed) {
  std::string text;
  for (const char* kind :
       {"fma", "copy", "product", "operation", "attention", "crowd", "overlap", "collective"}) {
    std::vector<MeasuredOperation> all = measurements(2);
    std::erase_if(all, [&](const MeasuredOperation& one) { return one.is(kind); });
    const auto said = [&](const auto& make) {
      return refusal<std::runtime_error>([&] { make(all, facts_of(2)); });
    };
    text += fmt::format("{}: {} | {}\n", kind, said(machine_toml), said(software_toml));
  }
  EXPECT_EQ(text.find("terminate"), std::string::npos);
  expect_golden("calibrations_refused.txt", text);
}

TEST(Sources, SayWhenOnHowManyRanksAndHowOften) {
  const auto one = [](const char* date, std::int64_t ranks, std::int64_t times, double low) {
    MeasuredOperation result;
    result.what = {{"ranks", ranks}};
    result.date = date;
    result.repetitions = times;
    result.seconds = 2.0;
    result.low = low;
    result.high = 2.02;
    return result;
  };
  const std::vector<MeasuredOperation> some{
      one("2026-03-02", 4, 9, 1.9), one("2026-03-05", 1, 7, 1.8), one("2026-03-03", 4, 8, 1.7)};
  EXPECT_EQ(source_of(some),
            "fourfold calibrate, 2026-03-02 to 2026-03-05, on 1, 4 ranks, n = 7 and more, "
            "quartiles 11.0 % apart");
  EXPECT_EQ(source_of(some[1]),
            "fourfold calibrate, 2026-03-05, on 1 rank, n = 7, quartiles 11.0 % apart");
  EXPECT_THROW(source_of(std::vector<MeasuredOperation>{}), std::invalid_argument);
}

TEST(Speeds, AreThoseOfTheMedianReference) {
  std::vector<MeasuredOperation> all(4);
  const std::vector<double> references{1.0, 2.0, 4.0, 8.0};
  const std::vector<std::int64_t> ranks{2, 2, 2, 1};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].what = {{"ranks", ranks[i]}};
    all[i].reference = references[i];
    all[i].seconds = 3.0;
    all[i].low = 2.0;
    all[i].high = 5.0;
  }
  EXPECT_EQ(reference_seconds(all, 2), 2.0);
  EXPECT_EQ(reference_seconds(all, 1), 8.0);
  const std::string said = refusal<std::runtime_error>([&] { reference_seconds(all, 3); });
  EXPECT_EQ(said, "nothing was measured on 3 ranks yet");
  const std::vector<MeasuredOperation> even = at_one_speed(all, 2);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_DOUBLE_EQ(even[i].seconds, 3.0 * 2.0 / references[i]);
    EXPECT_DOUBLE_EQ(even[i].low, 2.0 * 2.0 / references[i]);
    EXPECT_DOUBLE_EQ(even[i].high, 5.0 * 2.0 / references[i]);
    EXPECT_EQ(even[i].reference, 2.0);
  }
}

}  // namespace
}  // namespace fourfold::tests
