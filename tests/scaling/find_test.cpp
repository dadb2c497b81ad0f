// From a question to its answer and its record: what is tried, in which order, what wins, and what
// each number of the record is; long because it follows one question through all of them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "platforms/device_memory.hpp"
#include "scaling/bars/sensitivity.hpp"
#include "scaling/find/candidates.hpp"
#include "scaling/find/find_answer.hpp"
#include "scaling/find/reruns.hpp"
#include "scaling/find/trace_file.hpp"
#include "scaling/find/what_if_effect.hpp"
#include "scaling/records/record.hpp"
#include "scaling/text/what_if_text.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_flops.hpp"
#include "sim/cost/paper_model.hpp"
#include "sim/question/point_json.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/small_questions.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Question question(std::int64_t devices = 16) {
  Question result = question_on("dragonfly", devices);
  result.platform = "frontier";
  return result;
}

// Of one candidate.
Question question_of(const ProcessGrid& grid, std::int64_t micro_batches = 2) {
  Question result = question(grid.size());
  result.grid = grid;
  result.micro_batches = micro_batches;
  return result;
}

Record answer(const Question& asked, Fidelity fidelity = Fidelity::simulated,
              DetailWanted detail = DetailWanted::none) {
  return make_record(asked, find_answer(asked, fidelity, {}, ignore, detail), fidelity, {});
}

Seconds resimulated(const Point& point, const std::vector<std::string>& flags = {}) {
  return simulate(point, flags, [](double) {}).outcome.total;
}

std::string on_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string refusal(const Question& asked, Fidelity fidelity, const StoppingRule& rule = {}) {
  return tests::refusal<FindingFailed>([&] { find_answer(asked, fidelity, rule, ignore); });
}

// What was said to be done, which never goes back.
struct Watched {
  std::vector<double> parts;
  ProgressWatch watch() {
    return [this](const std::string&, double done) { parts.push_back(done); };
  }
  void expect_from_to(double least, double most) const {
    ASSERT_FALSE(parts.empty());
    EXPECT_TRUE(std::ranges::is_sorted(parts)) << ::testing::PrintToString(parts);
    EXPECT_GE(parts.front(), least);
    EXPECT_LE(parts.back(), most);
  }
};

TEST(Find, OfGridsByAModelSimulatesAllThatTheModelPutsFirst) {
  Question asked = question(32);
  ask_for_grids_by(asked, "sc24-model");
  const std::vector<ProcessGrid> first = coded_grids(asked.model, 32, 32, "frontier", 10);

  const Finding found = find_answer(asked, Fidelity::simulated, {}, ignore);

  EXPECT_EQ(found.options.rank_order, coded_rank_order());
  EXPECT_EQ(found.simulated.size(), found.search.feasible.size());
  std::vector<ProcessGrid> grids;
  for (const Candidate& one : found.search.feasible) grids.push_back(one.grid);
  EXPECT_EQ(first.size(), 10U);
  EXPECT_THAT(grids, ::testing::UnorderedElementsAreArray(first));
}

TEST(Find, TakesGridsByAModelWhereItKnowsTheMachineAndNothingElseIsSaid) {
  const auto why = [](Question asked, const std::string& word) -> std::string {
    const std::string said =
        tests::refusal<std::runtime_error>([&] { ask_for_grids_by(asked, word); });
    return said == "accepted" && asked.grids_by == GridsBy::estimate ? "by estimate" : said;
  };
  Question elsewhere = question(), ordered = question();
  elsewhere.platform = "alps";
  ordered.options.rank_order = coded_rank_order();

  EXPECT_THAT(why(elsewhere, "sc24-model"), HasSubstr("perlmutter and frontier alone"));
  EXPECT_THAT(why(question(), "sc24"), HasSubstr("by estimate or by sc24-model, not by 'sc24'"));
  EXPECT_THAT(why(ordered, "sc24-model"), HasSubstr("leave the rank order out"));
  EXPECT_EQ(why(question_of({16, 1, 1, 1}), "sc24-model"), "by estimate");
  EXPECT_EQ(why(question(), "estimate"), "by estimate");
}

