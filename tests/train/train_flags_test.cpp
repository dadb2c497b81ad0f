// The command line of training: which number each flag sets, what it is by default, which values
// and which company are refused, which flags change nothing, and which are projected only.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/train/flags/idle_options.hpp"
#include "engine/train/run/traced_step.hpp"
#include "tests/golden.hpp"
#include "tests/refusal.hpp"
#include "tests/train/parsed_flags.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

using Flags = OneRank;
using Effects = OneRank;

// All numbers that a flag can set, as text.
nlohmann::json numbers_of(const TrainSettings& s) {
  return {{"held_out", s.data.held_out},
          {"data_seed", s.data.seed},
          {"files", s.data.files},
          {"validation_files", s.data.validation_files},
          {"data_order", s.data.order == DataOrder::shuffled ? "shuffled" : "sequential"},
          {"batch", s.batch},
          {"steps", s.length.steps},
          {"minutes", s.length.minutes},
          {"peak", s.learning_rate.peak},
          {"last_part", s.learning_rate.last_part},
          {"warm_up", s.learning_rate.warm_up_steps},
          {"decay", s.optimizer.weight_decay},
          {"beta1", s.optimizer.beta1},
          {"beta2", s.optimizer.beta2},
          {"epsilon", s.optimizer.epsilon},
          {"clip", s.optimizer.clip_norm},
          {"rate_decay", name(s.learning_rate.decay)},
          {"decay_part", s.learning_rate.decay_part},
          {"bad_steps", name(s.bad_steps)},
          {"bad_norm", std::isfinite(s.optimizer.largest_norm) ? s.optimizer.largest_norm : 0.0},
          {"seed", s.seed},
          {"transport", name(s.transport)},
          {"progress", name(s.progress)},
          {"tune", s.tune_kernels},
          {"validate_every", s.validate_every},
          {"validation_words", s.data.validation_words},
          {"token_bits", s.data.token_bits},
          {"prompt", s.sampling.prompt},
          {"texts", s.sampling.texts},
          {"tokens", s.sampling.tokens},
          {"temperature", s.sampling.temperature},
          {"top_k", s.sampling.top_k},
          {"top_p", s.sampling.top_p},
          {"sample_seed", s.sampling.seed},
          {"sample_every", s.sampling.every},
          {"json", s.screen == Screen::json},
          {"print_every", s.print_every},
          {"folder", s.folder},
          {"log", s.log},
          {"trace", s.trace},
          {"trace_step", s.trace_step},
          {"checkpoint_every", s.checkpoint_every},
          {"checkpoint_minutes", s.checkpoint_minutes},
          {"keep_checkpoints", s.keep_checkpoints},
          {"resume", s.resume}};
}

TrainSettings settings_from(const Words& words) {
  return Parsed(words).settings();
}

TEST_F(Flags, EachSetsItsOwnNumberAndNoOther) {
  const nlohmann::json usual = numbers_of(settings_from({"--steps", "3"}));
  // A flag, its number, and another value.
  for (const Words& row : rows_of(R"(
        --held-out held_out 0.25 | --data-order data_order sequential | --batch batch 32
        --minutes minutes 2.5 | --learning-rate peak 0.5 | --last-learning-rate last_part 0.5
        --warm-up warm_up 0 | --weight-decay decay 0.0 | --beta1 beta1 0.5 | --beta2 beta2 0.5
        --clip clip 0.5 | --epsilon epsilon 0.5 | --learning-rate-decay rate_decay wsd
        --decay-part decay_part 0.5 | --bad-steps bad_steps rewind | --bad-norm bad_norm 2.5
        --transport transport library | --progress progress none | --validate-every validate_every 0
        --validation-words validation_words 1 | --token-bits token_bits 32 | --prompt prompt Once
        --texts texts 1 | --tokens tokens 0 | --temperature temperature 0.0 | --top-k top_k 7
        --top-p top_p 0.5 | --sample-seed sample_seed 7 | --sample-every sample_every 7
        --print-every print_every 7 | --folder folder f | --log log l | --trace trace t
        --trace-step trace_step 7 | --checkpoint-every checkpoint_every 7
        --checkpoint-minutes checkpoint_minutes 0.5 | --keep-checkpoints keep_checkpoints 7
        --resume resume r)")) {
    const auto& [flag, key, word] = std::tie(row.at(0), row.at(1), row.at(2));
    nlohmann::json numbers = numbers_of(settings_from({"--steps", "3", flag, word}));
    const nlohmann::json value = numbers.at(key);

    EXPECT_EQ(value.is_string() ? value.get<std::string>() : value.dump(), word) << flag;
    EXPECT_NE(usual.at(key), value) << flag;
    numbers[key] = usual[key];
    EXPECT_EQ(numbers, usual) << flag;
  }
  const nlohmann::json seeded = numbers_of(settings_from({"--seed", "5"}));
  EXPECT_EQ(seeded.at("seed"), 5);
  EXPECT_EQ(seeded.at("data_seed"), 5);
  EXPECT_TRUE(settings_from({"--tune-kernels"}).tune_kernels);
  EXPECT_EQ(settings_from({"--json"}).screen, Screen::json);
  EXPECT_EQ(core_wish("keep"), CoreWish::keep);
  EXPECT_EQ(core_wish("auto"), CoreWish::repair);
}

