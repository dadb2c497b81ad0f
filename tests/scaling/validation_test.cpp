// Measured runs: read as questions, refused by line and column, projected, compared, and guarded by
// bounds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "platforms/device_memory.hpp"
#include "scaling/bars/deviations.hpp"
#include "scaling/bars/residuals.hpp"
#include "scaling/validation/memory_deviations.hpp"
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
#include "tests/scaling/small_questions.hpp"
#include "tests/temporary_folder.hpp"

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
  return read_from(text, read_validation_set, "runs.csv");
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

// What edits of one entry do not bring about; all others are in tests/golden/refusals.txt.
TEST(Validation, RefusesByLineAndColumn) {
  const auto row = [](const std::string& rest) { return columns + "a,me," + shape + rest; };

  EXPECT_THAT(refusal(columns + "a,me,selene,16,20000,4096,32,2048,51200,64,2,4,2,4,full,9,,,\n"),
              HasSubstr("column layers: layers = 20000, but it must be at most 10000"));
  EXPECT_THAT(refusal(row("2,4,2,4,full,-9,,,\n")), HasSubstr("column seconds: '-9' is no number"));
  EXPECT_THAT(refusal(row("2,4,2,4,full,9,,,\n") + "a,me," + shape + "2,4,2,4,full,9,,,\n"),
              HasSubstr("line 3, column id: 'a' is there twice"));
  EXPECT_THAT(refusal("recomput," + columns), HasSubstr("did you mean \"recompute\"?"));
  EXPECT_THAT(refusal("micro_batches," + columns), HasSubstr("did you mean \"micro_batch\"?"));
  EXPECT_THAT(refusal("#! bound: 3\n" + columns), HasSubstr("remark bound: it is not known"));
  EXPECT_THAT(refusal("#! bound_percent: low\n" + columns), HasSubstr("remark bound_percent"));
  EXPECT_THAT(refusal(columns), HasSubstr("has no rows"));
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
  EXPECT_THAT(refusal(llama_columns + "a,me,frontier,llama2-7b,,8,8,1x1x8x1,1,none,,5,\n"),
              HasSubstr("column heads: 32 heads of queries do not divide among 5"));
  EXPECT_THAT(refusal(llama_columns + "a,me,frontier,llama2-7b,,8,8,1x1x8x1,1,none,rsm,,\n"),
              HasSubstr("column norm: 'rsm' is none of layer, rms"));
}

// All but the fine-tuning of 405B on 128 GCDs, which needs more than they have. As nobody has
// published them, they are compared with nothing: no table of deviations knows them.
TEST(Validation, ShipsExamplesOfLlamaShapesThatFit) {
  const ValidationSet set =
      read_validation_set(source_path("scaling/validation/examples/llama.csv"));

  const SetResult result = run_validation(set, Fidelity::estimated, ignore);

  EXPECT_GE(result.cases.size(), 6u);
  for (const CaseResult& one : result.cases) {
    EXPECT_FALSE(one.one.is_published()) << one.one.id;
    ASSERT_TRUE(one.projection.has_value()) << one.one.id << ": " << one.why_not;
    const bool fits = one.projection->memory.value < one.projection->memory_limit.value;
    EXPECT_EQ(fits, one.one.id != "405b-frontier-z128") << one.one.id;
    const std::string seconds = fmt::format("{:.6g}", one.projection->outcome.total.value);
    EXPECT_THAT(validation_csv({result}), HasSubstr("estimated,," + seconds + ",,"));
  }
  EXPECT_THAT(cases_that_ran(result, "", SampleSide::out), IsEmpty());
  EXPECT_THAT(residuals_of({result}), IsEmpty());
  EXPECT_THAT(rankings(result), IsEmpty());
}

TEST(Validation, ShipsEveryPublishedRowWithItsBound) {
  const ValidationSet runs = read_validation_set("known_runs");
  const ValidationSet weak = read_validation_set("sc24_weak");

  EXPECT_EQ(runs.cases.size(), 101u);
  EXPECT_EQ(weak.cases.size(), 13u);
  EXPECT_EQ(read_validation_set("sc24_overlap").cases.size(), 4u);
  for (const ValidationSet& set : {runs, weak}) {
    EXPECT_TRUE(set.bound.has_value()) << set.name;
    EXPECT_GT(set.least_cases, 0) << set.name;
    EXPECT_THAT(set.in_sample, Not(IsEmpty())) << set.name;
  }
  // The small rows of Frontier, by their micro-batch, and gpt-80b.
  EXPECT_EQ(
      std::ranges::count_if(weak.cases, [](const auto& one) { return !one.in_sample.empty(); }), 4);
}

TEST(Validation, CountsDeviations) {
  const Deviations found = deviations_of(std::vector<double>{0.1, -0.3, 0.2, 0.0});

  EXPECT_NEAR(found.median, 0.15, 1e-12);     // of 0, 0.1, 0.2, 0.3
  EXPECT_NEAR(found.ninetieth, 0.27, 1e-12);  // 0.9 x 3 = 2.7 steps on
  EXPECT_EQ(deviations_of(std::vector<double>{}).count, 0u);
}