TEST(Find, ChoosesTheLeastSimulatedSecondsOfThoseTheRuleAllows) {
  StoppingRule rule;
  rule.at_most = 3;
  Watched watched;

  const Finding found = find_answer(question(), Fidelity::simulated, rule, watched.watch());

  ASSERT_GE(found.simulated.size(), 1U);
  ASSERT_LE(found.simulated.size(), 4U);
  watched.expect_from_to(0.0, 1.0);
  EXPECT_LT(watched.parts.front(), 0.1);
  std::vector<double> estimated, simulated;
  std::vector<std::optional<double>> all;
  for (const Candidate& one : found.search.feasible) {
    estimated.push_back(one.estimate.outcome.total.value);
  }
  for (std::size_t i = 0; i < found.simulated.size(); ++i) {
    const Candidate& one = found.search.feasible[i];
    const Seconds again = resimulated(point_of(question(), one.grid, one.micro_batches));
    EXPECT_EQ(found.simulated[i]->outcome.total, again);
    simulated.push_back(again.value);
    all.emplace_back(again.value);
  }
  EXPECT_EQ(found.chosen,
            static_cast<std::size_t>(std::ranges::min_element(simulated) - simulated.begin()));
  EXPECT_EQ(*found.verdict, judge(estimated, all, rule));
  EXPECT_EQ(found.outcome().total.value, std::ranges::min(simulated));
  EXPECT_FALSE(found.last.has_value());
  std::vector<double> first(estimated.begin(),
                            estimated.begin() + static_cast<std::ptrdiff_t>(simulated.size()));
  EXPECT_EQ(found.tau(), kendall_tau(first, simulated));
  EXPECT_EQ(found.regret(), top1_regret(first, simulated));
}

TEST(Find, LeavesOutWhatTakesTooMuchWorkButNotAGridThatWasAskedFor) {
  StoppingRule rule;
  rule.work_limit = 1;
  rule.at_most = 2;

  EXPECT_THAT(refusal(question(), Fidelity::simulated, rule),
              HasSubstr("each of 2 simulations took more than 1 units of work"));
  EXPECT_EQ(refusal(question_of({2, 2, 2, 2}), Fidelity::simulated, rule), "accepted");
}

TEST(Find, WhatIfsCountInALastSimulationOfTheGridThatIsBestWithoutThem) {
  Question asked = question_of({2, 2, 2, 2});
  const Finding plain = find_answer(asked, Fidelity::simulated, {}, ignore);
  asked.what_ifs.slow_devices.count = 1;
  asked.what_ifs.slow_devices.speed = 0.5;
  Watched watched;

  const Finding slow = find_answer(asked, Fidelity::simulated, {}, watched.watch());

  watched.expect_from_to(0.0, 1.0);
  ASSERT_TRUE(slow.last.has_value());
  EXPECT_EQ(slow.simulated[0]->outcome.total, plain.outcome().total);
  EXPECT_EQ(slow.outcome().total, slow.last->outcome.total);
  EXPECT_GT(slow.outcome().total, plain.outcome().total * 1.2);
  EXPECT_FALSE(slow.last->detail.has_value());
  const Record record = make_record(asked, slow, Fidelity::simulated, {});
  EXPECT_EQ(record.uniform, plain.outcome().total);
  EXPECT_EQ(record.seconds(), slow.last->outcome.total);
  EXPECT_EQ(record.replay->outcome.total, slow.last->outcome.total);
  EXPECT_EQ(record.point.what_ifs, asked.what_ifs);
  EXPECT_EQ(make_record(asked, slow, Fidelity::estimated, {}).point.what_ifs, WhatIfs{});
  EXPECT_EQ(make_record(asked, plain, Fidelity::simulated, {}).uniform, std::nullopt);
  EXPECT_THAT(refusal(asked, Fidelity::estimated), HasSubstr("ask for --fidelity simulated"));
}