TEST_F(Flags, DefaultsAreTheGoldenOnes) {
  expect_golden("train_defaults.json", numbers_of(settings_from({})).dump(1) + '\n');
}

TEST_F(Flags, RangesEndWhereTheySay) {
  // A flag, a value inside its range, and one outside.
  for (const Words& row : rows_of(R"(
        --steps 0 -1 | --minutes 0 -0.1 | --minutes 5256000 5256001 | --goldfish-k 0 -1
        --goldfish-h 1 0 | --batch 1 0 | --seed 0 -1 | --sample-seed 0 -1 | --learning-rate 1e-12 0
        --last-learning-rate 0 -0.01 | --last-learning-rate 1 1.01 | --warm-up 0 -1
        --weight-decay 0 -1 | --beta1 0 -0.1 | --beta1 0.99999 1 | --beta2 0.99999 1 | --clip 0 -1
        --epsilon 1e-30 0 | --epsilon 1 1.5 | --learning-rate-decay linear exponential
        --decay-part 1 0 | --decay-part 1e-6 1.01 | --bad-steps skip ignore | --bad-norm 0 -1
        --print-every 0 -1 | --validate-every 0 -1 | --validation-words 0 -1 | --token-bits 16 8
        --token-bits 0 1 | --token-bits 32 24 | --token-bits 64 128
        --checkpoint-every 0 -1 | --checkpoint-minutes 0 -1 | --keep-checkpoints 1 0
        --trace-step 0 -1 | --texts 1 0 | --tokens 0 -1 | --temperature 0 -0.5 | --top-k 0 -1
        --top-p 1 0 | --top-p 0.01 1.01 | --sample-every 0 -1 | --openblas-core keep drop)")) {
    EXPECT_EQ(refused({"--ranks=1", row.at(0), row.at(1)}), "accepted") << row[0];
    EXPECT_NE(refused({"--ranks=1", row.at(0), row.at(2)}), "accepted") << row[0];
  }
}

TEST_F(Flags, WordsBecomeOptions) {
  EXPECT_EQ(settings_from({"--steps", "7"}).length.minutes, 0.0);  // instead of the default minutes
  const TrainSettings settings = settings_from(
      {"--grid", "data=2,pipe=2", "--order", "interleaved", "--chunks", "2", "--batch=8",
       "--micro-batches", "4", "--precision", "bf16", "--recompute", "full", "--overlap",
       "oar,oag,recompute", "--data-reduction", "beside-backward", "--data-order", "sequential"});

  EXPECT_EQ(settings.grid, ProcessGrid(1, 1, 1, 2, 2));
  EXPECT_EQ(settings.options.order, PipelineOrder::interleaved);
  EXPECT_EQ(settings.options.chunks, 2);
  EXPECT_EQ(settings.options.micro_batches, 4);
  EXPECT_EQ(settings.options.precision, Precision::bf16);
  EXPECT_EQ(settings.options.recompute, Recompute::full);
  EXPECT_TRUE(settings.options.overlap.all_reduce);
  EXPECT_FALSE(settings.options.overlap.reduce_scatter);
  EXPECT_EQ(settings.options.data_reduction, DataReduction::beside_backward);
  EXPECT_EQ(settings.data.order, DataOrder::sequential);
}

