// The small tools that everything stands on, in numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "schedule/models/model.hpp"
#include "schedule/models/model_flops.hpp"
#include "schedule/models/parameter_count.hpp"
#include "schedule/program/channel.hpp"
#include "support/chrome_trace.hpp"
#include "support/divisors.hpp"
#include "support/field.hpp"
#include "support/foreign_load.hpp"
#include "support/nearest_name.hpp"
#include "support/processor_name.hpp"
#include "support/prose.hpp"
#include "support/quantity.hpp"
#include "support/random.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;

TEST(Divisors, AreAllOfThemInOrder) {
  for (std::int64_t number = 1; number <= 400; ++number) {
    std::vector<std::int64_t> expected;
    for (std::int64_t d = 1; d <= number; ++d) {
      if (number % d == 0) expected.push_back(d);
    }
    EXPECT_EQ(divisors(number), expected);
  }
}

TEST(ProcessorName, SaysVirtualByItsFlag) {
  const std::string before = "processor\t: 0\nmodel name\t: any hypervisor\nflags\t\t: fpu sse ";
  const std::string after = "\nbugs\t\t: hypervisor\nvmx flags\t: hypervisor\n";

  EXPECT_TRUE(says_virtual(before + "hypervisor lahf_lm" + after));
  EXPECT_TRUE(says_virtual(before + "hypervisor" + after));
  EXPECT_FALSE(says_virtual(before + "hypervisors lahf_lm" + after));
  EXPECT_FALSE(says_virtual("processor\t: 0\nFeatures\t: fp asimd\n"));
  EXPECT_FALSE(says_virtual(""));
}

// The first outputs of SplitMix64 with seed 1234567, as published with its reference code.
TEST(Random, IsSplitMix64) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
  EXPECT_EQ(scattered(1234567), 6457827717110365317U);
  EXPECT_EQ(scattered(1234567 + golden), 3203168211198807973U);
  EXPECT_EQ(scattered(1234567 + 2 * golden), 9817491932198370423U);
  EXPECT_NE(random_at(1, 2, 3), random_at(1, 3, 2));
  EXPECT_NE(random_at(1, 2, 3), random_at(2, 1, 3));
}

TEST(NearestName, CountsSwapsAsOneMistake) {
  EXPECT_EQ(nearest_name("forntier", {"polaris", "frontier"}), "frontier");
  EXPECT_EQ(nearest_name("ab", {"ba", "ac"}), "ba");  // one swap, one replacement: the first
  EXPECT_EQ(nearest_name("abc", {"acb", "abcd"}), "acb");
  EXPECT_EQ(nearest_name("x", {}), "");
  EXPECT_EQ(did_you_mean("abcd", {"abxy"}), "; did you mean \"abxy\"?");  // half of it stays
  EXPECT_EQ(did_you_mean("abcd", {"axyz"}), "");
  EXPECT_EQ(one_of_these("abcd", {"abxy", "z"}), "; did you mean \"abxy\"? It is one of abxy, z");
  EXPECT_EQ(one_of_these("abcd", {"axyz", "z"}), "; it is one of axyz, z");
  EXPECT_EQ(did_you_mean("a", {"b"}), "; did you mean \"b\"?");
}

TEST(Quantities, KeepTheirUnits) {
  const Bytes bytes{6e9};
  const Seconds time = bytes / BytesPerSecond{2e9};

  EXPECT_EQ(time, Seconds{3.0});
  EXPECT_EQ((bytes / time), BytesPerSecond{2e9});
  EXPECT_EQ((BytesPerSecond{2e9} * time), bytes);
  EXPECT_EQ((Flops{8e12} / FlopsPerSecond{4e12}), Seconds{2.0});
  EXPECT_EQ((Flops{8e12} / Seconds{4.0}), FlopsPerSecond{2e12});
  EXPECT_EQ((FlopsPerSecond{2.0} * Seconds{4.0}), Flops{8.0});
  Seconds sum{1.0};
  sum += {2.0};
  sum -= {0.5};
  sum *= 4.0;
  EXPECT_EQ(sum, Seconds{10.0});
  EXPECT_EQ((sum - Seconds{4.0}) / Seconds{3.0}, 2.0);
  EXPECT_EQ(sum / 4.0, Seconds{2.5});
}

std::string refusal(const std::function<void()>& call) {
  return tests::refusal<std::runtime_error>(call);
}

