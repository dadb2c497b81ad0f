// Measured runs: read as questions, refused by line and column, compared, and guarded by bounds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scaling/bars/deviations.hpp"
#include "scaling/bars/residuals.hpp"
#include "scaling/validation/residuals_of.hpp"
#include "scaling/validation/validation_json.hpp"
#include "scaling/validation/validation_run.hpp"
#include "scaling/validation/validation_set.hpp"
#include "scaling/validation/validation_text.hpp"
#include "scaling/words/cell_table.hpp"
#include "schedule/models/model_file.hpp"
#include "sim/estimate/estimate.hpp"
#include "tests/paths.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string columns =
    "id,source,platform,n_gpus,layers,hidden,heads,seq,vocab,global_batch_sequences,tp,pp,dp,"
    "micro_batch,recompute,seconds,tflops_per_gpu,params_B,notes\n";
const std::string shape = "selene,16,24,4096,32,2048,51200,64,";

ValidationSet read(const std::string& text) {
  const TemporaryFolder folder;
  write_content(folder.file("runs.csv"), text);
  return read_validation_set(folder.file("runs.csv"));
}

std::string refusal(const std::string& text) {
  return tests::refusal<std::runtime_error>([&] { read(text); });
}

TEST(Validation, ReadsARunAsAQuestion) {
  const ValidationSet set = read("#! title: Mine\n#! bound_percent: 12.5\n#! least_cases: 1\n" +
                                 columns + "a,me," + shape + "2,4,2,4,none,9.5,,,\n");

  ASSERT_EQ(set.cases.size(), 1u);
  const ValidationCase& one = set.cases.front();
  EXPECT_EQ(set.title, "Mine");
  EXPECT_EQ(set.bound, 0.125);
  EXPECT_EQ(set.least_cases, 1);
  EXPECT_EQ(one.question.grid->str(), "x=2,data=2,pipe=4");
  EXPECT_EQ(one.question.micro_batches, 8);
  EXPECT_EQ(one.question.options.recompute, Recompute::none);
  EXPECT_EQ(one.question.model.layers, 24);
  EXPECT_EQ(one.published.value, 9.5);
  EXPECT_THAT(one.left_out, IsEmpty());
}

TEST(Validation, TakesSecondsBeforeFlopsAndFlopsByTheirConvention) {
  const std::string start = "me," + shape + "2,4,2,4,full,";
  const ValidationSet set = read(columns + "a," + start + ",100,,iter_s=7.5; conv=hw4\n" + "b," +
                                 start + ",100,,conv=model3 (derived)\n" + "c," + start +
                                 ",100,,conv=hw4\n" + "d," + start + ",100,5,conv=neox60\n");

  // 72 and 96 B s l h^2 with their terms in s and V, and (6 P + 60 s h l) B s.
  const double layers = 64.0 * 2048.0 * 24.0 * 4096.0 * 4096.0;
  const double attention = 2048.0 / (6.0 * 4096.0);
  const double rate = 16.0 * 100e12;
  EXPECT_EQ(set.cases[0].published.value, 7.5);
  EXPECT_NEAR(set.cases[1].published.value,
              72.0 * layers * (1.0 + attention + 51200.0 / (12.0 * 24.0 * 4096.0)) / rate, 1e-9);
  EXPECT_NEAR(set.cases[2].published.value,
              96.0 * layers * (1.0 + attention + 51200.0 / (16.0 * 24.0 * 4096.0)) / rate, 1e-9);
  EXPECT_NEAR(set.cases[3].published.value,
              64.0 * 2048.0 * (6.0 * 5e9 + 60.0 * 2048.0 * 4096.0 * 24.0) / rate, 1e-9);
}

TEST(Validation, KeepsWhatItCannotExpressWithTheReason) {
  const ValidationSet set =
      read("#! awaits: later\nlater,cp," + columns +
           ",2,a,me,selene,16,24,4096,32,2048,51200,64,2,2,"
           "2,4,full,9,,,\n,,b,me," +
           shape + "2,4,2,4,by-magic,9,,,\nyes,,c,me," + shape + "2,4,2,4,full,9,,,\n");

  EXPECT_THAT(set.cases[0].left_out, HasSubstr("context parallelism"));
  EXPECT_THAT(set.cases[1].left_out, HasSubstr("recompute = by-magic cannot be expressed yet"));
  EXPECT_THAT(set.cases[2].left_out, IsEmpty());
  EXPECT_THAT(set.cases[2].unsaid, ElementsAre("later = yes"));
}

