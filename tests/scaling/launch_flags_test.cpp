// A launch of others as flags: drawn sizes of a job come out as the grid, the batch and the
// micro-batches that they are, and what is typed besides wins.
#include "scaling/cli/launch_flags.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <map>

#include "scaling/cli/question_flags.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

using Flags = std::map<std::string, std::string>;

Flags flags_of(const std::vector<std::string>& words) {
  CLI::App app;
  QuestionFlags flags;
  CLI::App* verb = app.add_subcommand("project", "");
  add_machine_flags(*verb, flags);
  add_system_flag(*verb, flags);
  add_model_flags(*verb, flags);
  Flags said;
  for (const std::string& word : with_launch_flags(app, words)) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) said[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return said;
}

constexpr const char* model =
    "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --bf16";

TEST(LaunchFlags, SayHowGradientsAreReducedAndWhatGoesBesideProducts) {
  const auto said = [&](const std::string& more) {
    return flags_of({"project", "--megatron",
                     std::string(model) +
                         " --tensor-model-parallel-size 2 --micro-batch-size 1 "
                         "--global-batch-size 8 --overlap-grad-reduce " +
                         more,
                     "--devices=8"});
  };
  const Flags plain = said("");
  for (const char* flag : {"--grad-precision-data", "--data-bucket", "--software"}) {
    EXPECT_FALSE(plain.contains(flag)) << flag;
  }
  EXPECT_EQ(said("--grad-reduce-in-bf16").at("--grad-precision-data"), "bf16");
  EXPECT_EQ(said("--fp16").at("--grad-precision-data"), "bf16");
  const Flags in_fp32 = said("--fp16 --accumulate-allreduce-grads-in-fp32");
  EXPECT_FALSE(in_fp32.contains("--grad-precision-data"));
  EXPECT_FALSE(plain.contains("--pad-vocabulary"));
  EXPECT_EQ(said("--attention-backend unfused").at("--attention"), "unfused");
  EXPECT_EQ(said("--attention-backend fused").at("--attention"), "fused");
  EXPECT_EQ(said("--make-vocab-size-divisible-by 64").at("--pad-vocabulary"), "64");
  EXPECT_EQ(said("--ddp-bucket-size 1000").at("--data-bucket"), "2000");
  EXPECT_EQ(said("--recompute-granularity full --checkpoint-in-cpu").at("--offload-activations"),
            "on");
  EXPECT_FALSE(said("--checkpoint-in-cpu").contains("--offload-activations"));
  EXPECT_FALSE(said("--tp-comm-overlap").contains("--software"));
  EXPECT_EQ(said("--tp-comm-overlap --sequence-parallel").at("--software"),
            "megatron-core-userbuffers");
}

TEST(LaunchFlags, SayTheJobThatTheArgumentsSay) {
  for (const std::int64_t x : {1, 2, 8}) {
    for (const std::int64_t stages : {1, 4}) {
      for (const std::int64_t replicas : {1, 3}) {
        for (const std::int64_t micro_batch : {1, 2}) {
          const std::int64_t batch = 12 * micro_batch * replicas;
          const Flags said = flags_of(
              {"project", "--megatron",
               fmt::format("{} --tensor-model-parallel-size {} --pipeline-model-parallel-size {} "
                           "--micro-batch-size {} --global-batch-size {} --recompute-activations "
                           "--use-distributed-optimizer --sequence-parallel",
                           model, x, stages, micro_batch, batch),
               fmt::format("--devices={}", x * stages * replicas)});

          EXPECT_EQ(said.at("--grid"), fmt::format("x={},pipe={},data={}", x, stages, replicas));
          EXPECT_EQ(said.at("--global-batch-size"), fmt::to_string(batch));
          EXPECT_EQ(said.at("--micro-batches"), "12");
          EXPECT_EQ(said.at("--recompute"), "selective");
          EXPECT_EQ(said.at("--zero"), replicas > 1 ? "1" : "0");
          EXPECT_EQ(said.at("--sequence-parallel"), x > 1 ? "on" : "off");
        }
      }
    }
  }
}

// Arguments in one word, as `models show` and --model take them, are no flag; flags stay flags.
TEST(LaunchFlags, ArgumentsInOneWordAreAWord) {
  CLI::App app;
  app.add_subcommand("project", "")->add_option("--model");
  const std::vector<std::string> words{"project", "--model",  model, "--model=--num-layers 2 --x 1",
                                       "--model", "--nothing"};
  const std::vector<std::string> taken = with_launch_flags(app, words);

  EXPECT_EQ(taken[2], std::string(" ") + model);
  for (const std::size_t same : {0, 1, 3, 4, 5}) EXPECT_EQ(taken[same], words[same]);
}

// What Megatron-LM would not start with is refused: layers that virtual stages do not share.
TEST(LaunchFlags, VirtualStagesShareTheLayersOrAreRefused) {
  for (std::int64_t stages : {2, 3, 4}) {
    for (std::int64_t layers = 1; layers <= 12; ++layers) {
      const auto said = [&] {
        return flags_of({"project", "--megatron",
                         fmt::format("{} --world-size 12 --pipeline-model-parallel-size {} "
                                     "--num-layers-per-virtual-pipeline-stage {}",
                                     model, stages, layers)});
      };
      if (24 % (stages * layers) == 0) {
        EXPECT_EQ(said().at("--chunks"), fmt::to_string(24 / stages / layers));
      } else {
        EXPECT_THAT(refusal<std::runtime_error>([&] { said(); }), HasSubstr("no multiple of"));
      }
    }
  }
}