TEST(Find, DetailAndFidelityAskForOneMoreSimulation) {
  const Question asked = question_of({2, 2, 2, 2});

  const Finding explained =
      find_answer(asked, Fidelity::simulated, {}, ignore, DetailWanted::explanation);
  const Finding timelines =
      find_answer(asked, Fidelity::simulated, {}, ignore, DetailWanted::timeline);
  const Finding full = find_answer(asked, Fidelity::full, {}, ignore);

  ASSERT_TRUE(explained.last && explained.last->detail);
  EXPECT_THAT(explained.last->detail->timelines, IsEmpty());
  EXPECT_FALSE(explained.last->detail->links.empty());
  ASSERT_TRUE(timelines.last && timelines.last->detail);
  EXPECT_EQ(timelines.last->detail->timelines.size(), 3U);
  ASSERT_TRUE(full.last.has_value());
  EXPECT_FALSE(full.last->extrapolated);
  EXPECT_FALSE(full.last->detail.has_value());
}

// With overlap a step is faster: of a system's variants the last simulation is that of this one.
TEST(Find, TheLastSimulationHasTheOptionsThatWereChosen) {
  Question asked = question();
  asked.what_ifs.slow_devices.count = 1;
  asked.what_ifs.slow_devices.speed = 0.5;
  StepOptions without = asked.options;
  without.overlap = {false, false, false, false, false, false};
  Question alone = asked;
  asked.variants = {without, asked.options};
  asked.options = without;

  const Finding finding = find_answer(asked, Fidelity::simulated, {}, ignore);

  ASSERT_EQ(finding.options.overlap, alone.options.overlap);
  ASSERT_TRUE(finding.last.has_value());
  alone.grid = finding.best().grid;
  alone.micro_batches = finding.best().micro_batches;
  EXPECT_EQ(finding.last->outcome.total,
            find_answer(alone, Fidelity::simulated, {}, ignore).last->outcome.total);
}

TEST(Record, HasTheNumbersOfItsFinding) {
  const Question asked = question();
  Watched watched;
  const Finding finding = find_answer(asked, Fidelity::estimated, {}, watched.watch());
  watched.expect_from_to(0.0, 1.0);
  EXPECT_GT(watched.parts.back(), 0.5);
  EXPECT_FALSE(finding.verdict || finding.tau() || !finding.simulated.empty());
  const Platform platform = read_platform("frontier");
  const Candidate& best = finding.best();
  const Estimate alone = estimate_step(point_of(asked, best.grid, best.micro_batches), platform);

  const Record record = make_record(asked, finding, Fidelity::estimated, {});

  EXPECT_EQ(record.seconds(), alone.outcome.total);
  EXPECT_EQ(record.memory_by_role, alone.memory.by_role);
  EXPECT_THAT(record.memory_by_stage, IsEmpty());
  EXPECT_EQ(record.memory_limit.value, memory_limit(platform).value);
  EXPECT_EQ(record.executed.value, alone.counts.executed().value);
  EXPECT_EQ(record.sent, alone.counts.sent);
  EXPECT_EQ(record.model_flops, model_flops(asked.model, asked.global_batch, asked.options, 1));
  EXPECT_EQ(record.advertised_peak.value, platform.processor.advertised_peak.value);
  EXPECT_EQ(record.empirical_peak.value, platform.processor.empirical_peak.value);
  EXPECT_EQ(record.tried, finding.search.tried);
  EXPECT_EQ(record.feasible, static_cast<std::int64_t>(finding.search.feasible.size()));
  std::int64_t rejected = 0;
  for (const auto& [reason, count] : record.rejected) rejected += count;
  EXPECT_EQ(rejected, record.tried - record.feasible);
  EXPECT_EQ(record.platform_title, platform.title);
  EXPECT_EQ(record.platform_digest, digest_of_file(platform.path));

  ASSERT_EQ(record.best_grids.size(), 10U);
  std::set<std::string> grids;
  for (const GridSeconds& one : record.best_grids) {
    EXPECT_TRUE(grids.insert(one.grid.str()).second) << one.grid.str();
  }
  EXPECT_TRUE(std::ranges::is_sorted(record.best_grids, {},
                                     [](const GridSeconds& one) { return one.estimated.value; }));
  double least = record.paper_choice.paper.value;
  for (const Candidate& one : finding.search.feasible) {
    least = std::min(least, paper_communication(one.estimate.counts, one.grid, platform).value);
  }
  EXPECT_EQ(record.paper_choice.paper.value, least);
}

