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
#include "platforms/operation.hpp"
#include "scaling/bars/sensitivity.hpp"
#include "scaling/find/candidates.hpp"
#include "scaling/find/find_answer.hpp"
#include "scaling/find/reruns.hpp"
#include "scaling/find/trace_file.hpp"
#include "scaling/find/what_if_effect.hpp"
#include "scaling/jobs/launch.hpp"
#include "scaling/records/record.hpp"
#include "scaling/text/what_if_text.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_flops.hpp"
#include "sim/cost/paper_model.hpp"
#include "sim/question/point_json.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void ignore(const std::string&, double) {}

Question question(std::int64_t devices = 16) {
  Question result;
  result.platform = "frontier";
  result.model = {"small", 4, 1024, 8, 512, 4096};
  result.devices = devices;
  result.global_batch = 32;
  return result;
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
  std::set<std::string> grids;
  for (const Candidate& one : found.search.feasible) {
    grids.insert(one.grid.str());
    EXPECT_THAT(first, ::testing::Contains(one.grid));
  }
  EXPECT_EQ(grids.size(), found.search.feasible.size());
  EXPECT_EQ(first.size(), 10U);
  EXPECT_EQ(grids.size(), 10U);
}

TEST(Find, RefusesGridsByAModelThatDoesNotKnowTheMachine) {
  const auto why = [](Question asked, const std::string& word) -> std::string {
    const std::string said =
        tests::refusal<std::runtime_error>([&] { ask_for_grids_by(asked, word); });
    if (said != "accepted") return said;
    return asked.grids_by == GridsBy::estimate ? "by estimate" : "by the model";
  };
  Question elsewhere = question();
  elsewhere.platform = "alps";
  Question given = question();
  given.grid = ProcessGrid(16, 1, 1, 1);
  Question ordered = question();
  ordered.options.rank_order = coded_rank_order();

  EXPECT_THAT(why(elsewhere, "sc24-model"), HasSubstr("perlmutter and frontier alone"));
  EXPECT_THAT(why(question(), "sc24"), HasSubstr("by estimate or by sc24-model, not by 'sc24'"));
  EXPECT_THAT(why(ordered, "sc24-model"), HasSubstr("leave the rank order out"));
  EXPECT_EQ(why(given, "sc24-model"), "by estimate");
  EXPECT_EQ(why(question(), "estimate"), "by estimate");
  EXPECT_NE(json_of(question()).contains("grids_by"), true);
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
    const ReplayAnswer again =
        simulate(point_of(question(), one.grid, one.micro_batches), {}, [](double) {});
    EXPECT_EQ(found.simulated[i]->outcome.total, again.outcome.total);
    simulated.push_back(again.outcome.total.value);
    all.emplace_back(again.outcome.total.value);
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

TEST(Find, EstimatesWithoutAnyVerdict) {
  Watched watched;

  const Finding found = find_answer(question(), Fidelity::estimated, {}, watched.watch());

  watched.expect_from_to(0.0, 1.0);
  EXPECT_GT(watched.parts.back(), 0.5);
  EXPECT_THAT(found.simulated, IsEmpty());
  EXPECT_FALSE(found.verdict.has_value());
  EXPECT_EQ(found.chosen, 0U);
  EXPECT_EQ(found.outcome().total, found.search.feasible[0].estimate.outcome.total);
  EXPECT_FALSE(found.tau().has_value());
}

TEST(Find, LeavesOutWhatTakesTooMuchWorkButNotAGridThatWasAskedFor) {
  StoppingRule rule;
  rule.work_limit = 1;
  rule.at_most = 2;

  EXPECT_THAT(refusal(question(), Fidelity::simulated, rule),
              HasSubstr("each of 2 simulations took more than 1 units of work"));
  Question one = question();
  one.grid = ProcessGrid(2, 2, 2, 2);
  one.micro_batches = 2;
  EXPECT_EQ(refusal(one, Fidelity::simulated, rule), "accepted");
}

TEST(Find, RegretAndTauAreOfThePairsThatAreThere) {
  Finding finding;
  for (double estimated : {10.0, 11.0, 12.0, 13.0}) {
    Candidate& candidate = finding.search.feasible.emplace_back();
    candidate.estimate.outcome.total = {estimated};
  }
  const auto simulated = [&](std::initializer_list<double> seconds) {
    finding.simulated.clear();
    for (double one : seconds) {
      finding.simulated.emplace_back();
      if (one > 0.0) finding.simulated.back().emplace().outcome.total = {one};
    }
  };

  simulated({15.0, 0.0, 12.0});

  EXPECT_EQ(finding.tau(), -1.0);
  EXPECT_EQ(finding.regret(), 0.25);
  simulated({15.0, 0.0});
  EXPECT_FALSE(finding.tau().has_value());
  EXPECT_FALSE(finding.regret().has_value());
}

TEST(Find, WhatIfsCountInALastSimulationOfTheGridThatIsBestWithoutThem) {
  Question asked = question();
  asked.grid = ProcessGrid(2, 2, 2, 2);
  asked.micro_batches = 2;
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
  Question asked = question();
  asked.grid = ProcessGrid(2, 2, 2, 2);
  asked.micro_batches = 2;

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

TEST(Find, RefusesBeforeItSearches) {
  Question asked = question();
  asked.what_ifs.slow_devices.count = 17;
  asked.what_ifs.slow_devices.speed = 0.5;
  EXPECT_THAT(refusal(asked, Fidelity::simulated), HasSubstr("more than the 16"));
  asked = question();
  asked.what_ifs.degrade = {{"nic:9.0", 0.5}};
  EXPECT_THAT(refusal(asked, Fidelity::simulated), HasSubstr("no link 'nic:9.0'"));
  asked = question(8);
  asked.what_ifs.collective = collective_tuning("tree");
  EXPECT_THAT(refusal(asked, Fidelity::estimated), HasSubstr("cannot take effect on grid"));
}

TEST(Candidates, OfAGridAreAllMicroBatchesThatDivideItsShare) {
  Question asked = question();
  asked.grid = ProcessGrid(2, 2, 2, 2);
  const Platform platform = read_platform("frontier");

  const SearchResult all = candidates(asked, platform, ignore);

  std::set<std::int64_t> counts;
  for (const Candidate& one : all.feasible) {
    EXPECT_EQ(one.grid, *asked.grid);
    counts.insert(one.micro_batches);
  }
  EXPECT_EQ(counts, (std::set<std::int64_t>{1, 2, 4, 8}));
  EXPECT_EQ(all.tried, 4);
  EXPECT_TRUE(all.rejected.empty());
  EXPECT_TRUE(std::ranges::is_sorted(
      all.feasible, {}, [](const Candidate& one) { return one.estimate.outcome.total.value; }));
  asked.micro_batches = 4;
  const SearchResult one = candidates(asked, platform, ignore);
  ASSERT_EQ(one.feasible.size(), 1U);
  EXPECT_EQ(one.feasible[0].micro_batches, 4);
}

// A device holds what all micro-batches at once do not leave room for.
TEST(Candidates, OfAGridThatNeedsTooMuchAreCountedOut) {
  Question asked = question();
  asked.grid = ProcessGrid(2, 2, 2, 2);
  const auto peak = [&](std::int64_t micro_batches) {
    const Point point = point_of(asked, *asked.grid, micro_batches);
    return estimate_step(point, read_platform("frontier")).memory.peak.value;
  };
  const double limit = 0.5 * (peak(1) + peak(2));
  ASSERT_GT(peak(1), peak(2));
  Platform platform = read_platform("frontier");
  platform.processor.memory = {1.0};
  platform.processor.usable_memory = 0.9;  // a share says all about the reserve
  platform.processor.memory = {limit / memory_limit(platform, usual_memory_risk).value};

  const SearchResult found = candidates(asked, platform, ignore);

  EXPECT_EQ(found.tried, 4);
  EXPECT_EQ(found.feasible.size(), 3U);
  EXPECT_EQ(found.rejected.at(Rejection::memory), 1);
  for (const double share : {0.5, 1e-12}) {
    platform.processor.memory = {share * peak(8)};
    EXPECT_THAT(tests::refusal<FindingFailed>([&] { candidates(asked, platform, ignore); }),
                HasSubstr(fmt::format("needs at least {:.1f} GB", peak(8) / 1e9)));
  }
}

TEST(Candidates, OfASearchHaveTheMicroBatchesAskedFor) {
  Question asked = question();
  const SearchResult all = candidates(asked, read_platform("frontier"), ignore);
  asked.micro_batches = 2;

  const SearchResult found = candidates(asked, read_platform("frontier"), ignore);

  ASSERT_FALSE(found.feasible.empty());
  EXPECT_EQ(static_cast<std::int64_t>(found.feasible.size()),
            std::ranges::count(all.feasible, 2, &Candidate::micro_batches));
  EXPECT_EQ(found.tried, all.tried);
  asked.devices = 0;
  EXPECT_THROW(candidates(asked, read_platform("frontier"), ignore), FindingFailed);
}

TEST(Record, HasTheNumbersOfItsFinding) {
  const Question asked = question();
  const Finding finding = find_answer(asked, Fidelity::estimated, {}, ignore);
  const Platform platform = read_platform("frontier");
  const Candidate& best = finding.best();
  const Estimate alone = estimate_step(point_of(asked, best.grid, best.micro_batches), platform);

  const Record record = make_record(asked, finding, Fidelity::estimated, {});

  EXPECT_EQ(record.point.grid, best.grid);
  EXPECT_EQ(record.point.options.micro_batches, best.micro_batches);
  EXPECT_EQ(record.seconds(), alone.outcome.total);
  EXPECT_EQ(record.estimated, alone.outcome.total);
  EXPECT_EQ(record.memory, alone.memory.peak);
  EXPECT_EQ(record.memory_by_role, alone.memory.by_role);
  EXPECT_THAT(record.memory_by_stage, IsEmpty());
  EXPECT_EQ(record.memory_limit.value, memory_limit(platform).value);
  EXPECT_EQ(record.executed.value, alone.counts.executed().value);
  EXPECT_EQ(record.sent, alone.counts.sent);
  EXPECT_EQ(record.model_flops, model_flops(asked.model, asked.global_batch, asked.options));
  EXPECT_EQ(record.advertised_peak.value, platform.processor.advertised_peak.value);
  EXPECT_EQ(record.empirical_peak.value, platform.processor.empirical_peak.value);
  EXPECT_EQ(record.tried, finding.search.tried);
  EXPECT_EQ(record.feasible, static_cast<std::int64_t>(finding.search.feasible.size()));
  std::int64_t rejected = 0;
  for (const auto& [reason, count] : record.rejected) rejected += count;
  EXPECT_EQ(rejected, record.tried - record.feasible);
  EXPECT_EQ(record.left_out, 0);
  EXPECT_EQ(record.verdict, "");
  EXPECT_EQ(record.key, record_key(asked, Fidelity::estimated, {}));
  EXPECT_EQ(record.platform_title, platform.title);
  EXPECT_EQ(record.platform_digest, digest_of_file(platform.path));

  ASSERT_EQ(record.best_grids.size(), 10U);
  std::set<std::string> grids;
  for (const GridSeconds& one : record.best_grids) {
    EXPECT_TRUE(grids.insert(one.grid.str()).second) << one.grid.str();
    EXPECT_FALSE(one.simulated.has_value());
  }
  EXPECT_TRUE(std::ranges::is_sorted(record.best_grids, {},
                                     [](const GridSeconds& one) { return one.estimated.value; }));
  double least = record.paper_choice.paper.value;
  for (const Candidate& one : finding.search.feasible) {
    least = std::min(least, paper_communication(one.estimate.counts, one.grid, platform).value);
  }
  EXPECT_EQ(record.paper_choice.paper.value, least);
}

TEST(Record, OfASimulationHasEachSimulatedGridInItsOrder) {
  StoppingRule rule;
  rule.at_most = 3;
  const Finding found = find_answer(question(), Fidelity::simulated, rule, ignore);

  const Record record = make_record(question(), found, Fidelity::simulated, rule);

  ASSERT_EQ(record.simulated.size(), found.simulated.size());
  for (std::size_t i = 0; i < record.simulated.size(); ++i) {
    EXPECT_EQ(record.simulated[i].grid, found.search.feasible[i].grid);
    EXPECT_EQ(record.simulated[i].simulated, found.simulated[i]->outcome.total);
  }
  EXPECT_EQ(record.verdict, name(*found.verdict));
  EXPECT_EQ(record.tau, found.tau());
  EXPECT_EQ(record.regret, found.regret());
  EXPECT_EQ(record.outcome.total, found.outcome().total);
  EXPECT_EQ(record.replay->collectives, found.simulated[found.chosen]->collectives);
}

// However little it would communicate.
TEST(Record, HasNoPipelineAsThePapersChoice) {
  Question asked = question();
  asked.stages = {1, 2};
  Finding finding = find_answer(asked, Fidelity::estimated, {}, ignore);
  const Platform platform = read_platform("frontier");
  const auto paper = [&](const Candidate& one) {
    return paper_communication(one.estimate.counts, one.grid, platform).value;
  };
  auto& all = finding.search.feasible;
  const auto piped = [](const Candidate& one) { return one.grid.extent(Axis::pipe) > 1; };
  std::optional<Candidate> most, least;
  for (const Candidate& one : all) {
    std::optional<Candidate>& kept = piped(one) ? least : most;
    if (!kept || (paper(one) < paper(*kept)) == piped(one)) kept = one;
  }
  ASSERT_LT(paper(*least), paper(*most));
  finding.chosen = 0;
  finding.search.feasible = {*most, *least};

  const Record record = make_record(asked, finding, Fidelity::estimated, {});

  EXPECT_EQ(record.paper_choice.grid, most->grid);
}

TEST(RecordKey, IsAnotherOneForAnotherQuestion) {
  std::set<std::string> keys;
  const auto is_new = [&](const Question& asked, Fidelity fidelity, const StoppingRule& rule) {
    return keys.insert(record_key(asked, fidelity, rule)).second;
  };
  const Question plain = question();
  ASSERT_TRUE(is_new(plain, Fidelity::simulated, {}));
  EXPECT_TRUE(is_new(plain, Fidelity::estimated, {}));
  EXPECT_TRUE(is_new(plain, Fidelity::full, {}));
  const auto changed = [&](auto change) {
    Question asked = plain;
    change(asked);
    return is_new(asked, Fidelity::simulated, {});
  };
  EXPECT_TRUE(changed([](Question& q) { q.platform = "lumi"; }));
  EXPECT_TRUE(changed([](Question& q) { q.scales["nodes"] = 0.5; }));
  EXPECT_TRUE(changed([](Question& q) { q.model.layers = 5; }));
  EXPECT_TRUE(changed([](Question& q) { q.model.vocabulary = 5000; }));
  EXPECT_TRUE(changed([](Question& q) { q.devices = 32; }));
  EXPECT_TRUE(changed([](Question& q) { q.global_batch = 64; }));
  EXPECT_TRUE(changed([](Question& q) { q.options.recompute = Recompute::none; }));
  EXPECT_TRUE(changed([](Question& q) { q.what_ifs.jitter_percent = 1.0; }));
  EXPECT_TRUE(changed([](Question& q) { q.grid = ProcessGrid(2, 2, 2, 2); }));
  EXPECT_TRUE(changed([](Question& q) { q.micro_batches = 2; }));
  EXPECT_TRUE(changed([](Question& q) { q.stages = {1, 2}; }));
  EXPECT_FALSE(changed([](Question& q) { q.options.micro_batches = 7; }));  // not looked at
  const auto ruled = [&](auto change) {
    StoppingRule rule;
    change(rule);
    EXPECT_FALSE(is_new(plain, Fidelity::estimated, rule));  // simulates nothing
    return is_new(plain, Fidelity::simulated, rule);
  };
  EXPECT_TRUE(ruled([](StoppingRule& r) { r.at_least = 2; }));
  EXPECT_TRUE(ruled([](StoppingRule& r) { r.at_most = 9; }));
  EXPECT_TRUE(ruled([](StoppingRule& r) { r.margin = 0.02; }));
  EXPECT_TRUE(ruled([](StoppingRule& r) { r.work_limit = 5; }));
}

TEST(Spread, OfAnEstimateIsThatOfItsEstimates) {
  Record record;
  record.fidelity = Fidelity::estimated;
  record.outcome.total = record.estimated = {10.0};
  record.best_grids.resize(3);
  record.best_grids[0].estimated = {10.0};
  record.best_grids[1].estimated = {11.0};
  record.best_grids[1].simulated = {{99.0}};  // of another fidelity
  record.best_grids[2].estimated = {12.0};

  EXPECT_EQ(spread(record).least.value, 10.0);
  EXPECT_EQ(spread(record).most.value, 12.0);
}

TEST(WhatIfs, LieWithinATieWhicheverIsTheFaster) {
  WhatIfEffect effect;
  effect.tie = 0.1;
  for (const auto& [without, with, within] :
       {std::tuple{1.0, 1.05, true}, {1.0, 1.2, false}, {1.05, 1.0, true}, {1.2, 1.0, false}}) {
    effect.without = Seconds{without};
    effect.with = Seconds{with};
    EXPECT_EQ(effect.within_tie(), within) << with << " instead of " << without;
  }
}

// A smaller batch is set against as many sequences of the larger one.
TEST(WhatIfs, CompareAsManySequences) {
  Question without = question(8);
  without.grid = ProcessGrid(1, 1, 1, 8);
  without.micro_batches = 1;
  Question asked = without;
  asked.devices = 6;
  asked.grid = ProcessGrid(1, 1, 1, 6);
  asked.global_batch = without.global_batch / 8 * 6;
  const auto answer = [](const Question& one) {
    return make_record(one, find_answer(one, Fidelity::estimated, {}, ignore), Fidelity::estimated,
                       {});
  };
  const Record with = answer(asked), whole = answer(without);

  const WhatIfEffect effect = effect_against(without, asked, with, {}, ignore);

  EXPECT_DOUBLE_EQ(effect.without.value, 0.75 * whole.seconds().value);
  EXPECT_DOUBLE_EQ(effect.tokens_per_s_without, whole.throughput().tokens_per_s);
  EXPECT_NEAR(effect.change(),
              whole.throughput().tokens_per_s / with.throughput().tokens_per_s - 1.0, 1e-12);
  std::string text = what_if_text(effect);
  std::ranges::replace(text, '\n', ' ');
  EXPECT_THAT(text, HasSubstr(fmt::format(" for as many sequences, {} of the {} of a batch",
                                          asked.global_batch, without.global_batch)));
  EXPECT_EQ(json_of(effect)["sequences"], asked.global_batch);
}

TEST(WhatIfs, SayThatTrafficGoesAroundWhatFailed) {
  WhatIfEffect effect;
  effect.without = effect.with = Seconds{1.0};
  EXPECT_THAT(what_if_text(effect), Not(HasSubstr("other ways")));
  effect.failed = {"nic:1.0"};
  for (const double seconds : {1.0, 1.5}) {
    effect.with = Seconds{seconds};
    std::string text = what_if_text(effect);
    std::ranges::replace(text, '\n', ' ');
    EXPECT_THAT(text, HasSubstr(" Traffic of nic:1.0 goes other ways"));
  }
}

// What if there were more memory: the answer is that of the larger machine, and that there is none
// without it is what the what-if does.
// Drawn instead of expected, and not on top of it.
TEST(WhatIfs, OfDrawnSpreadsLieAroundWhatIsExpectedOfThem) {
  Question asked = question(64);
  asked.model = read_model("gpt2-355m");
  asked.global_batch = 512;
  asked.grid = ProcessGrid(2, 1, 4, 8);
  asked.micro_batches = 1;
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

TEST(WhatIfs, MayBeWhatMakesAJobFit) {
  Question asked = question(8);
  asked.model.hidden = 8192;
  asked.model.layers = 40;
  asked.grid = ProcessGrid(1, 1, 1, 8);
  asked.micro_batches = 1;
  const std::string why = refusal(asked, Fidelity::estimated);
  ASSERT_THAT(why, HasSubstr("needs at least"));
  asked.scales = {{"processor.memory_GB", 64.0}};
  const Record record = make_record(asked, find_answer(asked, Fidelity::estimated, {}, ignore),
                                    Fidelity::estimated, {});

  const auto effect = effect_of_what_ifs(asked, record, {}, ignore);

  ASSERT_TRUE(effect);
  EXPECT_FALSE(effect->nothing());
  EXPECT_EQ(effect->why_none_without, why);
  EXPECT_EQ(effect->with, record.seconds());
  std::string text = what_if_text(*effect);
  std::ranges::replace(text, '\n', ' ');
  EXPECT_THAT(text, HasSubstr("Without what was asked there is no answer: small on grid 1x1x1x8"));
  EXPECT_TRUE(json_of(*effect)["without_s"].is_null());
  EXPECT_EQ(json_of(*effect)["why_none_without"], why);
}

TEST(Reruns, LeaveOutOneWhatIfAfterTheOther) {
  Question asked = question();
  asked.grid = ProcessGrid(2, 2, 2, 2);
  asked.micro_batches = 2;
  asked.what_ifs.slow_devices.count = 1;
  asked.what_ifs.slow_devices.speed = 0.5;
  asked.what_ifs.jitter_percent = 2.0;
  asked.what_ifs.seed = 3;
  asked.what_ifs.degrade = {{"nic:0.0", 0.25}};
  const Record record = make_record(asked, find_answer(asked, Fidelity::simulated, {}, ignore),
                                    Fidelity::simulated, {});
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
  EXPECT_EQ(found[2].time, simulate(sound, {}, [](double) {}).outcome.total);
  Point calm = record.point;
  calm.what_ifs.jitter_percent = 0.0;
  calm.what_ifs.seed = 1;
  EXPECT_EQ(found[1].time, simulate(calm, {}, [](double) {}).outcome.total);
  EXPECT_EQ(found[3].time,
            simulate(record.point, {"--ideal", "network"}, [](double) {}).outcome.total);
}

// Sound links are those that other jobs leave alone, too.
TEST(Reruns, OfSoundLinksHaveThemToThemselves) {
  Question asked = question();
  asked.grid = ProcessGrid(2, 2, 2, 2);
  asked.micro_batches = 2;
  asked.what_ifs.placement = {Placing::nodes, {0, 200}};
  asked.what_ifs.background = {{"global", 99.0}};  // where nobody goes whose job is packed
  const Record record = make_record(asked, find_answer(asked, Fidelity::simulated, {}, ignore),
                                    Fidelity::simulated, {});
  Point sound = record.point;
  sound.what_ifs.background.clear();

  const std::vector<Ideal> found = rerun(record, ignore);

  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].key, "with_sound_links");
  EXPECT_EQ(found[0].time, simulate(sound, {}, [](double) {}).outcome.total);
}

TEST(Reruns, OfAnotherPlacementArePackedWhereNothingIsNamedByPlace) {
  Question asked = question();
  asked.grid = ProcessGrid(2, 2, 2, 2);
  asked.micro_batches = 2;
  asked.what_ifs.placement.by = Placing::spread;
  const Record record = make_record(asked, find_answer(asked, Fidelity::simulated, {}, ignore),
                                    Fidelity::simulated, {});

  const std::vector<Ideal> found = rerun(record, ignore);

  ASSERT_EQ(found.size(), 6U);  // packed, and the five ideals that take effect on frontier
  EXPECT_EQ(found[0].key, "packed");
  EXPECT_EQ(found[0].time, record.uniform);
  Record estimated = record;
  estimated.replay.reset();
  EXPECT_THAT(rerun(estimated, ignore), IsEmpty());
}

Point made_up_point() {
  Point point;
  point.platform = "alps";
  return point;
}

TEST(SensitivityTable, SaysWhereNothingIsOpen) {
  const Sensitivity sourced{made_up_point(), {2.5}, {}, 0};
  const Sensitivity small{made_up_point(), {2.5}, {}, 12};

  EXPECT_THAT(sensitivity_table(sourced), HasSubstr("every number of the platform has a source"));
  EXPECT_THAT(sensitivity_table(small), HasSubstr("each of the 12 unconfirmed numbers"));
}

nlohmann::json trace_of(const Record& record) {
  const TemporaryFolder folder;
  write_trace_of(record, folder.file("trace.json"));
  return nlohmann::json::parse(content_of(folder.file("trace.json")));
}

std::vector<std::string> processes(const nlohmann::json& trace) {
  std::vector<std::string> names;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("name") != "process_name") continue;
    names.push_back(fmt::format("{}: {}", event.at("pid").dump(),
                                event.at("args").at("name").get<std::string>()));
  }
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
  Question asked = question();
  asked.scales = {{"network.link_bandwidth_GBps", 0.5}};
  asked.grid = ProcessGrid(2, 2, 2, 2);
  asked.micro_batches = 2;
  const Record flat = make_record(asked, find_answer(asked, Fidelity::estimated, {}, ignore),
                                  Fidelity::estimated, {});
  asked.grid = ProcessGrid(2, 2, 1, 2, 2);
  const Record piped = make_record(asked, find_answer(asked, Fidelity::estimated, {}, ignore),
                                   Fidelity::estimated, {});

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
  Question asked = question();
  asked.grid = ProcessGrid(2, 2, 1, 2, 2);
  asked.micro_batches = 2;
  asked.what_ifs.slow_devices.count = 1;
  asked.what_ifs.slow_devices.speed = 0.5;
  const Record record = make_record(
      asked, find_answer(asked, Fidelity::simulated, {}, ignore, DetailWanted::timeline),
      Fidelity::simulated, {});

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

// One that its limit has ended leaves its grid out; any other end is a failure.
TEST(Simulations, ThatEndOtherwiseHaveNoAnswer) {
  const auto answer = [](int status) {
    return answer_of({"", "fourfold-replay: a reason\n", status}, {});
  };
  EXPECT_FALSE(answer(over_work_limit));
  EXPECT_FALSE(answer(over_cpu_limit));
  EXPECT_THROW(answer(1), FindingFailed);
}

}  // namespace
}  // namespace fourfold::tests