TEST_F(Flags, ThatDoNotFitAreRefusedInWords) {
  const std::string ranks_lie_where =
      "--rank-order data,x,y,z,pipe is projected only: ranks lie where mpirun puts them, by its "
      "--map-by";
  for (const auto& [words, sentence] : std::vector<std::pair<std::string, std::string>>{
           {"--rank 4", "did you mean \"--ranks\"?"},
           {"train", "one argument too many"},
           {"--ranks 3 --grid 2x1x1x1", "has 2 ranks, not 3"},
           {"--ranks 4 --grid pipe=2", "has 2 ranks, not 4"},
           {"--grid 3x1x1x1", "4 heads do not divide along x"},
           {"--grid 1x5x1x1", "does not divide along y"},
           {"--grid 2x2", "grid"},
           {"--batch 7 --ranks 2", "z x data = 2"},
           {"--grid=1x1x2x2 --micro-batches=3 --batch=18",
            "a batch of 18 sequences does not divide on grid 1x1x2x2; --batch must be a multiple "
            "of micro-batches x z x data = 12"},
           {"--steps many", "'many' is no whole number"},
           {"--model gpt-byte", "did you mean \"gpt-bytes\"?"},
           {"--precision fp16", "unknown --precision 'fp16'"},
           {"--recompute ful", "did you mean \"full\"?"},
           {"--overlap oax", "unknown --overlap 'oax'"},
           {"--transport pigeon", "pigeon"},
           {"--temperature -1", "must be at least 0, not -1"},
           {"--grid pipe=64", "cannot be dealt out to 64 stages"},
           {"--grid pipe=2 --order interleaved --chunks 2 --micro-batches 3 --batch 6",
            "3 are no multiple of 2; the nearest are 2 and 4"},
           {"--grid pipe=2 --chunks 2", "--order interleaved"},
           {"--order interleaved --chunks 2", "give the grid a pipe axis"},
           {"--grid pipe=2 --order message-driven --overlap none",
            "it needs the overlap of messages"},
           {"--ranks=4 --rank-order=data,x,y,z,pipe", ranks_lie_where},
           {"--grid=2x1x1x2 --rank-order=data,x,y,z,pipe", ranks_lie_where}}) {
    EXPECT_THAT(refused(words_of(words)), HasSubstr(sentence)) << words;
  }
  EXPECT_EQ(refused({"--grid=1x1x2x2", "--micro-batches=3", "--batch=24"}), "accepted");
}

TEST_F(Flags, AskForNoMoreWordsThanAreCounted) {
  TrainFlags flags;
  flags.known_model = Model{"long", 1, 32, 4, std::int64_t{1} << 30, 256};
  flags.ranks = 1;
  const auto said = [&](std::int64_t batch) {
    flags.settings.batch = batch;
    return refusal<std::exception>([&] { settings_of(flags); });
  };
  EXPECT_EQ(said(64), "accepted");
  EXPECT_EQ(said(65), "a batch of 65 sequences is more than the 64 whose tokens are counted");
  EXPECT_THAT(
      refused({"--model=gpt2-mini", "--micro-batches=174763"}),
      ::testing::StartsWith("--micro-batches is 174763, but must be at most 174762 with 6 layers"));
}

TEST_F(Flags, RanksAndGridsMustAgree) {
  EXPECT_EQ(grid_of("", 0, 3), ProcessGrid(1, 1, 1, 3));
  EXPECT_EQ(grid_of("", 5, 3), ProcessGrid(1, 1, 1, 5));
  EXPECT_EQ(grid_of("2x1x3x1", 0, 3), ProcessGrid(2, 1, 3, 1));
  EXPECT_EQ(grid_of("2x1x3x1", 6, 3), ProcessGrid(2, 1, 3, 1));
  EXPECT_EQ(refusal<std::exception>([] { grid_of("2x1x3x1", 5, 6); }),
            "grid 2x1x3x1 has 6 ranks, not 5; --ranks may be left out where --grid is given");
  EXPECT_EQ(refusal<std::exception>([] { expect_ranks(ProcessGrid(2, 1, 1, 2), 3); }),
            "grid 2x1x1x2 needs 4 ranks, but mpirun has started 3");
  EXPECT_EQ(refusal<std::exception>([] { expect_ranks(ProcessGrid(1, 1, 1, 1), 2); }),
            "grid 1x1x1x1 needs 1 rank, but mpirun has started 2");
  EXPECT_EQ(refusal<std::exception>([] { expect_ranks(ProcessGrid(1, 2, 1, 1), 2); }), "accepted");
}

TEST_F(Flags, TheFifthStepIsTracedOrTheLast) {
  TrainSettings settings;
  settings.trace = "trace.json";
  settings.length.steps = 20;
  EXPECT_EQ(traced_step(settings, 0), 5);
  EXPECT_EQ(traced_step(settings, 18), 2);
  settings.trace_step = 3;
  EXPECT_EQ(traced_step(settings, 17), 3);
  EXPECT_THROW(traced_step(settings, 18), std::runtime_error);
}

