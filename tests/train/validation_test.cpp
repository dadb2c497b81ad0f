// The loss on held-out text: the mean over all of its words, whatever batches, micro-batches and
// ranks they are cut into.
#include "engine/train/run/validation.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/cpu/reference_backend.hpp"
#include "engine/reference/lockstep.hpp"
#include "engine/train/data/data.hpp"
#include "engine/words.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/order/step.hpp"
#include "tests/train/one_run.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

const Model model{"small", 2, 16, 2, 8, 128};
constexpr std::uint64_t seed = 5;

StepOptions fp32(bool sequence_parallel = false) {
  StepOptions options;
  options.precision = Precision::fp32;
  options.sequence_parallel = sequence_parallel;
  return options;
}

std::string made_up(std::int64_t words) {
  std::string text;
  for (std::int64_t i = 0; i < words; ++i) text += static_cast<char>('a' + i * i / 7 % 26);
  return text;
}

Data held_out(const SharedFolder& folder, const std::string& name, const std::string& content,
              std::int64_t most = 0) {
  DataOptions options;
  options.files = {folder.write("train.txt", std::string(200, 'x'))};
  options.validation_files = {folder.write(name, content)};
  options.validation_words = most;
  return Data(options, model);
}

HeldOutLoss loss_on(const Data& data, const ProcessGrid& grid, const StepOptions& options,
                    std::int64_t sequences) {
  World world;
  const Program program = record_step(model, options, stage_of(grid, world.rank()));
  ReferenceBackend backend;
  Channels channels(grid, program.channels, TransportKind::ring, ProgressMode::none,
                    backend.memory());
  Weights weights(program, grid, world.rank(), backend.memory());
  weights.initialise(model, seed);
  return Validation({world, channels, backend}, model, options, sequences, weights)
      .loss(data.held_out());
}

// The referee's, on one rank, window by window; each weighs as much as it has targets.
HeldOutLoss refereed(const Data& data) {
  Lockstep<double> run(model, issue(record_evaluation(model, fp32()), fp32()), {1, 1, 1, 1}, seed);
  HeldOutLoss result;
  for (std::int64_t window = 0; window < data.held_out().count(); ++window) {
    const LocalBatch own = data.held_out().batch(window, {ProcessGrid(1, 1, 1, 1), 0, 1, 1});
    const std::int64_t counted = counted_targets(own.targets);
    result.mean += run.step({1, own.tokens, own.targets}, {}).loss * static_cast<double>(counted);
    result.words += counted;
  }
  result.mean /= static_cast<double>(result.words);
  return result;
}

// Every cut of every text: 13 windows and a part of one, fewer words than a window, exactly three
// windows, two words; documents whose prompts do not count.
TEST(Validation, IsTheSameHoweverTheWordsAreCut) {
  const SharedFolder folder;
  std::string documents;
  for (std::size_t i = 0; i < 12; ++i) {
    documents += nlohmann::json{{"prompt", std::string(i, 'q')}, {"completion", "four"}}.dump();
    documents += '\n';
  }
  int cuts = 0;
  for (const auto& [name, content] :
       std::map<std::string, std::string>{{"long.txt", made_up(8 * 13 + 6)},
                                          {"short.txt", made_up(5)},
                                          {"even.txt", made_up(8 * 3 + 1)},
                                          {"two.txt", made_up(2)},
                                          {"documents.jsonl", documents}}) {
    const Data data = held_out(folder, name, content);
    const HeldOutLoss expected = refereed(data);
    const bool is_text = name.ends_with(".txt");
    EXPECT_EQ(expected.words, is_text ? std::ssize(content) - 1 : 12 * 5 - 1);
    for (const ProcessGrid& grid : grids_and_pipelines_of_all_ranks(2)) {
      if (find_misfit(model, grid) != Misfit::none) continue;
      for (const std::int64_t sequences : {1, 3, 8}) {
        SCOPED_TRACE(name + " on " + grid.str() + " by " + std::to_string(sequences));
        const HeldOutLoss loss =
            loss_on(data, grid, fp32(sequences == 8), sequences * replicas(grid));

        EXPECT_EQ(loss.words, expected.words);
        EXPECT_NEAR(loss.mean, expected.mean, 1e-6 * expected.mean);
        ++cuts;
      }
    }
  }
  EXPECT_GE(cuts, 15);
}

TEST(Validation, ReadsNoMoreWordsThanAskedFor) {
  const SharedFolder folder;
  const std::string text = made_up(100);
  const ProcessGrid grid(1, 1, 1, world_size());
  const std::int64_t sequences = 2 * world_size();
  for (const std::int64_t most : {1, 8, 21, 99}) {
    const Data data = held_out(folder, "a.txt", text, most);
    const Data alone =
        held_out(folder, "b.txt", text.substr(0, static_cast<std::size_t>(most) + 1));

    const HeldOutLoss loss = loss_on(data, grid, fp32(), sequences);

    EXPECT_EQ(loss.words, most);
    EXPECT_DOUBLE_EQ(loss.mean, loss_on(alone, grid, fp32(), sequences).mean);
  }
  const Data all = held_out(folder, "a.txt", text, 1000);
  EXPECT_EQ(loss_on(all, grid, fp32(), sequences).words, 99);
}

// The words of all windows in their order are the text, and each but the first is a target.
TEST(Windows, HoldEveryWordOnceAndPadTheLast) {
  const SharedFolder folder;
  const std::string text = made_up(8 * 5 + 3);
  const Data data = held_out(folder, "a.txt", text);
  const LocalBatch all = data.held_out().batch(0, {ProcessGrid(1, 1, 1, 1), 0, 8, 1});
  std::string tokens, targets;
  for (std::size_t i = 0; i < all.targets.size(); ++i) {
    if (all.targets[i] == ignored_target) continue;
    tokens += static_cast<char>(all.tokens[i]);
    targets += static_cast<char>(all.targets[i]);
  }

  EXPECT_EQ(data.held_out().count(), 6);
  EXPECT_EQ(tokens, text.substr(0, text.size() - 1));
  EXPECT_EQ(targets, text.substr(1));
  EXPECT_EQ(all.tokens.size(), 64U);
}

}  // namespace
}  // namespace fourfold::tests
