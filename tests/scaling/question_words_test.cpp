// What is typed for a question and cannot take effect, or is no number, in every combination; and
// lists of counts against brute force.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "scaling/cli/question_flags.hpp"
#include "scaling/words/amounts.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/small_questions.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

// What is asked of a machine of the tests.
std::string asked(const std::string& words) {
  CLI::App app;
  QuestionFlags flags;
  add_machine_flags(app, flags);
  add_system_flag(app, flags);
  add_model_flags(app, flags);
  add_micro_batch_size_flag(app, flags);
  add_what_if_flags(app, flags);
  add_phase_flag(app, flags);
  app.parse("--platform " + path_of_machine("dragonfly") + " --model gpt-5b " + words);
  return json_of(question_of(flags)).dump();
}

std::string said(const std::string& words) {
  return refusal<std::exception>([&] { asked(words); });
}

// The same on eight devices.
std::string with(const std::string& words) {
  return said("--devices 8 " + words);
}

TEST(SecondsText, HasThreeDigitsOfWhatItIsReadBeside) {
  const auto said = [](double seconds, double of) { return seconds_text({seconds}, {of}); };
  EXPECT_EQ(said(3.1876, 3.1876), "3.188");
  EXPECT_EQ(said(0.1, 0.1), "0.100");
  EXPECT_EQ(said(0.003521, 0.003521), "0.00352");
  EXPECT_EQ(said(0.0001, 0.0035), "0.00010");
  EXPECT_EQ(said(0.0001, 12.0), "0.000");
}

// The words of the trade ask what our own ask.
TEST(BatchWords, SayOneQuestionInTokensSequencesAndMicroBatches) {
  const std::string ours =
      asked("--grid x=2,data=2,pipe=2 --batch-tokens 262144 --micro-batches 16");

  for (const std::string grid :
       {"--grid tp=2,pp=2,dp=2", "--grid tensor=2,pipeline=2,ddp=2,cp=1"}) {
    EXPECT_EQ(asked(grid + " --batch-tokens 256k --micro-batch-size 4"), ours);
    EXPECT_EQ(asked(grid + " --global-batch-size 128 --micro-batch-size 4"), ours);
  }
  EXPECT_THAT(with("--micro-batch-size 4"), HasSubstr("needs a --grid"));
  EXPECT_THAT(said("--grid 2x2x1x2 --global-batch-size 128 --micro-batch-size 3"),
              HasSubstr("126 sequences would be"));
}

// A batch of tokens says how many sequences are trained, not how many are decoded.
TEST(DecodedSequences, AreAskedFor) {
  EXPECT_EQ(with("--phase decode"),
            "--phase decode needs --global-batch-size: how many sequences are decoded at a time");
  EXPECT_EQ(with("--phase decode --global-batch-size 64"), "accepted");
  EXPECT_EQ(with("--phase decode --batch-tokens 1M"), "accepted");
  EXPECT_EQ(with("--phase prefill"), "accepted");
}

TEST(IdleLimits, AreThoseThatEndNoSimulation) {
  for (const std::string flag : {"--at-most-grids", "--work-limit"}) {
    const std::string idle = flag + " cannot take effect: ";
    for (const std::string of : {"--grid 2x2x2x1", "--devices 8", "--devices 8 --micro-batches 2",
                                 "--grid 2x2x2x1 --micro-batches 2"}) {
      EXPECT_EQ(said(flag + " 3 --fidelity estimated " + of),
                idle + "--fidelity estimated simulates nothing");
      const bool single = of.starts_with("--grid") && of.ends_with("2");
      for (const std::string fidelity : {"simulated", "full", "s4u"}) {
        EXPECT_EQ(said(flag + " 3 --fidelity " + fidelity + " " + of),
                  single ? idle +
                               "--grid and --micro-batches leave one simulation, which no limit "
                               "ends"
                         : "accepted");
      }
    }
  }
}