// What is said about flags beside each other, and beside those of the run that is resumed.
std::string said(const Words& words, const Words& before = {}) {
  const nlohmann::json kept = typed_flags(Parsed(before).app);
  return said_of(words, [&](const Parsed& now) {
    refuse_without_effect(now.app, Parsed(words_with(words, now.app, kept)).app);
  });
}

// The rows' words but for the one of the flag: those of an earlier run, where it may hand them on.
std::string said_when_resumed(Words before, const std::string& flag) {
  const auto typed = std::ranges::find_if(before, [&](auto& w) { return w.starts_with(flag); });
  const Words now{*typed};
  before.erase(typed);
  return typed_flags(Parsed(before).app).size() == before.size() ? said(now, before) : "of one run";
}

TEST_F(Effects, AFlagWithoutAnyIsRefusedWithTheReason) {
  std::vector<std::pair<std::string, std::string>> refused{
      {"--resume=r --start-from=s",
       "--start-from has no effect beside --resume, which goes on with weights and all else"},
      {"--trace-step=3", "--trace-step has no effect without --trace FILE"},
      {"--validation-data=v --held-out=0.2", "--held-out has no effect beside --validation-data"},
      {"--json --print-every=2",
       "--print-every has no effect with --json, which prints every step"},
      {"--goldfish-h=5", "--goldfish-h has no effect without --goldfish-k"},
      {"--goldfish-h=5 --goldfish-k=0", "--goldfish-h has no effect without --goldfish-k"},
      {"--grad-precision-z=bf16",
       "--grad-precision-z has no effect with --precision fp32, which is fp32 throughout"},
      {"--precision=fp32 --grad-precision-data=bf16",
       "--grad-precision-data has no effect with --precision fp32, which is fp32 throughout"},
      {"--precision=bf16 --zero=2 --grad-precision-data=bf16",
       "--grad-precision-data has no effect with --zero 2, which reduces gradients along data as "
       "they come from z: --grad-precision-z"},
      {"--precision=bf16 --zero=3 --grad-precision-data=fp32",
       "--grad-precision-data has no effect with --zero 3, which reduces gradients along data as "
       "they come from z: --grad-precision-z"},
      {"--decay-part=0.5", "--decay-part has no effect without --learning-rate-decay wsd"},
      {"--decay-part=0.5 --learning-rate-decay=linear",
       "--decay-part has no effect without --learning-rate-decay wsd"},
      {"--learning-rate-decay=constant --last-learning-rate=0.5",
       "--last-learning-rate has no effect with --learning-rate-decay constant"},
      {"--temperature=0 --top-k=3", "--top-k has no effect with --temperature 0"},
      {"--temperature=0 --top-p=0.5", "--top-p has no effect with --temperature 0"},
      {"--temperature=0.0 --top-k=3", "--top-k has no effect with --temperature 0"},
      {"--temperature=0 --sample-seed=3", "--sample-seed has no effect with --temperature 0"},
      {"--overlap=oar,recompute", "--overlap recompute has no effect without --recompute full"},
      {"--overlap=recompute --recompute=none",
       "--overlap recompute has no effect without --recompute full"},
      {"--offload-activations=on", "--offload-activations has no effect without --recompute full"},
      {"--offload-activations=on --recompute=mlp",
       "--offload-activations has no effect without --recompute full"}};
  for (const char* of_text : {"--prompt", "--texts", "--temperature", "--top-k", "--top-p",
                              "--sample-seed", "--sample-every"}) {
    refused.emplace_back(fmt::format("--tokens=0 {}=1", of_text),
                         of_text + std::string(" has no effect with --tokens 0: no text is drawn"));
  }
  for (const auto& [words, sentence] : refused) {
    EXPECT_EQ(said(words_of(words)), sentence);
    EXPECT_THAT(said_when_resumed(words_of(words), sentence.substr(0, sentence.find(' '))),
                AnyOf(sentence, "of one run"));
  }
  EXPECT_EQ(said({"--tokens=0"}, {"--prompt=p"}), "accepted");  // not typed now
}

