// What records say, when they are found again, and when enough grids have been simulated for one.
#include "scaling/records/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "scaling/find/find_answer.hpp"
#include "scaling/records/record_json.hpp"
#include "scaling/records/verdict.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_flops.hpp"
#include "tests/paths.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  return tests::refusal<std::runtime_error>([&] { record_from_json(text); });
}

TEST(RecordJson, NamesTheFlopConvention) {
  EXPECT_THAT(to_json(made_up_record()),
              HasSubstr(model_flops_convention(made_up_record().point.model, Recompute::full)));
}

TEST(RecordJson, RefusesWhatIsNoRecord) {
  const std::string text = to_json(made_up_record());

  EXPECT_THAT(refusal("{}"), HasSubstr("'format' is missing"));
  EXPECT_THAT(refusal(text.substr(0, text.size() / 2)), HasSubstr("is no JSON"));
  EXPECT_THAT(refusal("{\"format\":\"fourfold-record-0\"}"), HasSubstr("fourfold-record-0"));
}

// A record answers a question only while everything that decided it is as it was.
TEST(Record, IsFoundAgainUntilItsMachineOrSoftwareChanges) {
  const TemporaryFolder folder;
  for (const bool software : {false, true}) {
    Question question;
    question.platform = "frontier";
    std::string& file = software ? question.software : question.platform;
    file = folder.file(software ? "software.toml" : "machine.toml");
    const std::string text = software ? "title = \"mine\"\nlike = \"fused\"\n"
                                      : content_of(source_path("platforms/machines/frontier.toml"));
    const auto key = [&] { return record_key(question, Fidelity::estimated, {}); };

    write_content(file, text);
    const std::string first = key();
    EXPECT_EQ(key(), first);
    write_content(file, text + "# read once more\n");
    EXPECT_NE(key(), first);
  }
}

TEST(Record, SpreadScalesWhatWasNotSimulated) {
  // Without the jitter the chosen grid takes 19.5 s; the third was only estimated: 18 s x 19.5
  // / 16.
  const Spread best = spread(made_up_record());

  EXPECT_DOUBLE_EQ(best.least.value, 19.5);
  EXPECT_DOUBLE_EQ(best.most.value, 21.9375);
}

// Grids are sorted by estimate, and a simulation may prefer other micro-batches of the first one.
TEST(Record, ShowsTheWinnersGridWithTheMicroBatchesThatWon) {
  Question question;
  question.platform = "frontier";
  question.model = read_model("gpt2-mini");
  question.devices = 8;
  question.global_batch = 64;
  Finding finding =
      find_answer(question, Fidelity::estimated, {}, [](const std::string&, double) {});
  const std::vector<Candidate>& grids = finding.search.feasible;
  finding.chosen = 1;
  while (!(grids.at(finding.chosen).grid == grids[0].grid)) ++finding.chosen;
  finding.simulated.resize(finding.chosen + 1);
  finding.simulated.back().emplace();
  finding.verdict = Verdict::capped;

  const Record record = make_record(question, finding, Fidelity::simulated, {});

  EXPECT_EQ(record.best_grids[0].grid, grids[0].grid);
  EXPECT_NE(grids[finding.chosen].micro_batches, grids[0].micro_batches);
  EXPECT_EQ(record.best_grids[0].micro_batches, grids[finding.chosen].micro_batches);
}

// --- the stopping rule of the guided simulation, on made-up seconds

constexpr StoppingRule rule{.at_least = 3, .at_most = 5, .margin = 0.01};

TEST(Verdict, SettlesWhereNoOtherCanWin) {
  const std::optional<double> none;
  const auto of = [](const std::vector<double>& estimated,
                     const std::vector<std::optional<double>>& simulated) {
    return judge(estimated, simulated, rule);
  };
  // Ratios 1.1, 1.15, 1.1: the fourth takes at least 14 x 1.1 x 0.99 = 15.2 > 11.
  EXPECT_EQ(of({10, 11, 12, 14}, {11, 12.65, 13.2}), Verdict::settled);
  // Least ratio 1.0: the fourth may take 10.9 x 1.0 x 0.99 = 10.79 < 10.8, though no other did; the
  // same where others came after it.
  EXPECT_EQ(of({10, 10.5, 10.8, 10.9, 20}, {12, 11, 10.8}), Verdict::go_on);
  EXPECT_EQ(of({10, 10.8, 10.85, 10.9, 20}, {12, 10.8, 13}), Verdict::go_on);
  // No disagreement is believed below the least count.
  EXPECT_EQ(of({1, 100, 200, 300}, {}), Verdict::go_on);
  EXPECT_EQ(of({1, 100, 200, 300}, {1, 100}), Verdict::go_on);
  EXPECT_EQ(of({1, 100, 200, 300}, {1, 100, 200}), Verdict::settled);
  // Capped only where the next might still win.
  EXPECT_EQ(of({10, 10, 10, 10, 10, 10}, {10, 10, 10, 10, 10}), Verdict::capped);
  EXPECT_EQ(of({10, 10, 10, 10, 10, 99}, {10, 10, 10, 10, 10}), Verdict::settled);
  // Simulations that were given up count as tried, but not as evidence.
  const std::vector<double> six{10, 11, 12, 14, 15, 16};
  EXPECT_EQ(of(six, {11, none, 13.2, none}), Verdict::go_on);
  EXPECT_EQ(of(six, {11, none, 13.2, 15.4}), Verdict::settled);
  EXPECT_EQ(of(six, {none, none, none, none, none}), Verdict::capped);
  EXPECT_EQ(of({10, 11}, {12, 13}), Verdict::exhausted);
  // The margin decides the closest call: without one the fourth takes at least 11, the best.
  StoppingRule exact = rule;
  exact.margin = 0.0;
  EXPECT_EQ(judge({11, 11, 11, 11}, {11, 11, 11}, exact), Verdict::settled);
  EXPECT_EQ(of({11, 11, 11, 11}, {11, 11, 11}), Verdict::go_on);
}

}  // namespace
}  // namespace fourfold::tests
