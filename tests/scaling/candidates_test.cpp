// What a question without an answer is told: each reason, what is counted, and what is offered
// instead, which does have an answer.
#include "scaling/find/candidates.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "platforms/device_memory.hpp"
#include "scaling/find/find_answer.hpp"
#include "scaling/find/nearby.hpp"
#include "scaling/jobs/launch.hpp"
#include "schedule/models/model_file.hpp"
#include "sim/question/replay_answer.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/golden.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/small_questions.hpp"

namespace fourfold::tests {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// "no room: ..." where the answer is no, "failed: ..." where there is none.
std::string said(const Question& question, const Platform& platform) {
  try {
    candidates(question, platform, ignore);
  } catch (const DoesNotFit& error) {
    return std::string("no room: ") + error.what();
  } catch (const FindingFailed& error) {
    return std::string("failed: ") + error.what();
  }
  return "accepted";
}

std::string said(const Question& question) {
  return said(question, read_platform(question.platform, question.scales, question.software));
}

TEST(Candidates, RefuseWhatTheMachineHasNotAndSayWhoseGridsFitNot) {
  Question question = question_on("fat-tree-2", 0);
  EXPECT_EQ(said(question), "failed: the number of devices must be at least 1");
  question.devices = 181;
  EXPECT_EQ(said(question), "failed: fat-tree-2 has 180 devices, 181 are too many");
  question.devices = 8;
  question.grid = ProcessGrid(3, 1, 1, 3);
  EXPECT_EQ(
      said(question),
      "failed: grid 3x1x1x3 has 9 devices, not 8; choose a grid whose extents multiply to the "
      "number of devices");
  question.devices = 24;
  question.grid = ProcessGrid(1, 1, 1, 24);
  question.global_batch = 8;
  EXPECT_THAT(said(question),
              AllOf(StartsWith("failed: "), HasSubstr("batch of 8 sequences does not divide")));

  question = question_on("fat-tree-2", 7);
  EXPECT_THAT(said(question), HasSubstr("would fit"));
  Question of_system = question;
  of_system.stages.clear();
  const Platform platform = read_platform(question.platform);
  ask_of_system(of_system, read_system("axonn-4d"), {{}, "campaign"}, platform);
  EXPECT_NE(nearby(of_system, platform), "");
  EXPECT_THAT(said(of_system), AllOf(HasSubstr(" of fat-tree-2 that axonn-4d looks at ("),
                                     Not(HasSubstr("would fit"))));
  question.model.heads = 6;
  question.model.hidden = 1020;
  EXPECT_THAT(said(question),
              StartsWith("no room: small fits no grid of 7 devices of fat-tree-2 ("));
  question.micro_batches = 1;
  EXPECT_THAT(said(question), HasSubstr(" of fat-tree-2 with 1 micro-batch ("));
  question.micro_batches = 5;
  EXPECT_THAT(said(question), HasSubstr(" of fat-tree-2 with 5 micro-batches ("));

  question = question_on("fat-tree-2", 1);
  question.model = {"large", 40, 12'288, 96, 2048, 50'000};
  EXPECT_THAT(said(question), HasSubstr("large fits no grid of 1 device of fat-tree-2 ("));
  question.global_batch = 1;
  EXPECT_THAT(said(question), HasSubstr("(1 combination tried, rejected 1 by memory)"));
  question.devices = 8;
  question.global_batch = 32;
  question.platform = "frontier";
  ask_for_grids_by(question, "sc24-model");
  EXPECT_THAT(said(question),
              HasSubstr("large fits no grid of 8 devices of frontier among the first 10 by "
                        "sc24-model"));
}

std::vector<std::int64_t> counts_of(const SearchResult& found) {
  std::vector<std::int64_t> counts;
  for (const Candidate& one : found.feasible) counts.push_back(one.micro_batches);
  std::ranges::sort(counts);
  return counts;
}

TEST(Candidates, HaveTheGridAndTheCountAskedForTheFastestFirst) {
  Question question = question_on("fat-tree-2", 8);
  const Platform platform = read_platform(question.platform);
  const SearchResult all = candidates(question, platform, ignore);
  question.micro_batches = 2;
  const SearchResult with_two = candidates(question, platform, ignore);
  ASSERT_FALSE(with_two.feasible.empty());
  EXPECT_EQ(std::ssize(with_two.feasible), std::ranges::count(counts_of(all), 2));
  EXPECT_EQ(with_two.tried, all.tried);
  question.grid = ProcessGrid(2, 1, 1, 2, 2);  // a pipeline: the more, the faster
  EXPECT_EQ(counts_of(candidates(question, platform, ignore)), (std::vector<std::int64_t>{2}));
  question.micro_batches.reset();
  const SearchResult on_grid = candidates(question, platform, ignore);
  EXPECT_EQ(counts_of(on_grid), (std::vector<std::int64_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(on_grid.tried, 5);
  for (const SearchResult& one : {all, on_grid}) {
    EXPECT_TRUE(std::ranges::is_sorted(
        one.feasible, {}, [](const Candidate& found) { return found.estimate.outcome.total; }));
  }
  for (const Candidate& one : on_grid.feasible) EXPECT_EQ(one.grid, *question.grid);
}

// Interleaved pipelines take counts that their stages divide; other counts are left out, and where
// no count is left the reason is the order's.
TEST(Candidates, OfAnOrderAreTheCountsThatItTakes) {
  Question question = question_on("fat-tree-2", 8);
  question.grid = ProcessGrid(1, 1, 1, 2, 4);
  question.global_batch = 24;
  question.options.order = PipelineOrder::interleaved;
  question.model.layers = 8;
  question.options.chunks = 2;
  const Platform platform = read_platform(question.platform);

  const SearchResult found = candidates(question, platform, ignore);

  EXPECT_EQ(counts_of(found), (std::vector<std::int64_t>{4, 12}));  // of the divisors of 12
  EXPECT_EQ(found.tried, 6);
  EXPECT_EQ(found.rejected, (std::map<Rejection, std::int64_t>{{Rejection::order, 4}}));
  question.micro_batches = 6;
  EXPECT_THAT(said(question), StartsWith("failed: "));
  EXPECT_THAT(said(question), HasSubstr("multiple of 4"));
  question.micro_batches.reset();
  question.global_batch = 6;
  EXPECT_THAT(said(question), StartsWith("failed: "));
  EXPECT_THAT(said(question), HasSubstr("multiple of 4"));
  // Some counts are the order's to refuse, for the others there is no room.
  question.global_batch = 24;
  Platform small = platform;
  small.processor.memory = {1e6};
  EXPECT_THAT(said(question, small),
              StartsWith("no room: small on grid data=2,pipe=4 needs at least "));
  EXPECT_THAT(said(question, small), EndsWith(" GB of 0.001 GB"));
}

// Where x cuts tokens, a count whose micro-batches it does not divide is left out alone.
TEST(Candidates, OfCutTokensAreTheCountsThatXDivides) {
  Question question = question_on("fat-tree-2", 16);
  question.grid = ProcessGrid(4, 1, 2, 2);
  question.global_batch = 64;
  question.options.sequence_parallel = true;
  question.options.phase = Phase::decode;
  for (const std::int64_t sequences : {64, 48, 16, 8, 4}) {
    question.global_batch = sequences;
    std::vector<std::int64_t> expected;
    std::int64_t tried = 0;
    for (std::int64_t count = 1; count <= sequences / 4; ++count) {
      if (sequences / 4 % count != 0) continue;
      ++tried;
      if (sequences / 4 / count % 4 == 0) expected.push_back(count);  // a token each
    }
    SCOPED_TRACE(sequences);
    if (expected.empty()) {
      EXPECT_THAT(said(question), StartsWith("failed: grid 4x1x2x2 does not fit small: sequence "));
      continue;
    }
    const SearchResult found = candidates(question, read_platform(question.platform), ignore);
    EXPECT_EQ(counts_of(found), expected);
    EXPECT_EQ(found.tried, tried);
  }
}

// A device holds what all micro-batches at once do not leave room for.
TEST(Candidates, OfAGridThatNeedsTooMuchAreCountedOut) {
  Question question = question_on("fat-tree-2", 8);
  question.grid = ProcessGrid(2, 1, 2, 2);
  Platform platform = read_platform(question.platform);
  const auto peak = [&](std::int64_t micro_batches) {
    const Point point = point_of(question, *question.grid, micro_batches);
    return estimate_step(point, platform).memory.peak.value;
  };
  ASSERT_GT(peak(1), peak(2));
  platform.processor.usable_memory = 0.9;  // a share says all about the reserve
  platform.processor.memory = {1.0};
  const double usable = memory_limit(platform, usual_memory_risk).value;
  platform.processor.memory = {0.5 * (peak(1) + peak(2)) / usable};

  const SearchResult found = candidates(question, platform, ignore);

  EXPECT_EQ(found.tried, 4);
  EXPECT_EQ(found.feasible.size(), 3U);
  EXPECT_EQ(found.rejected.at(Rejection::memory), 1);
  for (const double share : {0.5, 1e-12}) {
    const std::string needed = fmt::format("needs at least {:.1f} GB", peak(8) / 1e9);
    platform.processor.memory = {share * peak(8)};
    EXPECT_THAT(said(question, platform), HasSubstr(needed));
  }
}

TEST(Candidates, SayHowFarOffTheClosestIs) {
  Question question = question_on("fat-tree-2", 8);
  question.model = read_model("gpt-80b");
  EXPECT_THAT(said(question),
              EndsWith("(90 combinations tried, rejected 90 by memory): the closest, grid 2x4x1x1 "
                       "with 32 micro-batches, needs 175.0 GB per device of the usable 48.6 GB"));
}

// More risk, more candidates; each of them as likely to fit as was asked for.
TEST(Candidates, FitAtTheRiskThatIsTaken) {
  Question question = question_on("fat-tree-2", 8);
  Platform platform = read_platform(question.platform);
  std::vector<double> peaks;
  for (const Candidate& one : candidates(question, platform, ignore).feasible) {
    peaks.push_back(one.estimate.memory.peak.value);
  }
  std::ranges::sort(peaks);
  platform.processor.memory = {peaks[peaks.size() / 2] / 0.9};
  platform.processor.usable_memory = 0.9;
  std::size_t before = 0;
  for (const double risk : {0.02, 0.1, 0.5, 0.9, 0.98}) {
    question.memory_risk = risk;

    const std::vector<Candidate> found = candidates(question, platform, ignore).feasible;

    EXPECT_GE(found.size(), before) << risk;
    before = found.size();
    for (const Candidate& one : found) {
      EXPECT_GE(chance_to_fit(one.estimate.memory.peak, platform), 1.0 - risk - 1e-9);
    }
  }
  EXPECT_GT(before, 0U);
}

// As many sequences at once as are allowed, that many included.
TEST(Candidates, HaveAtMostSoManySequencesAtOnce) {
  Question question = question_on("fat-tree-2", 8);
  const Platform platform = read_platform(question.platform);
  const auto counts_at_once = [&] {
    std::multiset<std::int64_t> counts;
    for (const Candidate& one : candidates(question, platform, ignore).feasible) {
      counts.insert(question.global_batch / batch_unit(one.grid, one.micro_batches));
    }
    return counts;
  };
  const std::multiset<std::int64_t> all = counts_at_once();
  ASSERT_GT(*all.rbegin(), 2);
  for (std::int64_t most = 1; most <= *all.rbegin(); ++most) {
    question.most_at_once = most;
    EXPECT_EQ(counts_at_once(), std::multiset<std::int64_t>(all.begin(), all.upper_bound(most)))
        << most;
  }
}

// Each count and batch that is offered has an answer.
TEST(Nearby, WhatIsOfferedFits) {
  std::string text;
  for (std::int64_t number = 0; number < 20; ++number) {
    const Draw draw(number, 0);
    Question question = question_on(draw.of<const char*>("machine", {"fat-tree-2", "torus"}),
                                    draw.of<std::int64_t>("devices", {5, 7, 11, 13, 22, 26}));
    question.model.layers = draw.of<std::int64_t>("layers", {4, 6});
    question.model.sequence = draw.of<std::int64_t>("sequence", {512, 1000});
    question.global_batch = draw.of<std::int64_t>("batch", {1, 6, 20, 33});
    question.stages = draw.of<std::vector<std::int64_t>>("stages", {{1}, {1, 2}});
    if (draw.often("asked", 50))
      question.micro_batches = draw.of<std::int64_t>("counts", {1, 2, 4});
    const Platform platform = read_platform(question.platform);

    const std::string offered = nearby(question, platform);

    text += fmt::format("{}: {} devices, batch {}, {} layers: {}\n", number, question.devices,
                        question.global_batch, question.model.layers, offered);
    std::smatch match;
    const std::string counts = offered.substr(0, offered.find("devices would fit"));
    if (offered.find("devices would fit") != std::string::npos) {
      const std::regex whole("[0-9]+");
      for (std::sregex_iterator one(counts.begin(), counts.end(), whole), end; one != end; ++one) {
        Question other = question;
        other.devices = std::stoll(one->str());
        EXPECT_NE(other.devices, question.devices);
        EXPECT_EQ(said(other, platform), "accepted") << number << ": " << offered;
      }
    }
    if (std::regex_search(offered, match,
                          std::regex("([0-9]+) devices? with a batch of ([0-9]+) tokens "
                                     "\\(([0-9]+) sequences?\\)"))) {
      Question other = question;
      other.global_batch = std::stoll(match[3]);
      EXPECT_EQ(std::stoll(match[1]), question.devices);
      EXPECT_EQ(std::stoll(match[2]), other.global_batch * question.model.sequence);
      EXPECT_EQ(said(other, platform), "accepted") << number << ": " << offered;
    }
  }
  expect_golden("nearby.txt", text);
}

// The last line that a simulation wrote is why it failed; one that its limit has ended leaves its
// grid out.
TEST(FailedSimulations, SayTheirLastLine) {
  Point point;
  point.platform = "frontier";
  point.model.name = "small";
  point.grid = ProcessGrid(2, 1, 2, 1);
  const std::string start = "the simulation of small on frontier grid 2x1x2x1 failed: ";
  struct Case {
    const char* complaint;
    int status, signal;
    std::string why;
  };
  for (const Case& one : std::vector<Case>{
           {"first\nfourfold-replay: a reason\n", 1, 0, start + "fourfold-replay: a reason"},
           {"a reason\n\n\n", 1, 0, start + "a reason"},
           {"one line", 2, 0, start + "one line"},
           {"", 4, 0, start + "it ended with status 4 and said nothing"},
           {"\n\n", 9, 0, start + "it ended with status 9 and said nothing"},
           {"", 137, 0, start + "it ended with status 137 and said nothing"},
           {"", 137, 9, start + "it was killed by signal 9 (Killed)"},
           {"", over_cpu_limit, 0, "accepted"},
           {"", over_work_limit, 0, "accepted"}}) {
    EXPECT_THAT(refusal<FindingFailed>([&] {
                  const JobResult result{"", one.complaint, one.status, one.signal};
                  EXPECT_FALSE(answer_of(result, point).has_value());
                }),
                StartsWith(one.why));
  }
}

}  // namespace
}  // namespace fourfold::tests