// Four candidates of which no two numbers are alike; the third wins by simulation.
TEST(Record, KeepsWhatWasEstimatedOrWhatWasSimulated) {
  Question asked = question(4);
  asked.global_batch = 48;
  Finding finding;
  finding.options = asked.options;
  const std::vector<ProcessGrid> grids{{1, 1, 1, 2, 2}, {1, 1, 1, 4}, {1, 2, 1, 2}, {1, 2, 1, 2}};
  for (std::size_t i = 0; i < grids.size(); ++i) {
    const auto place = static_cast<double>(i);
    Candidate one{grids[i], 1 + static_cast<std::int64_t>(i) % 3, {}};
    one.estimate.outcome.total = {1.0 + 0.1 * place};
    one.estimate.memory.peak = {1e9 + place};
    one.estimate.stage_memory = {{{2e9 + place}, {}, {3e8 + place}}, {{1e9}, {}, {2e8}}};
    finding.search.feasible.push_back(one);
  }
  finding.search.tried = 9;
  finding.search.rejected = {{Rejection::memory, 3}, {Rejection::heads, 2}};
  for (const double seconds : {2.0, 0.0, 1.5}) {
    auto& one = finding.simulated.emplace_back();
    if (seconds == 0.0) continue;  // took too much work
    one.emplace().outcome.total = {seconds};
    one->work = static_cast<std::int64_t>(100 * seconds);
  }
  finding.chosen = 2;
  finding.verdict = Verdict::capped;

  const Record estimated = make_record(asked, finding, Fidelity::estimated, {});
  EXPECT_EQ(estimated.point.grid, grids[0]);
  EXPECT_EQ(estimated.point.options.micro_batches, 1);
  EXPECT_EQ(estimated.seconds(), Seconds{1.0});
  EXPECT_EQ(estimated.memory, Bytes{1e9});
  EXPECT_EQ(estimated.memory_by_stage, (std::vector<Bytes>{{2e9}, {1e9}}));
  EXPECT_EQ(estimated.memory_on_host, Bytes{3e8});
  EXPECT_THAT(estimated.simulated, IsEmpty());
  EXPECT_EQ(estimated.verdict, "");
  EXPECT_EQ(estimated.left_out, 0);
  EXPECT_FALSE(estimated.tau);
  EXPECT_EQ(estimated.best_grids.size(), 3U) << "one a grid";
  for (const GridSeconds& grid : estimated.best_grids) EXPECT_FALSE(grid.simulated);
  EXPECT_NE(estimated.paper_choice.grid, grids[0]) << "the paper's model knows no pipelines";
  EXPECT_EQ(estimated.key, record_key(asked, Fidelity::estimated, {}));

  const Record record = make_record(asked, finding, Fidelity::simulated, {});
  EXPECT_EQ(record.point.grid, grids[2]);
  EXPECT_EQ(record.point.options.micro_batches, 3);
  EXPECT_EQ(record.seconds(), Seconds{1.5});
  EXPECT_EQ(record.estimated, Seconds{1.2});
  EXPECT_EQ(record.memory_on_host, Bytes{3e8 + 2});
  EXPECT_EQ(record.tried, 9);
  EXPECT_EQ(record.feasible, 4);
  EXPECT_EQ(record.rejected, (std::map<std::string, std::int64_t>{{"heads", 2}, {"memory", 3}}));
  ASSERT_EQ(record.simulated.size(), 2U);
  EXPECT_EQ(record.simulated[1].grid, grids[2]);
  EXPECT_EQ(record.simulated[1].simulated, std::optional(Seconds{1.5}));
  EXPECT_EQ(record.left_out, 1);
  EXPECT_EQ(record.verdict, "capped");
  EXPECT_EQ(record.tau, -1.0);  // of the pairs that are there
  EXPECT_EQ(record.regret, 2.0 / 1.5 - 1.0);
  ASSERT_TRUE(record.replay);
  EXPECT_EQ(record.replay->work, 150);
  EXPECT_EQ(record.best_grids[0].simulated, std::optional(Seconds{2.0}));
  EXPECT_EQ(record.best_grids[1].micro_batches, 2);
  finding.simulated.resize(2);
  EXPECT_FALSE(finding.tau() || finding.regret());
}

