// fourfold-replay as people start it: every flag and every part of a point does what the library
// does, and what is refused is refused with a sentence and its status.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/conditions/conditions.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/explain/ideal.hpp"
#include "sim/question/provenance.hpp"
#include "sim/question/replay_answer.hpp"
#include "sim/replay/listing.hpp"
#include "sim/replay/replay.hpp"
#include "tests/paths.hpp"
#include "tests/points.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Point point_on(const std::string& platform) {
  return made_up_point(platform, {"tiny", 12, 1024, 8, 256, 4096}, ProcessGrid(2, 1, 2, 2), 32,
                       with_micro_batches(4));
}

struct Said {
  int status = -1;
  std::string text;
};

Said run(const Point& point, const std::string& flags) {
  const TemporaryFolder folder;
  const std::string path = folder.file("point.json");
  std::ofstream(path) << to_json(point);
  const std::string command = executable_path("fourfold-replay") + " " + flags + " < " + path;
  FILE* pipe = popen(command.c_str(), "r");
  Said said;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) said.text += static_cast<char>(c);
  said.status = WEXITSTATUS(pclose(pipe));
  return said;
}

ReplayAnswer answer(const Point& point, const std::string& flags) {
  const Said said = run(point, flags);
  EXPECT_EQ(said.status, 0) << flags;
  return replay_answer_from_json(said.text);
}

Replay own(const Point& point, ReplayOptions options, IdealPart ideal = IdealPart::none) {
  const Platform platform = read_platform(point.platform, point.scales, point.software);
  options.mapping = mapping_of(point, platform);
  options.compute_factors = compute_factors(point, options.mapping);
  options.jitter = jitter_of(point.what_ifs);
  options.faults = {point.what_ifs.degrade, point.what_ifs.fail};
  return replay_step(lower(point, platform, ideal), point.grid, platform, options);
}

// SimGrid's own clock runs on from one simulation of a process to the next, and rounds.
void expect_near(const ReplayAnswer& told, const Replay& known, const std::string& what) {
  EXPECT_NEAR(told.outcome.total.value, known.outcome.total.value, 1e-9) << what;
  EXPECT_EQ(told.outcome.compute, known.outcome.compute) << what;
  EXPECT_EQ(told.collectives, known.collectives) << what;
  EXPECT_EQ(told.work, 0) << what;
}