// That they are idle is a law of without_effect_test.cpp.
TEST(IdleOptions, AreSaidWithWhatMakesThemIdle) {
  for (const auto& [words, why] :
       {std::pair{"--recompute none --overlap oar,recompute",
                  "--overlap recompute cannot take effect: --recompute none gathers nothing anew"},
        {"--recompute selective --offload-activations on",
         "--offload-activations cannot take effect: --recompute selective keeps more of a block "
         "than its input"},
        {"--grad-precision-z bf16 --precision fp32",
         "--grad-precision-z cannot take effect: --precision fp32 means fp32 throughout"},
        {"--grad-precision-data fp32 --precision fp32",
         "--grad-precision-data cannot take effect: --precision fp32 means fp32 throughout"},
        {"--cut-messages on --sequence-parallel on",
         "--cut-messages cannot take effect: --sequence-parallel on has cut what is sent already"},
        {"--in-flight-blocks 3 --overlap oar,oag",
         "--in-flight-blocks cannot take effect: --overlap oar,oag leaves no reduce-scatter in "
         "flight"}}) {
    EXPECT_EQ(with(words), why);
  }
  for (const char* words :
       {"--recompute full --overlap oar,recompute", "--recompute none --overlap all",
        "--recompute none --overlap none", "--recompute none --offload-activations off",
        "--recompute full --offload-activations on", "--grad-precision-z fp32 --precision bf16",
        "--cut-messages off --sequence-parallel on", "--cut-messages on --sequence-parallel off",
        "--in-flight-blocks 3 --overlap ors", "--precision fp32", "--overlap none",
        // A system's own options are no words of the user's, but what is typed beside it is.
        "--system megatron-lm-2021"}) {
    EXPECT_EQ(with(words), "accepted") << words;
  }
  EXPECT_THAT(with("--system megatron-lm-2021 --in-flight-blocks 3"),
              HasSubstr("--in-flight-blocks cannot take effect"));
}

TEST(ScaleWords, AreAKeyAndAFactor) {
  EXPECT_EQ(with("--scale processor.memory_bandwidth_GBps=5e-1"), "accepted");
  for (const std::string wrong : {"processor.memory_GB", "=2", "processor.memory_GB=",
                                  "processor.memory_GB=2x", "processor.memory_GB=x", "2"}) {
    EXPECT_EQ(with("--scale " + wrong),
              "--scale '" + wrong + "' is no KEY=FACTOR, such as network.link_bandwidth_GBps=0.5");
  }
  EXPECT_EQ(with("--scale processor.memory_GB=2 --scale processor.memory_GB=3"),
            "--scale gives two factors for 'processor.memory_GB'; give their product");
}

TEST(StageWords, AreDivisorsOfTheDevices) {
  const auto stages = [](const std::string& words) {
    return said("--devices 24 --stages " + words);
  };

  for (const char* right : {"1", "2,4", "24", "all", "3,1"}) EXPECT_EQ(stages(right), "accepted");
  for (const char* wrong : {"0", "-1", "2,x", "x", "1.5", "2,,4", "All"}) {
    EXPECT_EQ(
        stages(wrong),
        fmt::format("--stages '{}' is no list of whole numbers, such as 1,2,4, nor all", wrong));
  }
  EXPECT_EQ(stages("2,5"), "--stages: 5 stages do not divide 24 devices");
}

// Doubling from the first number on, and the last.
TEST(CountWords, AreWhatBruteForceLists) {
  for (std::int64_t first = 1; first <= 12; ++first) {
    for (std::int64_t last = first; last <= 100; ++last) {
      std::set<std::int64_t> expected{last};
      for (std::int64_t count = first; count <= last; count *= 2) expected.insert(count);

      const std::vector<std::int64_t> counts =
          counts_in("--devices", fmt::format("{}..{}", first, last));

      EXPECT_EQ(counts, std::vector<std::int64_t>(expected.begin(), expected.end()))
          << first << ".." << last;
    }
  }
}

TEST(AmountWords, HaveEveryUnit) {
  for (const auto& [unit, factor] :
       {std::pair{"", 1.0}, std::pair{"k", 1e3}, std::pair{"M", 1e6}, std::pair{"B", 1e9},
        std::pair{"G", 1e9}, std::pair{"T", 1e12}, std::pair{"e3", 1e3}, std::pair{"e3k", 1e6}}) {
    EXPECT_DOUBLE_EQ(amount_in("--tokens", fmt::format("2.5{}", unit)), 2.5 * factor) << unit;
  }
  for (const auto& [unit, days] :
       {std::pair{"d", 1.0}, std::pair{"w", 7.0}, std::pair{"h", 1.0 / 24.0}}) {
    EXPECT_DOUBLE_EQ(days_in("--deadline", fmt::format("1.5{}", unit)), 1.5 * days) << unit;
  }
  for (const char* wrong : {"1K", "1m", "1t", "1 k", "1kk", "+1"}) {
    EXPECT_EQ(
        refusal<std::runtime_error>([&] { amount_in("--node-hours", wrong); }),
        fmt::format("--node-hours '{}' is no number such as 300B, 1.5T, 500k or 2e12", wrong));
  }
  for (const char* wrong : {"1D", "1", "1m", "1s", "1dd"}) {
    EXPECT_EQ(refusal<std::runtime_error>([&] { days_in("--time", wrong); }),
              fmt::format("--time '{}' is no time such as 30d, 2w or 36h", wrong));
  }
}

}  // namespace
}  // namespace fourfold::tests