TEST(RecordKey, IsAnotherOneForAnotherQuestion) {
  std::set<std::string> keys;
  const auto is_new = [&](const Question& asked, Fidelity fidelity, const StoppingRule& rule) {
    return keys.insert(record_key(asked, fidelity, rule)).second;
  };
  const Question plain = question();
  for (const Fidelity one : {Fidelity::simulated, Fidelity::estimated, Fidelity::full}) {
    EXPECT_TRUE(is_new(plain, one, {}));
  }
  int number = 0;
  for (const auto& change : std::vector<std::function<void(Question&)>>{
           [](Question& q) { q.platform = "lumi"; }, [](Question& q) { q.scales["nodes"] = 0.5; },
           [](Question& q) { q.model.layers = 5; }, [](Question& q) { q.model.vocabulary = 5000; },
           [](Question& q) { q.devices = 32; }, [](Question& q) { q.global_batch = 64; },
           [](Question& q) { q.options.recompute = Recompute::none; },
           [](Question& q) { q.what_ifs.jitter_percent = 1.0; },
           [](Question& q) { q.grid = ProcessGrid(2, 2, 2, 2); },
           [](Question& q) { q.micro_batches = 2; },
           [](Question& q) {
             q.stages = {1, 2};
           }}) {
    Question asked = plain;
    change(asked);
    EXPECT_TRUE(is_new(asked, Fidelity::simulated, {})) << "change " << number++;
    asked.options.micro_batches = 7;  // not looked at
    EXPECT_FALSE(is_new(asked, Fidelity::simulated, {}));
  }
  for (const StoppingRule& rule : {StoppingRule{.at_least = 2}, StoppingRule{.at_most = 9},
                                   StoppingRule{.margin = 0.02}, StoppingRule{.work_limit = 5}}) {
    EXPECT_FALSE(is_new(plain, Fidelity::estimated, rule));  // simulates nothing
    EXPECT_TRUE(is_new(plain, Fidelity::simulated, rule));
  }
}

TEST(Spread, OfAnEstimateIsThatOfItsEstimates) {
  Record record;
  record.fidelity = Fidelity::estimated;
  record.outcome.total = record.estimated = {10.0};
  record.best_grids = {
      {{}, 1, {10.0}, {}, {}}, {{}, 1, {11.0}, {{99.0}}, {}}, {{}, 1, {12.0}, {}, {}}};

  EXPECT_EQ(spread(record).least.value, 10.0);
  EXPECT_EQ(spread(record).most.value, 12.0);
}