TEST(Validation, RefusesByLineAndColumn) {
  const auto row = [](const std::string& rest) { return columns + "a,me," + shape + rest; };

  EXPECT_THAT(refusal(columns + "a,me,selene,16,20000,4096,32,2048,51200,64,2,4,2,4,full,9,,,\n"),
              HasSubstr("column layers: layers = 20000, but it must be at most 10000"));
  EXPECT_THAT(refusal(columns + "a,me,selene,16,24,4096,33,2048,51200,64,2,4,2,4,full,9,,,\n"),
              HasSubstr("column heads: hidden = 4096 does not divide into 33 heads"));
  EXPECT_THAT(refusal(row("2,x,2,4,full,9,,,\n")),
              HasSubstr("line 2, column pp: 'x' is no whole number"));
  EXPECT_THAT(refusal(row("2,2,2,4,full,9,,,\n")), HasSubstr("column n_gpus: the grid has 8"));
  EXPECT_THAT(refusal(row("2,4,2,5,full,9,,,\n")), HasSubstr("column micro_batch: a batch of 64"));
  EXPECT_THAT(refusal(row("2,4,2,4,full,-9,,,\n")), HasSubstr("column seconds: '-9' is no number"));
  EXPECT_THAT(refusal(row("2,4,2,4,full,,99,,\n")), HasSubstr("column notes: flop/s without"));
  EXPECT_THAT(refusal(row("2,4,2,4,full,9,,\n")), HasSubstr("line 2: 18 cells, but 19 columns"));
  EXPECT_THAT(refusal(row("2,4,2,4,full,9,,,\n") + "a,me," + shape + "2,4,2,4,full,9,,,\n"),
              HasSubstr("line 3, column id: 'a' is there twice"));
  EXPECT_THAT(refusal(columns + "a,me,selen,16,24,4096,32,2048,51200,64,2,4,2,4,full,9,,,\n"),
              HasSubstr("column platform: unknown platform"));
}

TEST(Validation, RefusesColumnsAndRemarksThatNobodyKnows) {
  EXPECT_THAT(refusal("recomput," + columns), HasSubstr("did you mean \"recompute\"?"));
  EXPECT_THAT(refusal("id,source\n"), HasSubstr("the column 'platform' is missing"));
  EXPECT_THAT(refusal("#! bound: 3\n" + columns), HasSubstr("remark bound: it is not known"));
  EXPECT_THAT(refusal("#! bound_percent: low\n" + columns), HasSubstr("remark bound_percent"));
  EXPECT_THAT(refusal(columns), HasSubstr("has no rows"));
  EXPECT_THAT(refusal("id,id\n"), HasSubstr("line 1: the column 'id' is there twice"));
  EXPECT_THAT(refusal("id\n\"a\n"), HasSubstr("line 2: the quote of cell 1 is not closed"));
  EXPECT_THROW(read_validation_set("known_run"), std::runtime_error);
}

const std::string llama_columns =
    "id,source,platform,model,seq,n_gpus,global_batch_sequences,grid,micro_batch,recompute,norm,"
    "key_value_heads,biases\n";

TEST(Validation, TakesAModelByItsNameAndWhatOtherCellsSayInstead) {
  const ValidationSet set =
      read(llama_columns + "a,me,frontier,llama3.1-8b,2048,8,8,1x1x8x1,1,none,,,\n" +
           "b,me,frontier,llama2-7b,,8,8,1x1x8x1,1,full,layer,8,on\n");

  Model expected = read_model("llama3.1-8b");
  expected.sequence = 2048;
  EXPECT_EQ(described(set.cases[0].question.model), described(expected));
  EXPECT_EQ(set.cases[0].question.model.rotary, expected.rotary);
  EXPECT_EQ(block_shape(set.cases[1].question.model),
            "rotary positions, 8 key-value heads, SwiGLU of 11008, untied embeddings");
  const auto row = [](const std::string& cells) {
    return refusal(llama_columns + "a,me,frontier," + cells);
  };
  EXPECT_THAT(row("llama3.1-8,2048,8,8,1x1x8x1,1,none,,,\n"),
              HasSubstr("column model: unknown model \"llama3.1-8\"; did you mean"));
  EXPECT_THAT(row(",2048,8,8,1x1x8x1,1,none,,,\n"), HasSubstr("column layers: '' is no whole"));
  EXPECT_THAT(row("llama2-7b,,8,8,1x1x8x1,1,none,rsm,,\n"),
              HasSubstr("column norm: 'rsm' is none of layer, rms"));
  EXPECT_THAT(row("llama2-7b,,8,8,1x1x8x1,1,none,,5,\n"),
              HasSubstr("column heads: 32 heads of queries do not divide among 5"));
  EXPECT_THAT(row("llama2-7b,,8,8,1x1x8x1,1,none,,,no\n"),
              HasSubstr("column biases: 'no' is neither on nor off"));
}

