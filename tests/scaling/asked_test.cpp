// What people type becomes the question they mean, with the ends of its range; and how a question,
// a file and a study are told apart.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "scaling/cli/question_flags.hpp"
#include "scaling/records/provenance.hpp"
#include "scaling/records/question.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/study/speedup.hpp"
#include "scaling/study/study.hpp"
#include "scaling/words/toml_file.hpp"
#include "schedule/models/model_file.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/scaling/small_questions.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

QuestionFlags typed(const std::string& words) {
  CLI::App app;
  QuestionFlags flags;
  add_machine_flags(app, flags);
  add_system_flag(app, flags);
  add_model_flags(app, flags);
  add_what_if_flags(app, flags);
  app.parse("--platform frontier --model gpt-5b " + words);
  return flags;
}

Question asked(const std::string& words) {
  return question_of(typed(words));
}

std::string said(const std::string& words) {
  return refusal<std::exception>([&] { asked(words); });
}

TEST(QuestionFlags, BecomeTheQuestion) {
  const Question question = asked(
      "--devices 32 --batch-tokens 131072 --scale nodes=0.5 --vocabulary 32000 --sequence 1024 "
      "--scale processor.memory_bandwidth_GBps=2 --stages 1,2,4 --recompute none "
      "--in-flight-blocks 3 --jitter 2% --seed 4");

  EXPECT_EQ(question.platform, "frontier");
  EXPECT_EQ(question.model.name, "gpt-5b");
  EXPECT_EQ(question.model.vocabulary, 32'000);
  EXPECT_EQ(question.model.sequence, 1024);
  EXPECT_EQ(question.devices, 32);
  EXPECT_EQ(question.global_batch, 128);
  EXPECT_EQ(question.scales, (Scales{{"nodes", 0.5}, {"processor.memory_bandwidth_GBps", 2.0}}));
  EXPECT_THAT(question.stages, ElementsAre(1, 2, 4));
  EXPECT_EQ(question.options.recompute, Recompute::none);
  EXPECT_EQ(question.options.in_flight_blocks, 3);
  EXPECT_EQ(question.what_ifs.jitter_percent, 2.0);
  EXPECT_EQ(question.what_ifs.seed, 4U);
  EXPECT_FALSE(question.grid.has_value());
  EXPECT_FALSE(question.micro_batches.has_value());
}

TEST(QuestionFlags, HaveTheirDefaults) {
  const Question question = asked("--devices 8");
  const StoppingRule rule = rule_of(typed("--devices 8"));

  EXPECT_EQ(question.global_batch, 16'777'216 / 2048);
  EXPECT_THAT(question.stages, ElementsAre(1));
  EXPECT_EQ(question.options, StepOptions{});
  EXPECT_EQ(question.what_ifs, WhatIfs{});
  EXPECT_EQ(typed("--devices 8").fidelity, "simulated");
  EXPECT_EQ(rule.at_most, 8);
  EXPECT_EQ(rule.at_least, 3);
  EXPECT_EQ(rule.margin, 0.01);
  EXPECT_EQ(rule.work_limit, 2'500'000'000);
  EXPECT_EQ(rule_of(typed("--devices 8 --at-most-grids 2")).at_most, 2);
  EXPECT_EQ(rule_of(typed("--devices 8 --at-most-grids 2")).at_least, 2);
  EXPECT_EQ(rule_of(typed("--devices 8 --at-most-grids 5")).at_least, 3);
  EXPECT_EQ(rule_of(typed("--devices 8 --work-limit 77")).work_limit, 77);
}

// Frontier's own is axonn-litgpt, with flash attention.
TEST(QuestionFlags, ChooseSoftwareBeforeTheSystemAndTheSystemBeforeTheMachine) {
  struct Case {
    const char *words, *software, *by;
    AttentionKernel attention;
  };
  for (const Case& one : std::vector<Case>{
           {"", "", "machine", AttentionKernel::fused},
           {" --system axonn-4d", "", "machine", AttentionKernel::fused},
           {" --system megatron-lm-2021", "megatron-lm-2021", "system", AttentionKernel::unfused},
           {" --system megatron-lm-2021 --software megatron-core", "megatron-core", "command line",
            AttentionKernel::unfused},  // as the system says
           {" --software deepspeed", "deepspeed", "command line", AttentionKernel::unfused},
           {" --software deepspeed --attention fused", "deepspeed", "command line",
            AttentionKernel::fused}}) {
    SCOPED_TRACE(one.words);
    const Question question = asked(std::string("--devices 8") + one.words);
    EXPECT_EQ(question.software, one.software);
    EXPECT_EQ(question.software_by, one.by);
    EXPECT_EQ(question.options.attention, one.attention);
  }
  EXPECT_THAT(said("--devices 8 --software deepsped"), HasSubstr("deepspeed"));
}

TEST(QuestionFlags, AGridSaysHowManyDevicesThereAre) {
  const Question question = asked("--grid 2x4x2x1 --micro-batches 4");

  EXPECT_EQ(question.devices, 16);
  EXPECT_EQ(question.grid, ProcessGrid(2, 4, 2, 1));
  EXPECT_EQ(question.micro_batches, 4);
  EXPECT_EQ(asked("--grid 2x4x2x1 --devices 8").devices, 8);  // refused by its search
  EXPECT_THAT(said(""), HasSubstr("--devices is required"));
}

TEST(QuestionFlags, AllStagesAreThoseThatDivideAndHaveLayers) {
  const std::int64_t layers = read_model("gpt-5b").layers;
  std::vector<std::int64_t> expected;
  for (std::int64_t count = 1; count <= layers; ++count) {
    if (96 % count == 0) expected.push_back(count);
  }
  EXPECT_EQ(asked("--devices 96 --stages all").stages, expected);
  EXPECT_EQ(asked("--devices 96 --stages all --order interleaved --chunks 2").stages.back(),
            layers / 2);
}

TEST(QuestionFlags, SayWhereTheyHaveNothingToDo) {
  EXPECT_EQ(said("--devices 8 --zero 1 --grad-precision-data bf16"), "accepted");
  for (const char* zero : {"2", "3"}) {
    EXPECT_THAT(said(fmt::format("--devices 8 --zero {} --grad-precision-data bf16", zero)),
                HasSubstr("--grad-precision-data cannot take effect"));
  }
}

TEST(Question, UniformLeavesTheAlgorithmOnly) {
  Question question;
  question.devices = 7;
  question.what_ifs.jitter_percent = 3.0;
  question.what_ifs.fail = {{"nic:0.0", 1}};
  question.what_ifs.seed = 9;
  question.what_ifs.collective = collective_tuning("ring");

  const Question alike = uniform(question);

  EXPECT_TRUE(alike.what_ifs.uniform());
  EXPECT_EQ(alike.what_ifs.seed, 1U);
  EXPECT_EQ(alike.what_ifs.collective, question.what_ifs.collective);
  EXPECT_EQ(alike.devices, 7);
}

TEST(Question, CountsWholeSequencesUpToTheMost) {
  Model model;
  model.sequence = 1024;
  const auto refused = [&](std::int64_t tokens) {
    return refusal<std::exception>([&] { sequences_in(tokens, model); });
  };

  EXPECT_EQ(sequences_in(4096, model), 4);
  EXPECT_EQ(sequences_in(most_batch_tokens, model), most_batch_tokens / 1024);
  EXPECT_THAT(refused(most_batch_tokens + 1024), HasSubstr("too large"));
  EXPECT_THAT(refused(1000), HasSubstr("no whole number"));
  EXPECT_THAT(refused(0), HasSubstr("no whole number"));
}

TEST(Question, FidelitiesHaveNames) {
  for (Fidelity one : {Fidelity::estimated, Fidelity::simulated, Fidelity::full, Fidelity::s4u,
                       Fidelity::s4u_step}) {
    EXPECT_EQ(fidelity_named(name(one)), one);
    EXPECT_EQ(simulates(one), one != Fidelity::estimated);
  }
}

TEST(TomlFile, IsReadWithAllItsTypes) {
  const TemporaryFolder folder;
  write_content(folder.file("a.toml"),
                "a = 1\nb = 2.5\nc = true\nd = 'x'\ne = [1, 2]\n[f]\ng = 3\n");
  write_content(folder.file("b.toml"), "\na = 2026-01-01\n");

  EXPECT_EQ(read_toml(folder.file("a.toml")).dump(),
            R"({"a":1,"b":2.5,"c":true,"d":"x","e":[1,2],"f":{"g":3}})");
  EXPECT_THAT(refusal<std::exception>([&] { read_toml(folder.file("b.toml")); }),
              HasSubstr("line 2: dates"));
}

TEST(Study, EachMachineGrowsFromItsOwnSmallestPoint) {
  const auto on = [](const char* platform, std::int64_t devices, double flops) {
    Record record = made_up_record();
    record.point.platform = platform;
    record.point.grid = ProcessGrid(devices, 1, 1, 1);
    record.model_flops = {flops};
    return record;
  };

  const Study study = make_study(
      {"", "title", {}, {}, {}, ""},
      {on("frontier", 8, 1e16), on("/home/me/alps.toml", 4, 3e15), on("frontier", 2, 4e15)});

  EXPECT_THAT(machines(study), ElementsAre("frontier", "alps"));
  const std::vector<Speedup> scaling = speedups(study);
  EXPECT_DOUBLE_EQ(scaling[0].ideal_rate.value, 4e15 / 20.0 / 2 * 8);
  EXPECT_DOUBLE_EQ(scaling[1].ideal_rate.value, 3e15 / 20.0);
  EXPECT_DOUBLE_EQ(scaling[2].ideal_rate.value, 4e15 / 20.0);
}

// 64-bit FNV-1a has published values.
TEST(Digest, IsThePublishedHash) {
  const TemporaryFolder folder;
  write_content(folder.file("a"), "foobar");

  EXPECT_EQ(digest(""), "cbf29ce484222325");
  EXPECT_EQ(digest("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(digest_of_file(folder.file("a")), "85944171f73967e8");
  for (const auto& digest_of : {digest_of_file, digest_of_large_file}) {
    EXPECT_THAT(refusal<std::exception>([&] { digest_of(folder.file("b")); }),
                HasSubstr("cannot read"));
  }
}

TEST(Digest, OfALargeFileTellsEveryByteApart) {
  const TemporaryFolder folder;
  const std::size_t piece = std::size_t{1} << 20;
  std::set<std::string> seen;
  for (const std::size_t bytes : {std::size_t{0}, piece - 1, piece, piece + 1, 2 * piece + 5}) {
    std::string content(bytes, 'a');
    const auto see = [&] {
      write_content(folder.file("a"), content);
      EXPECT_TRUE(seen.insert(digest_of_large_file(folder.file("a"))).second) << bytes;
    };
    see();
    for (const std::size_t place : {std::size_t{0}, bytes / 2, bytes - 1}) {
      if (bytes == 0) break;
      content[place] = 'b';
      see();
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