TEST(WhatIfs, LieWithinATieWhicheverIsTheFasterAndSayWhatFailed) {
  WhatIfEffect effect;
  effect.tie = 0.1;
  for (const auto& [without, with, within] : {std::tuple{1.0, 1.0, true},
                                              {1.0, 1.05, true},
                                              {1.0, 1.2, false},
                                              {1.05, 1.0, true},
                                              {1.2, 1.0, false}}) {
    effect.without = Seconds{without};
    effect.with = Seconds{with};
    EXPECT_EQ(effect.within_tie(), within) << with << " instead of " << without;
    effect.failed.clear();
    EXPECT_THAT(what_if_text(effect), Not(HasSubstr("other ways")));
    effect.failed = {"nic:1.0"};
    EXPECT_THAT(on_one_line(what_if_text(effect)),
                HasSubstr(" Traffic of nic:1.0 goes other ways"));
  }
}

// A smaller batch is set against as many sequences of the larger one.
TEST(WhatIfs, CompareAsManySequences) {
  const Question without = question_of({1, 1, 1, 8}, 1);
  Question asked = question_of({1, 1, 1, 6}, 1);
  asked.global_batch = without.global_batch / 8 * 6;
  const Record with = answer(asked, Fidelity::estimated),
               whole = answer(without, Fidelity::estimated);

  const WhatIfEffect effect = effect_against(without, asked, with, {}, ignore);

  EXPECT_DOUBLE_EQ(effect.without.value, 0.75 * whole.seconds().value);
  EXPECT_DOUBLE_EQ(effect.tokens_per_s_without, whole.throughput().tokens_per_s);
  EXPECT_NEAR(effect.change(),
              whole.throughput().tokens_per_s / with.throughput().tokens_per_s - 1.0, 1e-12);
  EXPECT_THAT(on_one_line(what_if_text(effect)),
              HasSubstr(fmt::format(" for as many sequences, {} of the {} of a batch",
                                    asked.global_batch, without.global_batch)));
  EXPECT_EQ(json_of(effect)["sequences"], asked.global_batch);
}

// Drawn instead of expected, and not on top of it.
TEST(WhatIfs, OfDrawnSpreadsLieAroundWhatIsExpectedOfThem) {
  Question asked = question_of({2, 1, 4, 8}, 1);
  asked.model = read_model("gpt2-355m");
  asked.global_batch = 512;
  asked.scales["processor.spread"] = 4.0;
  const auto seconds = [&] {
    return find_answer(asked, Fidelity::simulated, {}, ignore).outcome().total.value;
  };
  const double expected = seconds();
  asked.what_ifs.draws_spreads = true;
  double drawn = 0.0;
  constexpr std::uint64_t seeds = 4;
  for (asked.what_ifs.seed = 1; asked.what_ifs.seed <= seeds; ++asked.what_ifs.seed) {
    drawn += seconds() / static_cast<double>(seeds);
  }
  asked.what_ifs = {};
  asked.scales["processor.spread"] = 0.01;
  const double without = seconds();

  EXPECT_GT(expected, 1.05 * without);  // or nothing was asked
  EXPECT_NEAR((drawn - without) / (expected - without), 1.0, 0.4);
}

// What if there were more memory: the answer is that of the larger machine, and that there is none
// without it is what the what-if does.
TEST(WhatIfs, MayBeWhatMakesAJobFit) {
  Question asked = question_of({1, 1, 1, 8}, 1);
  asked.model.hidden = 8192;
  asked.model.layers = 40;
  const std::string why = refusal(asked, Fidelity::estimated);
  ASSERT_THAT(why, HasSubstr("needs at least"));
  asked.scales = {{"processor.memory_GB", 64.0}};
  const Record record = answer(asked, Fidelity::estimated);

  const auto effect = effect_of_what_ifs(asked, record, {}, ignore);

  ASSERT_TRUE(effect);
  EXPECT_FALSE(effect->nothing());
  EXPECT_EQ(effect->why_none_without, why);
  EXPECT_EQ(effect->with, record.seconds());
  EXPECT_THAT(on_one_line(what_if_text(*effect)),
              HasSubstr("Without what was asked there is no answer: small on grid 1x1x1x8"));
  EXPECT_TRUE(json_of(*effect)["without_s"].is_null());
  EXPECT_EQ(json_of(*effect)["why_none_without"], why);
}

