// The small tools that everything stands on: numbers, traces, lines of prose, clocks and names that
// are nearly right.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "schedule/program/process_grid.hpp"
#include "support/chrome_trace.hpp"
#include "support/clock_text.hpp"
#include "support/divisors.hpp"
#include "support/foreign_load.hpp"
#include "support/nearest_name.hpp"
#include "support/processor_name.hpp"
#include "support/prose.hpp"
#include "support/quantity.hpp"
#include "support/random.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

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
  EXPECT_EQ(place_arguments("loss", -1, 0), R"("section":"loss","micro_batch":0)");
  EXPECT_EQ(place_arguments("block", 0, 0), R"("section":"block","layer":0,"micro_batch":0)");
  EXPECT_EQ(place_arguments("block", 7, -1), R"("section":"block","layer":7)");
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

// Whether the second begins in the first and outlasts it.
bool cross(const std::pair<double, double>& one, const std::pair<double, double>& other) {
  return one.first < other.first && other.first < one.second && one.second < other.second;
}

// However events lie in time, no two of a thread cross when start and duration are added as they
// stand, and those that did not cross stand where they were.
TEST(ChromeTrace, HasNoTwoEventsThatCross) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    ChromeTrace trace;
    trace.name_process(0, "p", {"a", "b"});
    std::vector<std::pair<double, double>> added;
    const std::uint64_t moments = seed % 2 == 0 ? 997 : 17;  // of seventeen, many are the same
    for (std::uint64_t i = 0; i < 40; ++i) {
      const auto at = [&](std::uint64_t column) {
        return 1e-5 * static_cast<double>(random_at(seed, i, column) % moments) / 3.0;
      };
      const double start = at(0), end = start + at(1);
      added.emplace_back(1e6 * start, 1e6 * end);
      trace.add(0, {"e", "kernel", static_cast<int>(i % 2), start, end, ""});
    }
    std::map<int, std::vector<std::pair<double, double>>> threads;
    const nlohmann::json parsed = nlohmann::json::parse(trace.text({}));
    for (const nlohmann::json& event : parsed.at("traceEvents")) {
      if (event.at("ph") != "X") continue;
      const double start = event.at("ts");
      threads[event.at("tid")].emplace_back(start, start + event.at("dur").get<double>());
    }
    for (const auto& [thread, events] : threads) {
      const auto was = [&, own = static_cast<std::size_t>(thread)](std::size_t event) {
        return added[2 * event + own];
      };
      for (std::size_t i = 0; i < events.size(); ++i) {
        bool crossed = false;
        for (std::size_t j = 0; j < events.size(); ++j) {
          EXPECT_FALSE(cross(events[i], events[j])) << seed;
          crossed = crossed || cross(was(i), was(j)) || cross(was(j), was(i));
        }
        EXPECT_NEAR(events[i].second, was(i).second, 0.0626);
        if (crossed) continue;
        EXPECT_NEAR(events[i].first, was(i).first, 0.0626) << seed;
      }
    }
  }
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

