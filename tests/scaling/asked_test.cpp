// What people type and write down becomes the question they mean: flags, campaigns, logs and rows,
// each with the ends of its range; long because it goes through every way to ask.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "scaling/cli/question_flags.hpp"
#include "scaling/jobs/attached.hpp"
#include "scaling/jobs/interrupt.hpp"
#include "scaling/jobs/launch.hpp"
#include "scaling/records/provenance.hpp"
#include "scaling/records/question.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/study/loss_table.hpp"
#include "scaling/study/study.hpp"
#include "scaling/words/toml_file.hpp"
#include "schedule/models/model_file.hpp"
#include "support/clock_text.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::function<void()>& call) {
  return tests::refusal<std::exception>(call);
}

// --- the command line

QuestionFlags typed(std::vector<std::string> words) {
  CLI::App app;
  QuestionFlags flags;
  add_machine_flags(app, flags);
  add_system_flag(app, flags);
  add_model_flags(app, flags);
  add_what_if_flags(app, flags);
  std::vector<std::string> all{"--platform", "frontier", "--model", "gpt-5b"};
  all.insert(all.end(), words.begin(), words.end());
  std::reverse(all.begin(), all.end());  // as CLI11 wants them
  app.parse(all);
  return flags;
}

std::vector<std::string> split(const std::string& words) {
  std::istringstream text(words);
  return {std::istream_iterator<std::string>(text), {}};
}

Question asked(const std::vector<std::string>& words) {
  return question_of(typed(words));
}

std::string said(const std::vector<std::string>& words) {
  return refusal([&] { asked(words); });
}