TEST(LaunchFlags, TypedBesidesWin) {
  const Flags said = flags_of({"project",
                               std::string("--megatron=") + model + " --nnodes 2 " +
                                   "--nproc-per-node 4 --recompute-granularity full",
                               "--recompute=none", "--system=axonn-4d"});

  EXPECT_EQ(said.at("--devices"), "8");
  EXPECT_EQ(said.at("--recompute"), "none");
  EXPECT_EQ(said.at("--system"), "axonn-4d");
}

// Nor is said what they exclude or leave nothing to do, and the rest follows them.
TEST(LaunchFlags, WhatIsTypedBesidesIsCountedWith) {
  const auto said = [](std::vector<std::string> typed) {
    typed.insert(typed.begin(),
                 {"project", std::string("--megatron=") + model +
                                 " --world-size 8 --tensor-model-parallel-size 2 "
                                 "--micro-batch-size 2 --global-batch-size 64 "
                                 "--use-distributed-optimizer --grad-reduce-in-bf16 "
                                 "--recompute-granularity full --recompute-method block"});
    return flags_of(typed);
  };
  EXPECT_EQ(said({}).at("--micro-batches"), "8");
  for (const char* batch : {"--global-batch-size=128", "--batch-tokens=256k"}) {
    const Flags flags = said({batch});
    EXPECT_EQ(flags.contains("--global-batch-size") + flags.contains("--batch-tokens"), 1) << batch;
    EXPECT_EQ(flags.at("--micro-batches"), "16") << batch;
  }
  EXPECT_FALSE(said({"--micro-batch-size=4"}).contains("--micro-batches"));
  EXPECT_EQ(said({"--grid=x=2,data=8"}).at("--micro-batches"), "4");
  for (const auto& [typed, idle] :
       {std::pair{"--recompute=none", "--recompute-layers"},
        std::pair{"--zero=2", "--grad-precision-data"}, std::pair{"--chunks=2", "--order"}}) {
    EXPECT_TRUE(said({}).contains(idle) && !said({typed}).contains(idle)) << typed;
  }
  EXPECT_THAT(refusal<std::exception>([&] { said({"--devices=16,32"}); }),
              HasSubstr("--devices 16,32 is not one: give one number of --devices"));
  CLI::App app;  // of a verb that needs no devices
  QuestionFlags flags;
  add_model_flags(*app.add_subcommand("show", ""), flags);
  const std::string words = std::string("--megatron=") + model + " --use-distributed-optimizer";
  EXPECT_THAT(with_launch_flags(app, {"show", words}), ::testing::Contains("--zero=1"));
}

// Recompute of some layers or of one function, and stages of other lengths at the ends.
TEST(LaunchFlags, SayWhichLayersAreRecomputedAndWhereTheyLie) {
  const auto said = [](const std::string& more) {
    return flags_of({"project", "--megatron", std::string(model) + " --world-size 8 " + more});
  };
  const Flags block = said(
      "--recompute-granularity full --recompute-method block "
      "--recompute-num-layers 3");
  EXPECT_EQ(block.at("--recompute"), "full");
  EXPECT_EQ(block.at("--recompute-layers"), "3");
  const std::string selective = "--recompute-granularity selective --recompute-modules ";
  EXPECT_EQ(said(selective + "mlp").at("--recompute"), "mlp");
  EXPECT_EQ(said(selective + "layernorm").at("--recompute"), "norms");
  EXPECT_EQ(said(selective + "core_attn").at("--recompute"), "selective");
  EXPECT_THAT(refusal<std::exception>([&] { said(selective + "moe_act"); }),
              HasSubstr("is one of core_attn, mlp and layernorm"));

  const std::string pipe =
      "--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 5 ";
  const std::string last = "--decoder-last-pipeline-num-layers ";
  EXPECT_EQ(said(pipe + last + "5").at("--layers-per-stage"), "5,2x7,5");
  EXPECT_EQ(said(pipe + last + "7").at("--layers-per-stage"), "5,2x6,7");
  EXPECT_THAT(refusal<std::exception>([&] { said(pipe + last + "6"); }),
              HasSubstr("13 layers are left for 2 stages"));
}

TEST(LaunchFlags, WhatHasNoAxisOrNoSizeIsRefused) {
  const auto said = [](const std::string& more) {
    return refusal<std::exception>([&] { flags_of({"project", "--megatron", model + more}); });
  };
  EXPECT_THAT(said(" --world-size 8 --context-parallel-size 2"), HasSubstr("no axis of a grid"));
  EXPECT_THAT(said(""), HasSubstr("give --devices"));
  EXPECT_THAT(said(" --world-size 6 --tensor-model-parallel-size 4"),
              HasSubstr("6 devices are no multiple of 4 x 1 stages"));
  const std::string share = " --micro-batch-size 2 --gas ", batch = " --global-batch-size 64";
  for (const char* devices : {" --nnodes 2 --num-gpus 4", " --num_nodes 2 --num-gpus 4"}) {
    EXPECT_EQ(said(devices + share + "4" + batch), "accepted");
    EXPECT_THAT(said(devices + share + "2" + batch),
                HasSubstr("a batch of 64 sequences is not micro-batches of 2 x 2 of them x 8"));
  }
  EXPECT_THAT(said(" --num-nodes -1 --num-gpus 4"), HasSubstr("give --devices"));
  EXPECT_THAT(refusal<std::exception>([] {
                flags_of({"project", "--neox", "a.txt"});
              }),
              HasSubstr("takes a .yml file"));
}

}  // namespace
}  // namespace fourfold::tests