TEST(Reruns, LeaveOutOneWhatIfAfterTheOther) {
  Question asked = question_of({2, 2, 2, 2});
  asked.what_ifs.slow_devices.count = 1;
  asked.what_ifs.slow_devices.speed = 0.5;
  asked.what_ifs.jitter_percent = 2.0;
  asked.what_ifs.seed = 3;
  asked.what_ifs.degrade = {{"nic:0.0", 0.25}};
  const Record record = answer(asked);
  Watched watched;

  const std::vector<Ideal> found = rerun(record, watched.watch());

  watched.expect_from_to(0.0, 1.0);
  std::vector<std::string> keys;
  for (const Ideal& one : found) {
    keys.push_back(one.key);
    EXPECT_EQ(one.by, "simulation");
  }
  EXPECT_THAT(keys,
              ElementsAre("without_slow_devices", "without_jitter", "with_sound_links", "network",
                          "gemm_empirical", "gemm_advertised", "equal_devices", "steady_kernels"));
  Point sound = record.point;
  sound.what_ifs.degrade.clear();
  EXPECT_EQ(found[2].time, resimulated(sound));
  Point calm = record.point;
  calm.what_ifs.jitter_percent = 0.0;
  calm.what_ifs.seed = 1;
  EXPECT_EQ(found[1].time, resimulated(calm));
  EXPECT_EQ(found[3].time, resimulated(record.point, {"--ideal", "network"}));
}

// Sound links are those that other jobs leave alone, too.
TEST(Reruns, OfSoundLinksHaveThemToThemselves) {
  Question asked = question_of({2, 2, 2, 2});
  asked.what_ifs.placement = {Placing::nodes, {0, 200}};
  asked.what_ifs.background = {{"global", 99.0}};  // where nobody goes whose job is packed
  const Record record = answer(asked);
  Point sound = record.point;
  sound.what_ifs.background.clear();

  const std::vector<Ideal> found = rerun(record, ignore);

  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].key, "with_sound_links");
  EXPECT_EQ(found[0].time, resimulated(sound));
  EXPECT_GT(record.seconds(), found[0].time);
}

TEST(Reruns, OfAnotherPlacementArePackedWhereNothingIsNamedByPlace) {
  Question asked = question_of({2, 2, 2, 2});
  asked.what_ifs.placement.by = Placing::spread;
  const Record record = answer(asked);

  const std::vector<Ideal> found = rerun(record, ignore);

  ASSERT_EQ(found.size(), 6U);  // packed, and the five ideals that take effect on frontier
  EXPECT_EQ(found[0].key, "packed");
  EXPECT_EQ(found[0].time, record.uniform);
  Record estimated = record;
  estimated.replay.reset();
  EXPECT_THAT(rerun(estimated, ignore), IsEmpty());
}

// What takes a minute is not simulated again where jitter forbids to extend layers, and is where it
// does not.
TEST(Reruns, OfLongSimulationsAreLeftOutOnlyWithJitter) {
  Question asked = question_on("fat-tree-2", 4);
  asked.grid = ProcessGrid(2, 1, 2, 1);
  asked.micro_batches = 1;
  Record record = answer(asked);
  const auto keys = [&](double cpu_s, double jitter_percent) {
    record.replay->cpu_s = cpu_s;
    record.point.what_ifs.jitter_percent = jitter_percent;
    std::vector<std::string> found;
    for (const Ideal& one : rerun(record, ignore)) found.push_back(one.key);
    return found;
  };
  EXPECT_THAT(keys(longest_rerun_s + 1.0, 0.0),
              ElementsAre("network", "gemm_empirical", "gemm_advertised"));
  EXPECT_THAT(keys(longest_rerun_s + 1.0, 1.0), IsEmpty());
  EXPECT_THAT(keys(longest_rerun_s, 1.0),
              ElementsAre("without_jitter", "network", "gemm_empirical", "gemm_advertised"));
}

