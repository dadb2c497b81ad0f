// Options of the step that a run is given: which change nothing on its grid, and which cannot be
// trained.
#include "engine/train/flags/idle_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <set>
#include <string>
#include <vector>

#include "engine/train/flags/command_line.hpp"
#include "engine/train/flags/flags.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using Words = std::vector<std::string>;

std::string said(const Words& words) {
  CLI::App app;
  TrainFlags flags;
  add_train_flags(app, flags);
  parse_words(app, words);
  return refusal<std::exception>([&] { settings_of(flags); });
}

// What was typed and changes no step, and nothing that changes one.
TEST(OptionsOfARun, WithoutEffectAreNamed) {
  const auto idle = [](const Words& words) {
    CLI::App app;
    TrainFlags flags;
    add_train_flags(app, flags);
    parse_words(app, words);
    TrainSettings settings = settings_of(flags);
    settings.typed = typed_flags(app);
    return idle_options(settings);
  };
  const auto with = [](const Words& grid, const Words& words) {
    Words all = grid;
    all.insert(all.end(), words.begin(), words.end());
    return all;
  };
  const Words alone{"--grid", "1x1x1x1"};
  for (const Words& words :
       {Words{"--zero", "3"}, Words{"--sequence-parallel", "on"}, Words{"--cut-messages", "on"},
        Words{"--recompute-every", "2"}, Words{"--recompute", "selective"},
        Words{"--data-bucket", "100"}, Words{"--weight-gather", "keep"},
        Words{"--gradient-reduction", "accumulated"}, Words{"--data-reduction", "beside-backward"},
        Words{"--in-flight-blocks", "5"}, Words{"--weight-gather-precision", "fp32"},
        Words{"--transport", "window"}, Words{"--progress", "thread"}, Words{"--overlap", "none"},
        Words{"--overlap", "oar,ors"}, Words{"--order", "gpipe"},
        Words{"--order", "zero-bubble"}}) {
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
TEST(OptionsOfARun, WhatIsProjectedOnlyIsRefusedAndMarked) {
  CLI::App app;
  TrainFlags flags;
  add_train_flags(app, flags);
  std::set<std::string> refused, marked;
  const auto ask = [&](const std::string& flag, const std::string& word) {
    const std::string sentence = flag + ' ' + word + " is projected only: ";
    if (said({flag, word}).starts_with(sentence)) refused.insert(flag);
  };
  for (const FieldFacts& field : step_fields().facts()) {
    const CLI::Option* option = app.get_option(field.flag);
    const std::string mark = "; only " + option->get_default_str() + " is trained";
    if (option->get_description().ends_with(mark)) marked.insert(field.flag);
    if (const auto* one = std::get_if<OneWord>(&field.kind)) {
      for (const std::string& word : one->words) ask(field.flag, word);
    }
  }
  ask("--pad-vocabulary", "128");
  ask("--rank-order", "data,z,y,x,pipe");
  EXPECT_EQ(refused, marked);
  EXPECT_EQ(refused.size(), projected_only.size());
  EXPECT_EQ(said({"--products", "stored"}), "accepted");
}

}  // namespace
}  // namespace fourfold::tests