TEST(QuestionFlags, BecomeTheQuestion) {
  const Question question = asked(split(
      "--devices 32 --batch-tokens 131072 --scale nodes=0.5 --vocabulary 32000 --sequence 1024 "
      "--scale processor.memory_bandwidth_GBps=2 --stages 1,2,4 --recompute none "
      "--in-flight-blocks 3 --jitter 2% --seed 4"));

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
  const Question question = asked({"--devices", "8"});
  const StoppingRule rule = rule_of(typed({"--devices", "8"}));

  EXPECT_EQ(question.global_batch, 16'777'216 / 2048);
  EXPECT_THAT(question.stages, ElementsAre(1));
  EXPECT_EQ(question.options, StepOptions{});
  EXPECT_EQ(question.what_ifs, WhatIfs{});
  EXPECT_EQ(typed({"--devices", "8"}).fidelity, "simulated");
  EXPECT_EQ(rule.at_most, 8);
  EXPECT_EQ(rule.at_least, 3);
  EXPECT_EQ(rule.margin, 0.01);
  EXPECT_EQ(rule.work_limit, 2'500'000'000);
}

// Frontier's own is axonn-litgpt, with flash attention.
TEST(QuestionFlags, ChooseSoftwareBeforeTheSystemAndTheSystemBeforeTheMachine) {
  const std::vector<std::string> devices{"--devices", "8"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = devices;
    all.insert(all.end(), more.begin(), more.end());
    return asked(all);
  };

  const Question of_machine = with({});
  EXPECT_EQ(of_machine.software, "");
  EXPECT_EQ(of_machine.software_by, "machine");
  EXPECT_EQ(of_machine.options.attention, AttentionKernel::fused);
  const Question of_system = with({"--system", "megatron-lm-2021"});
  EXPECT_EQ(of_system.software, "megatron-lm-2021");
  EXPECT_EQ(of_system.software_by, "system");
  EXPECT_EQ(of_system.options.attention, AttentionKernel::unfused);
  const Question typed_in = with({"--system", "megatron-lm-2021", "--software", "megatron-core"});
  EXPECT_EQ(typed_in.software, "megatron-core");
  EXPECT_EQ(typed_in.software_by, "command line");
  EXPECT_EQ(with({"--system", "axonn-4d"}).software_by, "machine");
  EXPECT_EQ(with({"--software", "deepspeed"}).options.attention, AttentionKernel::unfused);
  EXPECT_EQ(with({"--software", "deepspeed", "--attention", "fused"}).options.attention,
            AttentionKernel::fused);
  EXPECT_THAT(said({"--devices", "8", "--software", "deepsped"}), HasSubstr("deepspeed"));
}

TEST(QuestionFlags, AGridSaysHowManyDevicesThereAre) {
  const Question question = asked({"--grid", "2x4x2x1", "--micro-batches", "4"});

  EXPECT_EQ(question.devices, 16);
  EXPECT_EQ(question.grid, ProcessGrid(2, 4, 2, 1));
  EXPECT_EQ(question.micro_batches, 4);
  EXPECT_EQ(asked({"--grid", "2x4x2x1", "--devices", "8"}).devices, 8);  // refused by its search
  EXPECT_THAT(said({}), HasSubstr("--devices is required"));
  EXPECT_THAT(said({"--grid", "2x4x2x1", "--stages", "2"}), HasSubstr("cannot take effect"));
}

TEST(QuestionFlags, StagesAreAListOrAllThatDivideAndHaveLayers) {
  // gpt-5b has 24 layers.
  const std::int64_t layers = read_model("gpt-5b").layers;
  const std::vector<std::int64_t> all = asked({"--devices", "96", "--stages", "all"}).stages;

  std::vector<std::int64_t> expected;
  for (std::int64_t count = 1; count <= layers; ++count) {
    if (96 % count == 0) expected.push_back(count);
  }
  EXPECT_EQ(all, expected);
  const std::vector<std::int64_t> chunked =
      asked({"--devices", "96", "--stages", "all", "--order", "interleaved", "--chunks", "2"})
          .stages;
  EXPECT_EQ(chunked.back(), 12);
}

TEST(QuestionFlags, LimitsChangeTheRule) {
  EXPECT_EQ(rule_of(typed({"--devices", "8", "--at-most-grids", "2"})).at_most, 2);
  EXPECT_EQ(rule_of(typed({"--devices", "8", "--at-most-grids", "2"})).at_least, 2);
  EXPECT_EQ(rule_of(typed({"--devices", "8", "--at-most-grids", "5"})).at_least, 3);
  EXPECT_EQ(rule_of(typed({"--devices", "8", "--work-limit", "77"})).work_limit, 77);
}

TEST(QuestionFlags, SayWhereTheyHaveNothingToDo) {
  EXPECT_EQ(said({"--devices", "8", "--zero", "1", "--grad-precision-data", "bf16"}), "accepted");
  for (const char* zero : {"2", "3"}) {
    EXPECT_THAT(said({"--devices", "8", "--zero", zero, "--grad-precision-data", "bf16"}),
                HasSubstr("--grad-precision-data cannot take effect"));
  }
  EXPECT_EQ(said({"--devices", "8", "--overlap", "ors", "--in-flight-blocks", "1"}), "accepted");
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

  EXPECT_EQ(sequences_in(4096, model), 4);
  EXPECT_EQ(sequences_in(most_batch_tokens, model), most_batch_tokens / 1024);
  EXPECT_THAT(refusal([&] { sequences_in(most_batch_tokens + 1024, model); }),
              HasSubstr("too large"));
  EXPECT_THAT(refusal([&] { sequences_in(1000, model); }), HasSubstr("no whole number"));
  EXPECT_THAT(refusal([&] { sequences_in(0, model); }), HasSubstr("no whole number"));
}

TEST(Question, FidelitiesHaveNames) {
  for (Fidelity one : {Fidelity::estimated, Fidelity::simulated, Fidelity::full, Fidelity::s4u,
                       Fidelity::s4u_step}) {
    EXPECT_EQ(fidelity_named(name(one)), one);
    EXPECT_EQ(simulates(one), one != Fidelity::estimated);
  }
  EXPECT_STREQ(name(Fidelity::s4u_step), "s4u-step");
  EXPECT_STREQ(name(Fidelity::full), "full");
}

TEST(Question, AModelMayHaveOtherNumbers) {
  EXPECT_EQ(model_with("gpt-5b", {{"vocabulary", std::int64_t{7}}}).vocabulary, 7);
  EXPECT_EQ(model_with("gpt-5b", {}).vocabulary, read_model("gpt-5b").vocabulary);
  EXPECT_THAT(refusal([] {
                model_with("gpt-5b", {{"layers", most_layers + 1}});
              }),
              HasSubstr("at most"));
}

// --- campaigns

Campaign campaign_of(const std::string& text) {
  const TemporaryFolder folder;
  write_content(folder.file("mine.toml"), text);
  return read_campaign(folder.file("mine.toml"));
}

constexpr const char* whole = R"(
title = "Whole"
fidelity = "full"
batch_tokens = 65_536
published_csv = "rows.csv"
[options]
recompute = "none"
chunks = 1
overlap.all_gather = false
[simulate]
at_least_grids = 2
at_most_grids = 5
margin_fraction = 0.25
work_limit = 1234
[what_if]
jitter = "1%"
[[machine]]
platform = "frontier"
scales = { "network.link_bandwidth_GBps" = 0.5 }
points = [{ devices = 16, model = "gpt-5b", grid = "2x2x2x2", micro_batches = 2 }]
[[machine]]
platform = "perlmutter"
vocabulary = 1_000
sequence_tokens = 1_024
points = [{ devices = 32, model = "gpt-10b" }]
)";

