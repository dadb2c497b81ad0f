// What is typed for a question and cannot take effect, or is no number, in every combination; and
// lists of counts against brute force.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "scaling/cli/question_flags.hpp"
#include "scaling/words/amounts.hpp"
#include "tests/machines.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

std::string said(const std::vector<std::string>& words) {
  CLI::App app;
  QuestionFlags flags;
  add_machine_flags(app, flags);
  add_system_flag(app, flags);
  add_model_flags(app, flags);
  add_what_if_flags(app, flags);
  add_phase_flag(app, flags);
  std::vector<std::string> all{"--platform", path_of_machine("dragonfly"), "--model", "gpt-5b"};
  all.insert(all.end(), words.begin(), words.end());
  std::reverse(all.begin(), all.end());
  return refusal<std::exception>([&] {
    app.parse(all);
    question_of(flags);
  });
}

// The words of the trade ask what our own ask.
TEST(BatchWords, SayOneQuestionInTokensSequencesAndMicroBatches) {
  const auto asked = [](std::vector<std::string> words) {
    CLI::App app;
    QuestionFlags flags;
    add_machine_flags(app, flags);
    add_system_flag(app, flags);
    add_model_flags(app, flags);
    add_micro_batch_size_flag(app, flags);
    words.insert(words.end(), {"--platform", path_of_machine("dragonfly"), "--model", "gpt-5b"});
    std::ranges::reverse(words);
    app.parse(words);
    return json_of(question_of(flags)).dump();
  };
  const std::string ours =
      asked({"--grid", "x=2,data=2,pipe=2", "--batch-tokens", "262144", "--micro-batches", "16"});

  for (const char* grid : {"tp=2,pp=2,dp=2", "tensor=2,pipeline=2,ddp=2,cp=1"}) {
    EXPECT_EQ(asked({"--grid", grid, "--batch-tokens", "256k", "--micro-batch-size", "4"}), ours);
    EXPECT_EQ(asked({"--grid", grid, "--global-batch-size", "128", "--micro-batch-size", "4"}),
              ours);
  }
  EXPECT_THAT(refusal<std::exception>([&] {
                asked({"--devices", "8", "--micro-batch-size", "4"});
              }),
              HasSubstr("needs a --grid"));
  EXPECT_THAT(
      refusal<std::exception>([&] {
        asked({"--grid", "2x2x1x2", "--global-batch-size", "128", "--micro-batch-size", "3"});
      }),
      HasSubstr("126 sequences would be"));
}

// A batch of tokens says how many sequences are trained, not how many are decoded.
TEST(DecodedSequences, AreAskedFor) {
  const auto with = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--devices", "8"});
    return said(words);
  };
  EXPECT_EQ(with({"--phase", "decode"}),
            "--phase decode needs --global-batch-size: how many sequences are decoded at a time");
  EXPECT_EQ(with({"--phase", "decode", "--global-batch-size", "64"}), "accepted");
  EXPECT_EQ(with({"--phase", "decode", "--batch-tokens", "1M"}), "accepted");
  EXPECT_EQ(with({"--phase", "prefill"}), "accepted");
}

TEST(IdleLimits, AreThoseThatEndNoSimulation) {
  for (const char* flag : {"--at-most-grids", "--work-limit"}) {
    for (const char* fidelity : {"estimated", "simulated", "full", "s4u"}) {
      for (bool grid : {false, true}) {
        for (bool counts : {false, true}) {
          std::vector<std::string> words{flag, "3", "--fidelity", fidelity};
          if (grid) words.insert(words.end(), {"--grid", "2x2x2x1"});
          if (!grid) words.insert(words.end(), {"--devices", "8"});
          if (counts) words.insert(words.end(), {"--micro-batches", "2"});
          const std::string why =
              std::string(fidelity) == "estimated" ? "--fidelity estimated simulates nothing"
              : grid && counts
                  ? "--grid and --micro-batches leave one simulation, which no limit ends"
                  : "";
          EXPECT_EQ(said(words),
                    why.empty() ? "accepted" : fmt::format("{} cannot take effect: {}", flag, why))
              << ::testing::PrintToString(words);
        }
      }
    }
  }
}