TEST(ChromeTrace, WritesMicrosecondsOfOneProcessAThread) {
  ChromeTrace trace;
  trace.name_process(3, "rank 3", {"compute", "x"});
  trace.add(3, {"a", "kernel", 1, 0.5, 0.75, place_arguments("forward", 2, 1)});

  const nlohmann::json text = nlohmann::json::parse(trace.text({{"title", "t"}}));

  const nlohmann::json& events = text.at("traceEvents");
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(events[0].at("args").at("name"), "rank 3");
  EXPECT_EQ(events[3].at("args").at("name"), "x");
  EXPECT_EQ(events[3].at("tid"), 1);
  EXPECT_EQ(events[4].at("args").at("sort_index"), 1);
  EXPECT_EQ(events[5].at("pid"), 3);
  EXPECT_EQ(events[5].at("tid"), 1);
  EXPECT_EQ(events[5].at("ts"), 500'000.0);
  EXPECT_EQ(events[5].at("dur"), 250'000.0);
  EXPECT_EQ(events[5].at("args"),
            (nlohmann::json{{"section", "forward"}, {"layer", 2}, {"micro_batch", 1}}));
  EXPECT_EQ(place_arguments("loss", -1, 0), "\"section\":\"loss\",\"micro_batch\":0");
  EXPECT_EQ(in_words("z_gather"), "z gather");
}

TEST(ChromeTrace, WritesCountersAtTheirTimes) {
  ChromeTrace trace;
  trace.name_process(0, "p", {"a"});
  trace.count(0, "memory", 0.25, {{"weights", 3.0}, {"rest", 4.5}});

  const nlohmann::json event = nlohmann::json::parse(trace.text({})).at("traceEvents").back();

  EXPECT_EQ(event.at("ph"), "C");
  EXPECT_EQ(event.at("ts"), 250'000.0);
  EXPECT_EQ(event.at("args"), (nlohmann::json{{"weights", 3.0}, {"rest", 4.5}}));
}

TEST(ChromeTrace, ReplacesATraceAndNothingElse) {
  const TemporaryFolder folder;
  const std::string path = folder.file("trace.json");
  EXPECT_EQ(refusal([&] { refuse_no_trace(path); }), "accepted");
  for (const char* other :
       {"x", "{\"displayTimeUnit\":\"ns\"}", "a text that somebody has written"}) {
    std::ofstream(path) << other;
    EXPECT_EQ(refusal([&] { refuse_no_trace(path); }),
              path + " is there already and is no trace; give another --trace");
  }
  std::ofstream(path) << ChromeTrace().text({});
  EXPECT_EQ(refusal([&] { refuse_no_trace(path); }), "accepted");
}

// However events lie in time, no two of a thread cross when start and duration are added as they
// stand, and those that did not cross stand where they were.
TEST(ChromeTrace, HasNoTwoEventsThatCross) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    ChromeTrace trace;
    trace.name_process(0, "p", {"a", "b"});
    std::vector<double> ends;
    for (std::uint64_t i = 0; i < 40; ++i) {
      const auto at = [&](std::uint64_t column) {
        return 1e-5 * static_cast<double>(random_at(seed, i, column) % 997) / 3.0;
      };
      const double start = at(0), end = start + at(1);
      ends.push_back(end);
      trace.add(0, {"e", "kernel", static_cast<int>(i % 2), start, end, ""});
    }
    std::map<int, std::vector<std::pair<double, double>>> threads;
    for (const nlohmann::json& event : nlohmann::json::parse(trace.text({})).at("traceEvents")) {
      if (event.at("ph") != "X") continue;
      const double start = event.at("ts");
      threads[event.at("tid")].emplace_back(start, start + event.at("dur").get<double>());
    }
    for (const auto& [thread, events] : threads) {
      for (std::size_t i = 0; i < events.size(); ++i) {
        const double end_us = 1e6 * ends[2 * i + static_cast<std::size_t>(thread)];
        EXPECT_NEAR(events[i].second, end_us, 0.0626);
        for (std::size_t j = 0; j < events.size(); ++j) {
          const auto [start, end] = events[i];
          const auto [other, until] = events[j];
          EXPECT_FALSE(start < other && other < end && end < until) << seed;
        }
      }
    }
  }
}

TEST(Prose, BreaksAtAHundred) {
  const std::string words(99, 'a');
  EXPECT_EQ(wrapped(words + " b"), words + "\nb");
  EXPECT_EQ(wrapped(std::string(98, 'a') + " b"), std::string(98, 'a') + " b");
}

// Narayanan et al. (SC21): their GPT-3 of 96 layers of 12,288 has 174.6 billion parameters.
TEST(Model, FormulasArePublishedOnes) {
  const Model gpt3{"gpt-3", 96, 12'288, 96, 2048, 51'200};

  EXPECT_NEAR(parameter_count(gpt3), 174.6e9, 0.05e9);
  const double l = 96, h = 12'288, s = 2048, v = 51'200, b = 1536;
  EXPECT_NEAR(model_flops(gpt3, 1536, Recompute::full).value,
              96 * b * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h)), 1e9);
  EXPECT_NEAR(model_flops(gpt3, 1536, Recompute::none).value,
              72 * b * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h)), 1e9);
}