// Words of 1 to 9 letters; some lines end in the middle.
std::string drawn_text(std::uint64_t number) {
  std::string text;
  for (std::uint64_t word = 0; word < 1 + random_at(1, number, 0) % 25; ++word) {
    if (word > 0) text += random_at(2, number, word) % 9 == 0 ? '\n' : ' ';
    text += std::string(1 + random_at(3, number, word) % 9, static_cast<char>('a' + word % 26));
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Word after word, to the next line where one does not fit; later lines begin `indent` blanks in.
std::vector<std::string> broken(const std::string& text, std::size_t indent, std::size_t width) {
  std::vector<std::string> lines;
  for (const std::string& line : lines_of(text)) {
    std::istringstream words(line);
    std::string open;
    bool fresh = true;
    for (std::string word; words >> word;) {
      if (!fresh && open.size() + 1 + word.size() > width) {
        lines.push_back(open);
        open = std::string(indent, ' ') + word;
      } else {
        open += (fresh ? "" : " ") + word;
      }
      fresh = false;
    }
    lines.push_back(open);
  }
  return lines;
}

TEST(Prose, IsBrokenWhereTheNextWordDoesNotFit) {
  for (std::uint64_t number = 0; number < 200; ++number) {
    const std::string text = drawn_text(number);
    for (std::size_t width = 1; width <= 24; ++width) {
      ASSERT_EQ(lines_of(wrapped(text, width)), broken(text, 0, width)) << text << " at " << width;
    }
    EXPECT_EQ(wrapped(text, text.size()), text);
  }
  EXPECT_EQ(wrapped("", 4), "");
  EXPECT_EQ(wrapped("a\n", 5), "a\n");
  const std::string most(98, 'a');  // and a blank and a letter are a hundred
  EXPECT_EQ(wrapped(most + " b"), most + " b");
  EXPECT_EQ(wrapped(most + "a b"), most + "a\nb");
}

// Words are shorter than what a line below leaves for them.
TEST(Prose, HangsWhereTheNextWordDoesNotFit) {
  for (std::uint64_t number = 0; number < 200; ++number) {
    const std::string text = "label: " + drawn_text(number);
    for (std::size_t indent : {0, 3, 7}) {
      for (std::size_t width = 17; width <= 34; ++width) {
        ASSERT_EQ(lines_of(hanging(text, indent, width)), broken(text, indent, width))
            << text << ", " << indent << " in, at " << width;
      }
    }
  }
}

TEST(Prose, HangsNoWordThatIsWiderThanTheLine) {
  EXPECT_EQ(hanging("label: wwwwwwwwwwww end", 2, 10), "label:\n  wwwwwwwwwwww end\n");
  EXPECT_EQ(hanging("abc wwwwwwwwwwww", 3, 10), "abc wwwwwwwwwwww\n") << "it would not fit below";
  EXPECT_EQ(hanging("", 2, 10), "");
  EXPECT_EQ(hanging("a\n\nb", 2, 10), "a\n\nb\n");
  EXPECT_EQ(hanging("exactly 10", 2, 10), "exactly 10\n");
  EXPECT_EQ(hanging("exactly 11.", 2, 10), "exactly\n  11.\n");
}

TEST(Prose, CountsRegularNouns) {
  EXPECT_EQ(counted(1, "grid"), "1 grid");
  EXPECT_EQ(counted(0, "grid"), "0 grids");
  EXPECT_EQ(counted(2, "micro-batch"), "2 micro-batches");
  EXPECT_EQ(counted(1, "micro-batch"), "1 micro-batch");
  EXPECT_EQ(counted(3, "graph"), "3 graphs");
  EXPECT_EQ(counted(21, "step"), "21 steps");
  EXPECT_EQ(counted(-1, "step"), "-1 steps");
}

TEST(Clock, ShowsHoursWhereThereAreAny) {
  for (std::int64_t hours : {0, 1, 9, 10, 27, 100}) {
    for (std::int64_t minutes : {0, 1, 9, 10, 59}) {
      for (std::int64_t seconds : {0, 7, 10, 59}) {
        const auto two = [](std::int64_t n) {
          return std::string(n < 10 ? "0" : "") + std::to_string(n);
        };
        const std::string expected =
            hours == 0 ? std::to_string(minutes) + ":" + two(seconds)
                       : std::to_string(hours) + ":" + two(minutes) + ":" + two(seconds);
        const auto whole = static_cast<double>(hours * 3600 + minutes * 60 + seconds);
        EXPECT_EQ(clock_text(whole), expected);
        EXPECT_EQ(clock_text(whole + 0.49), expected);
        EXPECT_EQ(clock_text(std::max(0.0, whole - 0.49)), expected);
      }
    }
  }
  EXPECT_EQ(clock_text(59.5), "1:00");
  EXPECT_EQ(clock_text(3599.5), "1:00:00");
  EXPECT_EQ(clock_text(-1.0), "?");
  EXPECT_EQ(clock_text(-0.1), "?");
}

// Letters left out, added, changed or swapped, by trying them all.
std::size_t mistakes(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a.size() + b.size();
  const std::string shorter_a = a.substr(1), shorter_b = b.substr(1);
  std::size_t least = mistakes(shorter_a, shorter_b) + (a[0] == b[0] ? 0 : 1);
  least = std::min({least, mistakes(shorter_a, b) + 1, mistakes(a, shorter_b) + 1});
  if (a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0]) {
    least = std::min(least, mistakes(a.substr(2), b.substr(2)) + 1);
  }
  return least;
}

TEST(NearestName, HasTheFewestMistakes) {
  const auto drawn_word = [](std::uint64_t number, std::uint64_t which) {
    std::string word;
    for (std::uint64_t i = 0; i < 1 + random_at(4, number, which) % 5; ++i) {
      word += static_cast<char>('a' + random_at(5, number, 10 * which + i) % 3);
    }
    return word;
  };
  for (std::uint64_t number = 0; number < 120; ++number) {
    const std::string typed = drawn_word(number, 0);
    std::vector<std::string> known;
    for (std::uint64_t i = 1; i <= 4; ++i) known.push_back(drawn_word(number, i));
    std::string nearest = known.front();
    for (const std::string& word : known) {
      if (mistakes(typed, word) < mistakes(typed, nearest)) nearest = word;
    }
    const bool alike = mistakes(typed, nearest) <= std::max<std::size_t>(1, typed.size() / 2);

    EXPECT_EQ(nearest_name(typed, known), nearest) << typed;
    EXPECT_EQ(did_you_mean(typed, known), alike ? "; did you mean \"" + nearest + "\"?" : "")
        << typed;
  }
  EXPECT_EQ(nearest_name("x", {}), "");
  EXPECT_EQ(one_of_these("abcd", {"abxy", "z"}), "; did you mean \"abxy\"? It is one of abxy, z");
  EXPECT_EQ(one_of_these("abcd", {"axyz", "z"}), "; it is one of axyz, z");
}

}  // namespace
}  // namespace fourfold::tests