TEST_F(Effects, AFlagWithOneIsTaken) {
  EXPECT_EQ(said({}), "accepted");
  for (const Words& words : rows_of(R"(
        --resume=r | --start-from=s | --trace=t --trace-step=3 | --validation-data=v
        --held-out=0.2 | --json | --print-every=2 | --goldfish-k=4 --goldfish-h=5
        --precision=bf16 --grad-precision-z=bf16
        --precision=bf16 --grad-precision-data=bf16
        --precision=bf16 --zero=1 --grad-precision-data=bf16
        --learning-rate-decay=wsd --decay-part=0.5
        --learning-rate-decay=linear --last-learning-rate=0.5 | --tokens=9 --prompt=p --texts=1
        --tokens=0 --validate-every=3 | --temperature=0 --texts=2
        --temperature=0.5 --sample-seed=3 | --overlap=oar,oag
        --offload-activations=on --recompute=full | --overlap=recompute --recompute=full)")) {
    EXPECT_EQ(said(words), "accepted") << words.back();
    EXPECT_THAT(said_when_resumed(words, words.back()), AnyOf("accepted", "of one run"));
  }
}

// What was typed and changes no step, and nothing that changes one.
TEST_F(Flags, WithoutEffectAreNamed) {
  const auto idle = [](const Words& words) {
    const Parsed parsed(words);
    TrainSettings settings = parsed.settings();
    settings.typed = typed_flags(parsed.app);
    return idle_options(settings);
  };
  const auto with = [](const Words& grid, const Words& words) {
    Words all = grid;
    all.insert(all.end(), words.begin(), words.end());
    return all;
  };
  const Words alone{"--grid", "1x1x1x1"};
  for (const Words& words : rows_of(R"(
        --zero 3 | --sequence-parallel on | --cut-messages on | --recompute-every 2
        --recompute selective | --data-bucket 100 | --weight-gather keep
        --gradient-reduction accumulated | --data-reduction beside-backward | --in-flight-blocks 5
        --weight-gather-precision fp32 | --transport window | --progress thread | --overlap none
        --overlap oar,ors | --order gpipe | --order zero-bubble)")) {
    EXPECT_THAT(idle(with(alone, words)), testing::ElementsAre(words[0] + ' ' + words[1]));
  }
  EXPECT_THAT(idle(with({"--grid", "data=2,pipe=2,x=2", "--micro-batches", "2"},
                        {"--zero", "1", "--cut-messages", "on", "--order", "gpipe", "--recompute",
                         "full", "--precision", "bf16"})),
              testing::IsEmpty());
  // Overlaps and orders, where there is something to hide or to order.
  for (const Words& grid :
       {Words{"--grid", "x=2"}, Words{"--grid", "y=2"}, Words{"--grid", "z=2"},
        Words{"--grid", "data=2", "--zero", "2"}, Words{"--grid", "data=2", "--zero", "3"},
        Words{"--grid", "pipe=2", "--micro-batches", "2"}}) {
    EXPECT_THAT(idle(with(grid, {"--overlap", "none"})), testing::IsEmpty()) << grid[1];
  }
  for (const char* micro_batches : {"2", "4"}) {
    EXPECT_THAT(idle(with(alone, {"--order", "gpipe", "--micro-batches", micro_batches})),
                testing::IsEmpty());
  }
  EXPECT_THAT(idle(with(alone, {"--recompute", "full", "--precision", "bf16", "--batch", "4"})),
              testing::IsEmpty());
}

// What cannot be trained is refused by what it is, and the help says so.
TEST_F(Flags, WhatIsProjectedOnlyIsRefusedAndMarked) {
  Parsed parsed({});
  std::set<std::string> projected, marked;
  const auto ask = [&](const std::string& flag, const std::string& word) {
    const std::string sentence = flag + ' ' + word + " is projected only: ";
    if (refused({flag, word}).starts_with(sentence)) projected.insert(flag);
  };
  for (const FieldFacts& field : step_fields().facts()) {
    const CLI::Option* option = parsed.app.get_option(field.flag);
    const std::string mark = "; only " + option->get_default_str() + " is trained";
    if (option->get_description().ends_with(mark)) marked.insert(field.flag);
    if (const auto* one = std::get_if<OneWord>(&field.kind)) {
      for (const std::string& word : one->words) ask(field.flag, word);
    }
  }
  ask("--pad-vocabulary", "128");
  ask("--rank-order", "data,z,y,x,pipe");
  EXPECT_EQ(projected, marked);
  EXPECT_EQ(projected.size(), projected_only.size());
  EXPECT_EQ(refused({"--products", "stored"}), "accepted");
}

}  // namespace
}  // namespace fourfold::tests