// Projected, and compared with nothing: no table of deviations knows it.
TEST(Validation, ProjectsARunThatNobodyHasPublished) {
  const ValidationSet set =
      read(llama_columns + "a,me,frontier,tinyllama-1.1b,,8,64,1x1x8x1,1,full,,,\n");

  const SetResult result = run_validation(set, Fidelity::estimated, [](const auto&, double) {});

  ASSERT_TRUE(result.cases[0].projection.has_value());
  EXPECT_GT(result.cases[0].projection->outcome.total.value, 0.0);
  EXPECT_FALSE(result.cases[0].one.is_published());
  EXPECT_THAT(cases_that_ran(result, "", SampleSide::out), IsEmpty());
  EXPECT_THAT(residuals_of({result}), IsEmpty());
  EXPECT_THAT(rankings(result), IsEmpty());
  const std::string seconds =
      fmt::format("{:.6g}", result.cases[0].projection->outcome.total.value);
  EXPECT_THAT(validation_csv({result}), HasSubstr("estimated,," + seconds + ",,"));
  const TemporaryFolder folder;
  write_content(folder.file("before.json"), validation_json({result}, {}));
  const EarlierValidation earlier = read_validation_json(folder.file("before.json"));
  EXPECT_THAT(changes_text(earlier, {result}), HasSubstr("no row moved"));
}

// All but the fine-tuning of 405B on 128 GCDs, which needs more than they have.
TEST(Validation, ShipsExamplesOfLlamaShapesThatFit) {
  const ValidationSet set =
      read_validation_set(source_path("scaling/validation/examples/llama.csv"));

  const SetResult result = run_validation(set, Fidelity::estimated, [](const auto&, double) {});

  EXPECT_GE(result.cases.size(), 6u);
  for (const CaseResult& one : result.cases) {
    EXPECT_FALSE(one.one.is_published()) << one.one.id;
    ASSERT_TRUE(one.projection.has_value()) << one.one.id << ": " << one.why_not;
    const bool fits = one.projection->memory.value < one.projection->memory_limit.value;
    EXPECT_EQ(fits, one.one.id != "405b-frontier-z128") << one.one.id;
  }
}

TEST(Validation, ShipsEveryPublishedRowWithItsBound) {
  const ValidationSet runs = read_validation_set("known_runs");
  const ValidationSet weak = read_validation_set("sc24_weak");
  const ValidationSet overlap = read_validation_set("sc24_overlap");

  EXPECT_EQ(runs.cases.size(), 101u);
  EXPECT_EQ(weak.cases.size(), 13u);
  EXPECT_EQ(overlap.cases.size(), 4u);
  for (const ValidationSet& set : {runs, weak}) {
    EXPECT_TRUE(set.bound.has_value()) << set.name;
    EXPECT_GT(set.least_cases, 0) << set.name;
    EXPECT_THAT(set.in_sample, Not(IsEmpty())) << set.name;
  }
  const auto in_sample =
      std::count_if(weak.cases.begin(), weak.cases.end(),
                    [](const ValidationCase& one) { return !one.in_sample.empty(); });
  EXPECT_EQ(in_sample, 4);  // the small rows of Frontier, by their micro-batch, and gpt-80b
}

TEST(Validation, CountsDeviations) {
  const Deviations found = deviations_of(std::vector<double>{0.1, -0.3, 0.2, 0.0});

  EXPECT_EQ(found.count, 4u);
  EXPECT_NEAR(found.mean_absolute, 0.15, 1e-12);
  EXPECT_NEAR(found.bias, 0.0, 1e-12);
  EXPECT_NEAR(found.median, 0.15, 1e-12);     // of 0, 0.1, 0.2, 0.3
  EXPECT_NEAR(found.ninetieth, 0.27, 1e-12);  // 0.9 x 3 = 2.7 steps on
  EXPECT_EQ(found.worst, 1u);
  EXPECT_EQ(deviations_of(std::vector<double>{}).count, 0u);
  EXPECT_NEAR(quantile({8.0, 1.0, 4.0, 2.0}, 0.5), 3.0, 1e-12);
}

TEST(Validation, ProjectsARunAsItWas) {
  const ValidationSet set = read(columns + "a,me," + shape +
                                 "2,4,2,4,full,9,,,\nb,me,selene,16,2,"
                                 "4096,32,2048,51200,64,2,4,2,4,full,9,,,\n");

  const SetResult result = run_validation(set, Fidelity::estimated, [](const auto&, double) {});

  const Question& question = set.cases[0].question;
  const Estimate expected =
      estimate_step(point_of(question, *question.grid, 8), read_platform("selene"));
  ASSERT_TRUE(result.cases[0].projection.has_value());
  EXPECT_EQ(result.cases[0].projection->outcome.total.value, expected.outcome.total.value);
  EXPECT_THAT(result.cases[0].deviation(),
              DoubleNear(expected.outcome.total.value / 9.0 - 1.0, 1e-12));
  EXPECT_FALSE(result.cases[1].projection.has_value());
  EXPECT_THAT(result.cases[1].why_not, HasSubstr("2 layers cannot be dealt out to 4 stages"));
}

TEST(Validation, RefusesAnEarlierOneThatIsNone) {
  const TemporaryFolder folder;
  write_content(folder.file("no.json"), "{\"format\":\"something\"}");

  EXPECT_THROW(read_validation_json(folder.file("no.json")), std::runtime_error);
  EXPECT_THROW(read_validation_json(folder.file("none.json")), std::runtime_error);
}

}  // namespace
}  // namespace fourfold::tests