TEST(CampaignFile, MeansWhatItSays) {
  const Campaign campaign = campaign_of(whole);

  EXPECT_EQ(campaign.name, "mine");
  EXPECT_EQ(campaign.title, "Whole");
  EXPECT_EQ(campaign.fidelity, Fidelity::full);
  EXPECT_THAT(campaign.published, ::testing::EndsWith("/rows.csv"));
  EXPECT_EQ(campaign.rule.at_least, 2);
  EXPECT_EQ(campaign.rule.at_most, 5);
  EXPECT_EQ(campaign.rule.margin, 0.25);
  EXPECT_EQ(campaign.rule.work_limit, 1234);
  ASSERT_EQ(campaign.questions.size(), 2U);
  const Question& first = campaign.questions[0];
  EXPECT_EQ(first.scales, (Scales{{"network.link_bandwidth_GBps", 0.5}}));
  EXPECT_EQ(first.micro_batches, 2);
  EXPECT_EQ(first.grid, ProcessGrid(2, 2, 2, 2));
  EXPECT_EQ(first.model.vocabulary, read_model("gpt-5b").vocabulary);
  EXPECT_EQ(first.options.recompute, Recompute::none);
  EXPECT_FALSE(first.options.overlap.all_gather);
  EXPECT_TRUE(first.options.overlap.all_reduce);
  EXPECT_EQ(first.what_ifs.jitter_percent, 1.0);
  const Question& second = campaign.questions[1];
  EXPECT_TRUE(second.scales.empty());
  EXPECT_EQ(second.model.vocabulary, 1000);
  EXPECT_EQ(first.model.sequence, read_model("gpt-5b").sequence);
  EXPECT_EQ(second.model.sequence, 1024);
  EXPECT_FALSE(second.grid.has_value());
  EXPECT_FALSE(second.micro_batches.has_value());
  EXPECT_EQ(second.global_batch, 64);
}

TEST(CampaignFile, EndsItsRangesWhereItSays) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = whole;
    const std::size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    return refusal([&] { campaign_of(text.replace(place, from.size(), to)); });
  };

  EXPECT_NE(with("at_least_grids = 2", "at_least_grids = 0"), "accepted");
  EXPECT_THAT(with("chunks = 1", "micro_batches = 1"), HasSubstr("belong to a point"));
  EXPECT_EQ(with("devices = 16", fmt::format("devices = {}", read_platform("frontier").devices())),
            "accepted");
  EXPECT_THAT(
      with("devices = 16", fmt::format("devices = {}", read_platform("frontier").devices() + 1)),
      HasSubstr("too many"));
}

TEST(TomlFile, IsReadWithAllItsTypes) {
  const TemporaryFolder folder;
  write_content(folder.file("a.toml"),
                "a = 1\nb = 2.5\nc = true\nd = 'x'\ne = [1, 2]\n[f]\ng = 3\n");
  write_content(folder.file("b.toml"), "\na = 2026-01-01\n");

  EXPECT_EQ(read_toml(folder.file("a.toml")).dump(),
            R"({"a":1,"b":2.5,"c":true,"d":"x","e":[1,2],"f":{"g":3}})");
  EXPECT_THAT(refusal([&] { read_toml(folder.file("b.toml")); }), HasSubstr("line 2: dates"));
}

// --- what was published, and studies