TEST(Validation, ProjectsARunAsItWas) {
  const ValidationSet set = read(columns + "a,me," + shape +
                                 "2,4,2,4,full,9,,,\nb,me,selene,16,2,"
                                 "4096,32,2048,51200,64,2,4,2,4,full,9,,,\n");

  const SetResult result = run_validation(set, Fidelity::estimated, ignore);

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

std::int64_t least_divisor(std::int64_t number) {
  std::int64_t divisor = 2;
  while (number % divisor != 0) ++divisor;
  return divisor;
}

// As users of FSDP and of Megatron-LM write their runs down: sharded over all devices, and cut
// along x, into stages and along data.
TEST(ShippedModels, AreProjectedAsRowsOfFsdpAndOf3D) {
  std::string rows =
      "id,source,platform,model,n_gpus,tp,pp,dp,global_batch_sequences,micro_batch,zero,recompute,"
      "order,sequence_parallel,software\n";
  for (const std::string& name : known_models()) {
    const Model model = read_model(name);
    const std::int64_t tp = least_divisor(model.kv_heads()), pp = least_divisor(model.layers);
    rows += fmt::format("{0}-fsdp,me,alps,{0},64,,,64,64,1,3,full,,,pytorch-fsdp\n", name);
    rows += fmt::format("{0}-3d,me,selene,{0},{1},{2},{3},4,32,1,1,full,1f1b,{4},megatron-core\n",
                        name, 4 * tp * pp, tp, pp, model.sequence % tp == 0 ? "on" : "off");
  }
  const SetResult result = run_validation(read(rows), Fidelity::estimated, ignore);

  EXPECT_EQ(result.cases.size(), 2 * known_models().size());
  for (const CaseResult& one : result.cases) {
    ASSERT_TRUE(one.projection.has_value()) << one.one.id << ": " << one.why_not;
    EXPECT_GT(one.projection->outcome.total.value, 0.0) << one.one.id;
  }
}

// --- peaks of memory: the bound is on deviations without their sign, of the stage that was
// measured

// Peaks of 1 GB that are projected so many times as large.
SetResult peaks(const std::vector<double>& ratios) {
  SetResult result;
  result.set.name = "peaks";
  result.set.memory_bound = 0.05;
  for (const double ratio : ratios) {
    CaseResult& one = result.cases.emplace_back();
    one.one.id = "case" + std::to_string(result.cases.size());
    one.one.question.platform = "frontier";
    one.one.memory.emplace();
    one.one.memory->peak = {1e9};
    one.projection.emplace();
    one.projection->stage_memory.resize(1);
    one.projection->stage_memory[0].peak = {1e9 * ratio};
  }
  return result;
}

TEST(MemoryBounds, AreOnDeviationsWithoutTheirSign) {
  EXPECT_EQ(memory_worse_than_bound(peaks({1.04, 0.96})), "");
  EXPECT_EQ(memory_worse_than_bound(peaks({1.2, 0.8})),
            "peaks: peaks of memory deviate by 20.00 % in the mean, above the bound of 5 %");
  EXPECT_EQ(memory_worse_than_bound(peaks({0.9, 0.9})),
            "peaks: peaks of memory deviate by 10.00 % in the mean, above the bound of 5 %");
}

TEST(MemoryBounds, NeedAsManyPeaksAsTheSetSays) {
  SetResult result = peaks({1.0, 1.0});
  result.set.least_cases = 3;

  EXPECT_EQ(memory_worse_than_bound(result), "peaks: 2 peaks of memory ran, but at least 3 must");
}

TEST(MemoryDeviations, AreOfTheStageThatWasMeasured) {
  const std::vector<std::pair<PeakOf, double>> stages{
      {PeakOf::first, 3e9}, {PeakOf::last, 1e9}, {PeakOf::fullest, 4e9}};
  for (const auto& [of, bytes] : stages) {
    CaseResult one = peaks({3.0}).cases.front();
    one.projection->stage_memory.resize(3);
    one.projection->stage_memory[1].peak = {4e9};
    one.projection->stage_memory[2].peak = {1e9};
    one.one.memory->of = of;

    EXPECT_EQ(projected_memory(one).value, bytes) << name(of);
    EXPECT_DOUBLE_EQ(memory_deviation(one), bytes / 1e9 - 1.0) << name(of);
  }
}

// Over needs from what surely fits to what surely does not, of runs that did and did not fit.
TEST(MemoryStatistics, CountWhatWasCertainAndWrong) {
  std::size_t certain = 0, wrong = 0, both = 0;
  SetResult result = peaks(std::vector<double>(42, 1.0));
  for (std::size_t i = 0; i < result.cases.size(); ++i) {
    CaseResult& one = result.cases[i];
    one.projection->memory = {4e9 * static_cast<double>(i / 2)};
    one.one.memory->outcome = i % 2 == 0 ? MemoryOutcome::ran : MemoryOutcome::out_of_memory;
    const double chance = chance_to_fit(one);
    const bool sure = chance >= fits_from || chance <= fits_not_below;
    certain += sure ? 1 : 0;
    wrong += outcome_is_right(one) ? 0 : 1;
    both += sure && !outcome_is_right(one) ? 1 : 0;
  }

  const MemoryStatistics found = memory_statistics(result, "");

  EXPECT_EQ(found.outcomes, 42U);
  EXPECT_EQ(found.right, 42U - wrong);
  EXPECT_EQ(found.certain_and_wrong, both);
  EXPECT_LT(both, certain);
  EXPECT_LE(both, wrong);
  EXPECT_GT(both, 0U);
}

}  // namespace
}  // namespace fourfold::tests