TEST(Channels, BetweenStagesAlternateAndJoinTheEnds) {
  const ProcessGrid grid(2, 1, 1, 1, 4);
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    const std::vector<std::int64_t> pair = group(forward_from(stage, 4), grid, 2 * stage);
    ASSERT_EQ(pair.size(), 2U) << stage;
    EXPECT_EQ(pair[0], 2 * stage);
    EXPECT_EQ(pair[1], 2 * ((stage + 1) % 4));
  }
  for (std::int64_t stage = 1; stage < 4; ++stage) {
    EXPECT_THAT(group(backward_from(stage), grid, 2 * stage + 1),
                ElementsAre(2 * stage + 1, 2 * stage - 1));
  }
  const Channel ends{Axis::pipe, "ends", Group::ends};
  EXPECT_THAT(group(ends, grid, 7), ElementsAre(1, 7));
  EXPECT_TRUE(group(ends, grid, 3).empty());
  EXPECT_EQ(members(ends, grid), 2);
  EXPECT_EQ(members(Channel{Axis::x, ""}, grid), 2);
  EXPECT_EQ(members(Channel{Axis::data, ""}, grid), 1);
}

TEST(ProcessGrid, RanksAndCoordinatesAreInverse) {
  const ProcessGrid grid(2, 3, 1, 4, 5);
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    EXPECT_EQ(grid.rank(grid.coordinates(rank)), rank);
    for (Axis axis : all_axes) {
      const std::vector<std::int64_t> line = grid.line(rank, axis);
      ASSERT_EQ(static_cast<std::int64_t>(line.size()), grid.extent(axis));
      EXPECT_EQ(line[static_cast<std::size_t>(grid.coordinate(rank, axis))], rank);
      for (std::int64_t i = 0; i < grid.extent(axis); ++i) {
        const std::int64_t other = line[static_cast<std::size_t>(i)];
        EXPECT_EQ(grid.coordinate(other, axis), i);
        EXPECT_EQ(other - rank, (i - grid.coordinate(rank, axis)) * grid.stride(axis));
      }
    }
  }
  for (const char* text : {"2x3x4x5", "x=2,y=3,z=4,data=5,pipe=6", "data=64,pipe=2"}) {
    EXPECT_EQ(ProcessGrid::parse(ProcessGrid::parse(text).str()), ProcessGrid::parse(text)) << text;
  }
  EXPECT_EQ(ProcessGrid::parse("tp=2,fsdp=3,dp=4,pp=5"), ProcessGrid(2, 1, 3, 4, 5));
  EXPECT_EQ(ProcessGrid(2, 3, 4, 5).str(), "2x3x4x5");
  for (const char* text : {"", "2x3x4", "2x3x4x5x6", "x=0", "x=2,x=3", "w=2", "x", "2x3x4x5 "}) {
    EXPECT_THROW(ProcessGrid::parse(text), std::invalid_argument) << text;
  }
}

// What the kernel does for it included: most of a copy out of /dev/zero.
TEST(ProcessorSeconds, AreThoseOfThisProcessInItsOwnCodeAndInTheKernel) {
  const double before = own_processor_seconds();
  const std::clock_t clock_before = std::clock();
  std::vector<char> bytes(1 << 20);
  std::ifstream zeros("/dev/zero", std::ios::binary);
  std::clock_t spent = 0;
  while ((spent = std::clock() - clock_before) < CLOCKS_PER_SEC / 5) {
    zeros.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  const double seconds = static_cast<double>(spent) / CLOCKS_PER_SEC;
  EXPECT_NEAR(own_processor_seconds() - before, seconds, 0.1 * seconds);
}

// Workers of ours are no load of others'.
TEST(ProcessorSeconds, AreThoseOfChildrenThatEndedToo) {
  const double before = own_processor_seconds();
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    while (std::clock() < CLOCKS_PER_SEC / 5) {
    }
    _exit(0);
  }
  const std::clock_t own = std::clock();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);

  const double here = static_cast<double>(std::clock() - own) / CLOCKS_PER_SEC;
  EXPECT_GT(own_processor_seconds() - before - here, 0.15);
}

TEST(ChromeTrace, SaysLayerAndMicroBatchFromTheFirstOn) {
  EXPECT_EQ(place_arguments("block", 0, 0), R"("section":"block","layer":0,"micro_batch":0)");
  EXPECT_EQ(place_arguments("block", 7, -1), R"("section":"block","layer":7)");
  EXPECT_EQ(place_arguments("update", -1, -1), R"("section":"update")");
}

}  // namespace
}  // namespace fourfold::tests
