// Records survive JSON bit by bit, and say what they say.
#include "scaling/records/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "scaling/find/find_answer.hpp"
#include "scaling/records/record_json.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_flops.hpp"
#include "tests/paths.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
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

// Pointers to all objects of a value, its own first.
std::vector<nlohmann::json::json_pointer> objects_in(const nlohmann::json& value) {
  std::vector<nlohmann::json::json_pointer> found;
  const std::function<void(const nlohmann::json&, const nlohmann::json::json_pointer&)> walk =
      [&](const nlohmann::json& at, const nlohmann::json::json_pointer& place) {
        if (at.is_object()) {
          found.push_back(place);
          for (const auto& item : at.items()) walk(item.value(), place / item.key());
        } else if (at.is_array()) {
          for (std::size_t i = 0; i < at.size(); ++i) walk(at[i], place / i);
        }
      };
  walk(value, nlohmann::json::json_pointer());
  return found;
}

// But where keys are words of the user's, and in rates, which follow from the rest.
TEST(RecordJson, RefusesAStrangerInAnyOfItsObjects) {
  Record record = made_up_record();
  record.system = "megatron-lm";
  record.set_by = {{"order", "system"}};
  const nlohmann::json whole = nlohmann::json::parse(to_json(record));
  ASSERT_EQ(refusal(whole.dump()), "accepted");
  std::vector<std::string> taken;
  for (const nlohmann::json::json_pointer& place : objects_in(whole)) {
    nlohmann::json changed = whole;
    changed[place]["stranger"] = 1;
    const std::string said = refusal(changed.dump());
    if (said.find("stranger") == std::string::npos) taken.push_back(place.to_string());
  }
  EXPECT_THAT(taken, ElementsAre("/point/scales", "/search/rejected", "/throughput"));
}

// A record answers a question only while everything that decided it is as it was.
TEST(Record, IsFoundAgainUntilItsMachineChanges) {
  const TemporaryFolder folder;
  const std::string machine = content_of(source_path("platforms/machines/frontier.toml"));
  Question question;
  question.platform = folder.file("mine.toml");
  const auto key = [&] { return record_key(question, Fidelity::estimated, {}); };

  write_content(question.platform, machine);
  const std::string first = key();
  const std::string again = key();
  write_content(question.platform, machine + "# read once more\n");

  EXPECT_EQ(again, first);
  EXPECT_NE(key(), first);
}

TEST(Record, IsFoundAgainUntilItsSoftwareChanges) {
  const TemporaryFolder folder;
  Question question;
  question.platform = "frontier";
  question.software = folder.file("mine.toml");
  const auto key = [&] { return record_key(question, Fidelity::estimated, {}); };
  const std::string software = "title = \"mine\"\nlike = \"fused\"\n";

  write_content(question.software, software);
  const std::string first = key();
  const std::string again = key();
  write_content(question.software, software + "# read once more\n");

  EXPECT_EQ(again, first);
  EXPECT_NE(key(), first);
}

TEST(Record, RatesFollowFromSecondsAndModelFlops) {
  const Record record = made_up_record();

  EXPECT_EQ(record.devices(), 8192);
  EXPECT_DOUBLE_EQ(record.rate().value, 1e19 / 20.0);
  EXPECT_DOUBLE_EQ(record.of_advertised(), 1e19 / 20.0 / (8192 * 191.5e12));
  EXPECT_DOUBLE_EQ(record.of_empirical(), 1e19 / 20.0 / (8192 * 125e12));
  EXPECT_DOUBLE_EQ(record.exposed_share(), 0.25);
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

}  // namespace
}  // namespace fourfold::tests