TEST(Study, EachMachineGrowsFromItsOwnSmallestPoint) {
  Record small = made_up_record();
  small.point.grid = ProcessGrid(2, 1, 1, 1);
  small.model_flops = {4e15};
  Record large = made_up_record();
  large.point.grid = ProcessGrid(8, 1, 1, 1);
  Record other = made_up_record();
  other.point.platform = "/home/me/alps.toml";
  other.point.grid = ProcessGrid(4, 1, 1, 1);

  const Study study = make_study({"", "title", {}, {}, {}, ""}, {large, other, small});

  EXPECT_THAT(machines(study), ElementsAre("frontier", "alps"));
  EXPECT_DOUBLE_EQ(study.rows[0].ideal_rate.value, 4e15 / 20.0 / 2 * 8);
  EXPECT_DOUBLE_EQ(study.rows[1].ideal_rate.value, other.rate().value);
  EXPECT_DOUBLE_EQ(study.rows[2].ideal_rate.value, small.rate().value);
  EXPECT_FALSE(study.rows[0].deviation().has_value());
  EXPECT_EQ(study.title, "title");
}

TEST(LossTable, HasALineAStepWithTheNewestLosses) {
  const TemporaryFolder folder;
  const std::string log = folder.file("log.jsonl");
  std::string text = R"({"kind":"run","model":{"name":"tiny","parameters":1234567},)"
                     R"("grid":"1x1x1x2","data":"a text","word":"byte","unigram_nats":3.5})";
  for (const char* line : {R"("step","step":2,"loss":4.5)", R"("step","step":1,"loss":5.5)",
                           R"("validation","step":2,"loss":4.25)", R"("step","step":2,"loss":4.75)",
                           R"("step","step":3,"loss":null)", R"("end","step":3)"}) {
    text += std::string("\n{\"kind\":") + line + '}';
  }
  write_content(log, text + '\n');

  const LossTable table = loss_table(log);

  EXPECT_EQ(table.csv,
            "step,training_loss,validation_loss,unigram_nats,resumed\n1,5.5,,3.5,0\n"
            "2,4.75,4.25,3.5,0\n3,,,3.5,0\n");
  EXPECT_EQ(table.model, "tiny, 1.23 million parameters, on grid 1x1x1x2");
  EXPECT_EQ(table.data, "a text");
  EXPECT_EQ(table.word, "byte");
  write_content(log, "{}\n");
  EXPECT_THAT(refusal([&] { loss_table(log); }), HasSubstr("is no log of a training run"));
  EXPECT_THAT(refusal([&] { loss_table(folder.file("none")); }), HasSubstr("cannot read"));
}

// The log keeps both branches of a run that goes on from an older checkpoint; the curve is of one.
TEST(LossTable, LeavesOutStepsBehindTheOneThatIsResumedFrom) {
  const TemporaryFolder folder;
  const std::string log = folder.file("log.jsonl");
  const auto run = [](int resumed_after_step) {
    return nlohmann::json{{"kind", "run"},
                          {"model", {{"name", "tiny"}, {"parameters", 1}}},
                          {"grid", "1x1x1x1"},
                          {"data", "a text"},
                          {"word", "byte"},
                          {"unigram_nats", 3.5},
                          {"resumed_after_step", resumed_after_step}}
               .dump() +
           "\n";
  };
  const auto step = [](int number, double loss) {
    return nlohmann::json{{"kind", "step"}, {"step", number}, {"loss", loss}}.dump() + "\n";
  };
  write_content(log, run(0) + step(1, 5.5) + step(2, 4.5) +
                         R"({"kind":"validation","step":2,"loss":4.25})"
                         "\n" +
                         step(3, 3.5) +
                         R"({"kind":"validation","step":3,"loss":3.25})"
                         "\n" +
                         step(4, 2.5) + run(2) + step(3, 3.75));

  EXPECT_EQ(loss_table(log).csv,
            "step,training_loss,validation_loss,unigram_nats,resumed\n1,5.5,,3.5,0\n"
            "2,4.5,4.25,3.5,1\n3,3.75,,3.5,0\n");

  // The same where each resume has begun a log of its own.
  const std::vector<std::string> parts{run(0) + step(1, 5.5) + step(2, 4.5) + step(3, 3.5),
                                       run(2) + step(3, 3.75) + step(4, 2.5), run(4) + step(5, 1.5),
                                       run(0) + step(1, 5.25)};
  std::string whole, csv = "of no run\n";
  for (const std::string& part : parts) {
    write_content(log, part);
    csv = loss_table(log, csv).csv;
    EXPECT_EQ(loss_table(log, csv).csv, csv);
    whole += part;
    write_content(log, whole);
    EXPECT_EQ(csv, loss_table(log).csv);
  }
}