TEST(IdleOptions, AreSaidWithWhatMakesThemIdle) {
  const auto with = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--devices", "8"});
    return said(words);
  };

  for (const char* recompute : {"full", "none", "selective"}) {
    const bool gathers = std::string(recompute) == "full";
    EXPECT_EQ(with({"--recompute", recompute, "--overlap", "oar,recompute"}),
              gathers ? "accepted"
                      : fmt::format("--overlap recompute cannot take effect: --recompute {} "
                                    "gathers nothing anew",
                                    recompute));
    EXPECT_EQ(with({"--recompute", recompute, "--overlap", "all"}), "accepted");
    EXPECT_EQ(with({"--recompute", recompute, "--overlap", "none"}), "accepted");
    EXPECT_EQ(with({"--recompute", recompute}), "accepted");
    EXPECT_EQ(with({"--recompute", recompute, "--offload-activations", "off"}), "accepted");
    EXPECT_EQ(with({"--recompute", recompute, "--offload-activations", "on"}),
              gathers ? "accepted"
                      : fmt::format("--offload-activations cannot take effect: --recompute {} "
                                    "keeps more of a block than its input",
                                    recompute));
  }
  for (const char* flag : {"--grad-precision-z", "--grad-precision-data"}) {
    for (const char* precision : {"fp32", "bf16"}) {
      EXPECT_EQ(with({flag, precision, "--precision", "bf16"}), "accepted");
      EXPECT_EQ(with({flag, precision, "--precision", "fp32"}),
                fmt::format("{} cannot take effect: --precision fp32 means fp32 throughout", flag));
    }
  }
  EXPECT_EQ(with({"--precision", "fp32"}), "accepted");
  for (const char* cut : {"on", "off"}) {
    for (const char* sequence : {"on", "off"}) {
      const bool idle = std::string(cut) == "on" && std::string(sequence) == "on";
      EXPECT_EQ(with({"--cut-messages", cut, "--sequence-parallel", sequence}),
                idle ? "--cut-messages cannot take effect: --sequence-parallel on has cut what "
                       "is sent already"
                     : "accepted");
    }
  }
  for (const auto& [overlap, idle] : {std::pair{"all", false}, std::pair{"none", true},
                                      std::pair{"ors", false}, std::pair{"oar,oag", true}}) {
    EXPECT_EQ(with({"--in-flight-blocks", "3", "--overlap", overlap}),
              idle ? fmt::format("--in-flight-blocks cannot take effect: --overlap {} leaves no "
                                 "reduce-scatter in flight",
                                 overlap)
                   : "accepted");
    EXPECT_EQ(with({"--overlap", overlap}), "accepted");
  }
  // A system's own options are no words of the user's, but what is typed beside it is.
  EXPECT_EQ(with({"--system", "megatron-lm-2021"}), "accepted");
  EXPECT_THAT(with({"--system", "megatron-lm-2021", "--in-flight-blocks", "3"}),
              HasSubstr("--in-flight-blocks cannot take effect"));
}

TEST(ScaleWords, AreAKeyAndAFactor) {
  const auto with = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--devices", "8"});
    return said(words);
  };

  EXPECT_EQ(with({"--scale", "processor.memory_bandwidth_GBps=0.5"}), "accepted");
  EXPECT_EQ(with({"--scale", "processor.memory_bandwidth_GBps=5e-1"}), "accepted");
  for (const char* wrong : {"processor.memory_GB", "=2", "processor.memory_GB=",
                            "processor.memory_GB=2x", "processor.memory_GB=x", "2"}) {
    EXPECT_EQ(with({"--scale", wrong}),
              fmt::format("--scale '{}' is no KEY=FACTOR, such as network.link_bandwidth_GBps=0.5",
                          wrong));
  }
  EXPECT_EQ(with({"--scale", "processor.memory_GB=2", "--scale", "processor.memory_GB=3"}),
            "--scale gives two factors for 'processor.memory_GB'; give their product");
}

TEST(StageWords, AreDivisorsOfTheDevices) {
  const auto with = [](const std::string& stages, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--devices", "24", "--stages", stages});
    return said(more);
  };

  for (const char* right : {"1", "2,4", "24", "all", "3,1"}) EXPECT_EQ(with(right), "accepted");
  for (const char* wrong : {"0", "-1", "2,x", "x", "1.5", "2,,4", "All"}) {
    EXPECT_EQ(
        with(wrong),
        fmt::format("--stages '{}' is no list of whole numbers, such as 1,2,4, nor all", wrong));
  }
  EXPECT_EQ(with("2,5"), "--stages: 5 stages do not divide 24 devices");
  EXPECT_EQ(with("2", {"--grid", "x=12,pipe=2"}),
            "--stages cannot take effect: --grid says how many there are");
  EXPECT_EQ(with("2", {"--grid", "x=12,pipe=2", "--system", "megatron-lm-2021"}),
            "--stages cannot take effect: --grid says how many there are");
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

TEST(FidelityWords, AreKnownOrTheNearestIsNamed) {
  EXPECT_EQ(fidelity_named("measured"), Fidelity::measured);
  EXPECT_THAT(refusal<std::runtime_error>([] { fidelity_named("estimate"); }),
              HasSubstr("unknown fidelity 'estimate'"));
  EXPECT_EQ(projected_fidelity_named("s4u-step"), Fidelity::s4u_step);
  EXPECT_THAT(refusal<std::runtime_error>([] { projected_fidelity_named("measured"); }),
              HasSubstr("only points of a campaign are measured"));
  EXPECT_FALSE(simulates(Fidelity::measured));
}

}  // namespace
}  // namespace fourfold::tests