TEST(SensitivityTable, SaysWhereNothingIsOpen) {
  const auto table = [](std::int64_t open) {
    return sensitivity_table({point_of(question(), {2, 2, 2, 2}, 1), {2.5}, {}, open});
  };
  EXPECT_THAT(table(0), HasSubstr("every number of the platform has a source"));
  EXPECT_THAT(table(12), HasSubstr("each of the 12 unconfirmed numbers"));
}

nlohmann::json trace_of(const Record& record) {
  const TemporaryFolder folder;
  write_trace_of(record, folder.file("trace.json"));
  return nlohmann::json::parse(content_of(folder.file("trace.json")));
}

std::vector<std::string> processes(const nlohmann::json& trace) {
  std::vector<std::string> names;
  std::set<std::string> with_memory;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "C") with_memory.insert(event.at("pid").dump());
    if (event.at("name") != "process_name") continue;
    names.push_back(fmt::format("{}: {}", event.at("pid").dump(),
                                event.at("args").at("name").get<std::string>()));
  }
  EXPECT_EQ(with_memory.size(), names.size());
  return names;
}

// Seconds at which the last span of each process ends.
double last_end(const nlohmann::json& trace) {
  double end = 0.0;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X" || event.at("tid") != 0) continue;
    end = std::max(end, event.at("ts").get<double>() + event.at("dur").get<double>());
  }
  return end * 1e-6;
}

TEST(TraceFile, OfAnEstimateHasAProcessForEachStage) {
  Question asked = question_of({2, 2, 2, 2});
  asked.scales = {{"network.link_bandwidth_GBps", 0.5}};
  const Record flat = answer(asked, Fidelity::estimated);
  asked.grid = ProcessGrid(2, 2, 1, 2, 2);
  const Record piped = answer(asked, Fidelity::estimated);

  const nlohmann::json one = trace_of(flat);
  const nlohmann::json two = trace_of(piped);

  EXPECT_THAT(processes(one), ElementsAre("0: every device: they are alike in the closed form"));
  EXPECT_EQ(one.at("otherData").at("title"),
            "small on 16 devices of frontier, grid 2x2x2x2, estimated; "
            "network.link_bandwidth_GBps times 0.5");
  EXPECT_NEAR(last_end(one), flat.seconds().value, 0.0626e-6);
  EXPECT_THAT(processes(two),
              ElementsAre("0: every device of stage 0: they are alike in the closed form",
                          "8: every device of stage 1: they are alike in the closed form"));
  EXPECT_NEAR(last_end(two), piped.seconds().value, 0.0626e-6);
}

TEST(TraceFile, OfASimulationHasTheDevicesThatItLogged) {
  Question asked = question_of({2, 2, 1, 2, 2});
  asked.what_ifs.slow_devices.count = 1;
  asked.what_ifs.slow_devices.speed = 0.5;
  const Record record = answer(asked, Fidelity::simulated, DetailWanted::timeline);

  const nlohmann::json trace = trace_of(record);

  const std::vector<std::string> names = processes(trace);
  ASSERT_EQ(names.size(), record.replay->detail->timelines.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const DeviceTimeline& one = record.replay->detail->timelines[i];
    EXPECT_EQ(names[i],
              fmt::format("{0}: rank {0}, stage {1}: {2}", one.rank, one.rank / 8, one.name));
  }
  EXPECT_NEAR(last_end(trace), record.seconds().value, 1e-6 * record.seconds().value);
  EXPECT_THAT(trace.at("otherData").at("title").get<std::string>(),
              HasSubstr("simulated; 1 device computes at 0.5 of the speed: rank 8"));
}

}  // namespace
}  // namespace fourfold::tests