void expect_same(const ReplayAnswer& told, const Replay& known, const std::string& what) {
  EXPECT_EQ(told.outcome.total, known.outcome.total) << what;
  EXPECT_EQ(told.outcome.compute, known.outcome.compute) << what;
  EXPECT_EQ(told.outcome.exposed, known.outcome.exposed) << what;
  EXPECT_EQ(told.outcome.busy, known.outcome.busy) << what;
  EXPECT_EQ(told.extrapolated, known.extrapolated) << what;
  EXPECT_EQ(told.extrapolation_check, known.disagreement) << what;
  EXPECT_EQ(told.collectives, known.collectives) << what;
  EXPECT_EQ(told.work, known.work) << what;
  EXPECT_EQ(told.simgrid, build().simgrid_version) << what;
  EXPECT_GT(told.peak_rss_MiB, 1.0) << what;
  EXPECT_LT(told.peak_rss_MiB, 10'000.0) << what;
  EXPECT_EQ(told.detail.has_value(), known.detail.has_value()) << what;
  if (!told.detail || !known.detail) return;
  EXPECT_EQ(json_of(*told.detail, told.outcome.channels),
            json_of(*known.detail, known.outcome.channels))
      << what;
}

TEST(Executable, DoesWhatEachFlagSays) {
  const Point point = point_on("crossbar-shared");
  const auto with = [&](const std::function<void(ReplayOptions&)>& change) {
    ReplayOptions options;
    change(options);
    return own(point, options);
  };
  const Replay extended = with([](ReplayOptions&) {});
  const Replay full = with([](ReplayOptions& all) { all.extent = ReplayExtent::full; });
  ASSERT_TRUE(extended.extrapolated);
  ASSERT_FALSE(full.extrapolated);

  expect_same(answer(point, ""), extended, "no flag");
  expect_same(answer(point, "--fidelity flow"), extended, "flow");
  expect_same(answer(point, "--fidelity full"), full, "full");
  expect_same(answer(point, "--full"), full, "--full");
  expect_same(answer(point, "--explain --full"), with([](ReplayOptions& all) {
                all.extent = ReplayExtent::full;
                all.detail = DetailWanted::explanation;
              }),
              "explain");
  expect_same(answer(point, "--timeline"),
              with([](ReplayOptions& all) { all.detail = DetailWanted::timeline; }), "timeline");
  expect_near(answer(point, "--fidelity s4u"),
              with([](ReplayOptions& all) { all.carrier = Carrier::stock_edges; }), "s4u");
  expect_near(answer(point, "--fidelity s4u-step"),
              with([](ReplayOptions& all) { all.carrier = Carrier::stock_steps; }), "s4u-step");
  for (IdealPart part : all_ideal_parts) {
    expect_same(answer(point, fmt::format("--ideal {}", name(part))), own(point, {}, part),
                name(part));
  }
}

TEST(Executable, TakesEveryPartOfAPoint) {
  using Change = std::function<void(Point&)>;
  const std::vector<std::pair<const char*, Change>> changes{
      {"scales",
       [](Point& one) {
         one.scales = {{"processor.memory_bandwidth_GBps", 0.5}};
       }},
      {"software", [](Point& one) { one.software = "pytorch-fsdp"; }},
      {"placement", [](Point& one) { one.what_ifs.placement.by = Placing::spread; }},
      {"jitter", [](Point& one) { one.what_ifs.jitter_percent = 3.0; }},
      {"slow devices",
       [](Point& one) {
         one.what_ifs.slow_devices = {1, {}, 0.5, 0.0, {}};
       }},
      {"degraded",
       [](Point& one) {
         one.what_ifs.degrade = {{"nic:0.0", 0.1}};
       }},
      {"failed",
       [](Point& one) {
         one.what_ifs.fail = {{"nic:0.0", 1}};
       }},
      {"collective",
       [](Point& one) { one.what_ifs.collective = collective_tuning("all-reduce:tree"); }},
      {"rank order", [](Point& one) { one.options.rank_order = RankOrder::parse("data,x"); }}};
  for (const auto& [what, change] : changes) {
    Point point = point_on("frontier");
    point.grid = ProcessGrid(2, 1, 2, 8);
    point.global_batch = 128;
    change(point);
    const Said said = run(point, "2>&1");
    ASSERT_EQ(said.status, 0) << what << ": " << said.text;
    expect_same(replay_answer_from_json(said.text), own(point, {}), what);
  }
}

TEST(Executable, StopsBeyondItsWorkLimitWithItsStatus) {
  const Point point = point_on("frontier");
  const std::int64_t work = own(point, {}).work;

  EXPECT_EQ(run(point, fmt::format("--work-limit {}", work)).status, 0);
  const Said stopped = run(point, fmt::format("--work-limit {} 2>&1", work - 1));

  EXPECT_EQ(stopped.status, over_work_limit);
  EXPECT_EQ(stopped.text,
            "fourfold-replay: The simulation takes more work than --work-limit allows: raise "
            "it.\n");
}

TEST(Executable, ListsWhatTheLibraryLists) {
  Point point = point_on("crossbar");
  const Platform crossbar = read_platform("crossbar");
  EXPECT_EQ(run(point, "--listing").text,
            listing(lower(point, crossbar), point.grid, crossbar, {}));
  point.what_ifs.slow_devices = {1, {}, 0.5, 0.0, {}};
  const std::vector<double> factors = compute_factors(point, mapping_of(point, crossbar));

  const std::string slow = run(point, "--listing").text;

  EXPECT_EQ(slow, listing(lower(point, crossbar), point.grid, crossbar, factors));
  EXPECT_THAT(slow, HasSubstr("pace "));
}

TEST(Executable, RefusesListingsOfWhatTheWitnessDoesNotKnow) {
  const auto said = [](const std::function<void(Point&)>& change) {
    Point point = point_on("frontier");
    change(point);
    const Said said = run(point, "--listing 2>&1");
    EXPECT_EQ(said.status, 2);
    return said.text;
  };
  const std::string uneven =
      "fourfold-replay: A listing is of a packed job on links as they should be: leave out "
      "placement, jitter and faulty links.\n";

  EXPECT_EQ(said([](Point& one) { one.what_ifs.placement.by = Placing::spread; }), uneven);
  EXPECT_EQ(said([](Point& one) { one.what_ifs.jitter_percent = 1.0; }), uneven);
  EXPECT_EQ(said([](Point& one) { one.what_ifs.degrade = {{"nic:0.0", 0.5}}; }), uneven);
  EXPECT_EQ(said([](Point& one) { one.what_ifs.fail = {{"nic:0.0", 1}}; }), uneven);
  EXPECT_EQ(said([](Point& one) { one.options.rank_order = RankOrder::parse("data,x"); }),
            "fourfold-replay: A listing is of ranks that lie as they are numbered: leave out "
            "rank_order.\n");
}

// One device has no collectives.
// Questions refuse a tuning that none of their grids can use; of a grid that cannot, others can.
TEST(Executable, TakesATuningThatChangesNothingAsItIs) {
  Point point = point_on("crossbar");
  point.grid = ProcessGrid(1, 1, 1, 1);
  const Said plain = run(point, "--listing");
  point.what_ifs.collective = collective_tuning("tree");
  const Said tuned = run(point, "--listing");

  EXPECT_EQ(tuned.status, 0);
  EXPECT_EQ(tuned.text, plain.text);
  EXPECT_THAT(tuned.text, StartsWith("ranks 1"));
}

TEST(Executable, RefusesFlagsInWords) {
  const Point point = point_on("crossbar");
  const auto said = [&](const std::string& flags) {
    const Said said = run(point, flags + " 2>&1");
    EXPECT_EQ(said.status, 2) << flags;
    EXPECT_THAT(said.text, EndsWith("; usage: fourfold-replay [OPTIONS] < point.json\n"));
    return said.text;
  };

  EXPECT_THAT(said("--fidelity flows"), HasSubstr("'flows' is not known; did you mean \"flow\"?"));
  EXPECT_THAT(said("--ideal networks"),
              HasSubstr("'networks' is not known; did you mean \"network\"?"));
  for (const char* both :
       {"--full --fidelity full", "--explain --timeline", "--listing --full",
        "--listing --fidelity flow", "--listing --explain", "--listing --timeline",
        "--listing --ideal network", "--listing --work-limit 5", "--listing --progress",
        "--full --full", "--explain --explain", "--fidelity flow --fidelity flow",
        "--work-limit 5 --work-limit 5", "--work-limit -1", "--work-limit 0", "--nothing",
        "word"}) {
    EXPECT_THAT(said(both), StartsWith("fourfold-replay: ")) << both;
  }
}

// A full disk takes no answer.
TEST(Executable, FailsWhereItsAnswerCannotBeWritten) {
  if (!std::ifstream("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  for (const char* flags : {"", "--listing", "--timeline"}) {
    const Said said = run(point_on("crossbar"), fmt::format("{} 2>&1 >/dev/full", flags));

    EXPECT_EQ(said.status, 2) << flags;
    EXPECT_EQ(said.text, "fourfold-replay: The answer could not be written to standard output.\n");
  }
}

}  // namespace
}  // namespace fourfold::tests