// Wherever a log is torn, and by whatever, the steps of its other lines are in the curve.
TEST(LossTable, ReadsEveryWholeLineOfATornLog) {
  const TemporaryFolder folder;
  const std::string log = folder.file("log.jsonl");
  std::vector<std::string> lines{
      R"({"kind":"run","model":{"name":"tiny","parameters":1},"grid":"1x1x1x1","data":"a text","word":"byte","unigram_nats":3.5})"};
  for (int step = 1; step <= 5; ++step) {
    lines.push_back(nlohmann::json{{"kind", "step"}, {"step", step}, {"loss", 0.25 + step}}.dump());
  }
  for (std::size_t torn = 1; torn < lines.size(); ++torn) {
    for (const std::string& damage :
         {lines[torn].substr(0, lines[torn].size() / 2), std::string(), std::string("[[[["),
          std::string(R"({"kind":7})"), std::string("\0\0\0", 3)}) {
      std::string content, csv = "step,training_loss,validation_loss,unigram_nats,resumed\n";
      for (std::size_t i = 0; i < lines.size(); ++i) {
        content += (i == torn ? damage : lines[i]) + (i + 1 == lines.size() ? "" : "\n");
        if (i > 0 && i != torn) csv += fmt::format("{0},{0}.25,,3.5,0\n", i);
      }
      write_content(log, content);

      const LossTable table = loss_table(log);

      EXPECT_EQ(table.csv, csv) << torn << damage;
      const bool last_is_empty = torn + 1 == lines.size() && damage.empty();  // no line at all
      EXPECT_EQ(
          table.left_out,
          last_is_empty ? "" : fmt::format("line {} of {} is damaged and left out", torn + 1, log));
    }
  }
}

// 64-bit FNV-1a has published values.
TEST(Digest, IsThePublishedHash) {
  const TemporaryFolder folder;
  write_content(folder.file("a"), "foobar");

  EXPECT_EQ(digest(""), "cbf29ce484222325");
  EXPECT_EQ(digest("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(digest("foobar"), "85944171f73967e8");
  EXPECT_EQ(digest_of_file(folder.file("a")), digest("foobar"));
  EXPECT_THAT(refusal([&] { digest_of_file(folder.file("b")); }), HasSubstr("cannot read"));
}

// --- jobs

TEST(Launch, LooksBesideItself) {
  EXPECT_THAT(beside_this_executable("fourfold-replay"), ::testing::EndsWith("/fourfold-replay"));
  EXPECT_THAT(refusal([] { beside_this_executable("no-such-program"); }),
              HasSubstr("no-such-program is missing"));
}

TEST(Attached, HasNoInputAndIsHeardToTheEnd) {
  std::string output, complaint;

  const AttachedResult result =
      run_attached({"sh", "-c", "cat; yes | head -c 200000 >&2; yes | head -c 100000"},
                   {[&](std::string_view text) { output += text; },
                    [&](std::string_view text) { complaint += text; }});

  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(output.size(), 100'000U);
  EXPECT_EQ(complaint.size(), 200'000U);
}

// In a process of its own, as signals are.
TEST(InterruptDeathTest, IsNotedAndStopsLongWorkAndChildren) {
  EXPECT_EXIT(
      {
        watch_for_interrupts();
        stop_if_interrupted();
        std::raise(SIGTERM);
        std::raise(SIGINT);
        const bool counted = interrupts_so_far() == 1;  // both of one event
        const bool thrown = refusal([] { stop_if_interrupted(); }) == "interrupted";
        const bool child = refusal([] {
                             run_side_by_side({{{"sleep", "5"}, ""}});
                           }) == "interrupted";
        std::_Exit(counted && thrown && child ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "");
  EXPECT_EXIT(
      {
        watch_for_interrupts();
        // The child is asked to stop, and does; it interrupts once it is ready for that.
        const AttachedResult result =
            run_attached({"sh", "-c", "trap 'exit 3' USR1; kill -INT $PPID; sleep 9 & wait"});
        std::_Exit(result.interrupted && result.status == 3 ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(Progress, TimesAreRoundedToSeconds) {
  for (const auto& [seconds, text] : {std::pair{0.0, "0:00"},
                                      {7.4, "0:07"},
                                      {7.5, "0:08"},
                                      {59.6, "1:00"},
                                      {165.0, "2:45"},
                                      {3599.4, "59:59"},
                                      {3600.0, "1:00:00"},
                                      {3723.0, "1:02:03"},
                                      {-1.0, "?"}}) {
    EXPECT_EQ(clock_text(seconds), text);
  }
}

}  // namespace
}  // namespace fourfold::tests
