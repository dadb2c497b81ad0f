// What the header of a run says, of its options one after the other, and what it counts on the
// stage that needs most.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "engine/train/run/memory.hpp"
#include "engine/train/run/passes.hpp"
#include "engine/train/run/run_header.hpp"
#include "schedule/models/fit.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/golden.hpp"
#include "tests/scaling/hostile_names.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using Header = OneRank;

TrainSettings usual() {
  TrainSettings settings;
  settings.model = {"small", 4, 32, 8, 16, 128};
  settings.grid = ProcessGrid(2, 1, 1, 3, 2);
  settings.batch = 12;
  settings.options.micro_batches = 4;
  settings.length.steps = 120;
  settings.folder = "some/folder";
  return settings;
}

RunFacts facts() {
  RunFacts facts;
  facts.cpu = "a processor";
  facts.data = "data";
  facts.word = "byte";
  facts.work = {.tokens = 192, .executed = {3e9}, .model = {2e9}, .peak = {12e9}};
  facts.counted.peak = {52e6};
  return facts;
}

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

// Lines that are others than usual.
std::string news(const TrainSettings& settings, const RunFacts& of) {
  std::string text;
  const auto add = [&](const std::string& is, const std::string& was) {
    const std::set<std::string> before = lines_of(was);
    for (const std::string& line : lines_of(is)) {
      if (!before.contains(line)) text += "  " + line + "\n";
    }
  };
  add(header_text(settings, of), header_text(usual(), facts()));
  const auto lines_of_json = [](const TrainSettings& s, const RunFacts& f) {
    return nlohmann::ordered_json::parse(header_json(s, f)).dump(0);
  };
  add(lines_of_json(settings, of), lines_of_json(usual(), facts()));
  return text;
}

// What a line says first: labels, where no name begins a line of its own.
std::vector<std::string> labels_of(const std::string& text) {
  std::vector<std::string> labels;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(' ')) labels.push_back(line.substr(0, line.find(' ')));
  }
  return labels;
}

TEST_F(Header, HasNoLineThatANameMadeUp) {
  const auto said = [](const std::string& name) {
    TrainSettings settings = usual();
    RunFacts of = facts();
    settings.model.name = settings.folder = settings.resume = settings.files_taken = name;
    settings.changes = {"--batch 8 instead of " + name};
    of.data_remarks = {name + " is trained on twice"};
    const std::vector<std::string> resumed = labels_of(header_text(settings, of));
    settings.resume = "";
    settings.start_from = name;
    std::vector<std::string> both = labels_of(header_text(settings, of));
    both.insert(both.end(), resumed.begin(), resumed.end());
    return both;
  };
  const std::vector<std::string> wanted = said("plain");
  for (const std::string& name : hostile_names()) EXPECT_EQ(said(name), wanted) << name;
}

TEST_F(Header, SaysEachOptionThatIsNotTheUsualOne) {
  const auto with = [](const FieldValues& options) {
    return [options](TrainSettings& s, RunFacts&) { step_fields().set(s.options, options); };
  };
  const auto resumed = [](const LearningRate& rate, const RunLength& length, std::int64_t step,
                          double seconds) {
    return [=](TrainSettings& s, RunFacts& f) {
      s.resume = "earlier";
      s.learning_rate = rate;
      s.length = length;
      f.step = step;
      f.trained_seconds = seconds;
    };
  };
  using Change = std::function<void(TrainSettings & settings, RunFacts & facts)>;
  const LearningRate falls{.peak = 1e-3, .last_part = 0.0, .warm_up_steps = 0},
      warms_up{.peak = 1e-3, .last_part = 1.0, .warm_up_steps = 10};
  const std::vector<std::pair<const char*, Change>> changes{
      {"ZeRO", with({{"zero", std::int64_t{2}}})},
      {"buckets along data", with({{"data_bucket", std::int64_t{1000}}})},
      {"an optimizer on the host",
       with({{"offload_bucket", std::int64_t{2000}}, {"data_bucket", std::int64_t{1000}}})},
      {"inputs of blocks on the host", with({{"offload_activations", true}})},
      {"sequence parallel", with({{"sequence_parallel", true}})},
      {"cut messages", with({{"cut_messages", true}})},
      {"a limit in flight, and more", with({{"order", "message-driven"},
                                            {"pipeline_limit", std::int64_t{3}},
                                            {"zero", std::int64_t{1}}})},
      {"chunks", with({{"order", "interleaved"}, {"chunks", std::int64_t{2}}})},
      {"one stage",
       [](auto& s, auto&) {
         s.grid = ProcessGrid(2, 1, 3, 1);
         s.options.zero = 3;
       }},
      {"one rank and one micro-batch",
       [](auto& s, auto&) {
         s.grid = ProcessGrid(1, 1, 1, 1);
         s.options.micro_batches = 1;
       }},
      {"fp32, unfused, less overlap, nothing recomputed",
       [](auto& s, auto&) {
         s.options.precision = Precision::fp32;
         s.options.attention = AttentionKernel::unfused;
         s.options.recompute = Recompute::none;
         s.options.overlap.reduce_scatter = s.options.overlap.all_gather = false;
       }},
      {"a block of another shape",
       [](auto& s, auto&) {
         s.model.key_value_heads = 2;
         s.model.norm = NormKind::rms;
       }},
      {"Goldfish loss",
       [](auto& s, auto&) {
         s.data.goldfish = {4, 13};
       }},
      {"Goldfish loss by a word",
       [](auto& s, auto&) {
         s.data.goldfish = {3, 1};
       }},
      {"minutes", [](auto& s, auto&) { s.length = {.steps = 0, .minutes = 1.5}; }},
      {"both limits", [](auto& s, auto&) { s.length = {.steps = 1, .minutes = 30}; }},
      {"a start from weights", [](auto& s, auto&) { s.start_from = "earlier"; }},
      {"a resume by steps", resumed(falls, usual().length, 60, 0.0)},
      {"a resume by minutes", resumed(falls, {.steps = 0, .minutes = 2}, 60, 60.0)},
      {"a resume while it warms up", resumed(warms_up, usual().length, 4, 0.0)},
      {"changes",
       [](auto& s, auto&) {
         s.changes = {"--seed 1 instead of 2", "--batch 3"};
       }},
      {"tokens",
       [](auto&, auto& f) {
         f.word = "token";
         f.unigram_nats = 2.0;
       }},
      {"transports that were chosen", [](auto&, auto& f) { f.transports = ", as before"; }},
      {"libraries that were prepared", [](auto&, auto& f) { f.prepare_seconds = 2.25; }},
      {"a weight decay, a clip and bad steps", [](auto& s, auto&) {
         s.bad_steps = BadSteps::skip;
         s.optimizer.weight_decay = 0.25;
         s.optimizer.clip_norm = 3.0;
       }}};
  std::string text;
  for (const auto& [what, change] : changes) {
    TrainSettings settings = usual();
    RunFacts of = facts();
    change(settings, of);
    text += std::string(what) + "\n" + news(settings, of);
  }
  expect_golden("run_header_options.txt", text);
}

RunFacts made_up_facts() {
  RunFacts facts;
  facts.cpu = "a processor, 8 cores";
  facts.libraries = "some libraries";
  facts.openblas_core = "SomeCore";
  facts.kernels = "some kernels";
  facts.data = "2 text files";
  facts.word = "byte";
  facts.unigram_nats = 3.0;
  facts.work = {.tokens = 4096, .executed = {3.25e9}, .model = {2.75e9}, .peak = {400e9}};
  facts.counted.peak = {52e6};
  facts.counted.by_role = {Bytes{1e6}, {2e6}, {3e6}, {0.0}, {46e6}};
  facts.step = 30;
  facts.trained_seconds = 45.0;
  return facts;
}

TrainSettings made_up_settings() {
  TrainSettings settings;
  settings.model = {"small", 2, 32, 8, 16, 128};
  settings.grid = ProcessGrid(2, 1, 2, 1);
  settings.batch = 12;
  settings.options.precision = Precision::fp32;
  settings.options.micro_batches = 3;
  settings.length = {.steps = 120, .minutes = 2.5};
  settings.learning_rate = {.peak = 4e-3, .last_part = 0.25, .warm_up_steps = 10};
  settings.optimizer.weight_decay = 0.125;
  settings.optimizer.clip_norm = 0.75;
  settings.resume = "earlier";
  settings.changes = {"--seed 3 instead of 1"};
  settings.folder = "some/folder";
  settings.transport = TransportKind::window;
  settings.progress = ProgressMode::thread;
  settings.seed = 9;
  return settings;
}

TEST_F(Header, IsTheGoldenOne) {
  TrainSettings piped = made_up_settings();
  piped.grid = ProcessGrid(1, 1, 1, 2, 2);
  piped.options.zero = 1;
  piped.length = {.steps = 1, .minutes = 0.0};
  piped.resume.clear();
  piped.changes.clear();
  const auto json_of = [](const TrainSettings& settings) {
    return nlohmann::ordered_json::parse(header_json(settings, made_up_facts()));
  };
  const nlohmann::ordered_json first = json_of(made_up_settings());
  std::string text = header_text(made_up_settings(), made_up_facts()) + '\n' + first.dump(1) +
                     '\n' + header_text(piped, made_up_facts()) + "\nwhat is other in its JSON:\n";
  for (const auto& other : nlohmann::ordered_json::diff(first, json_of(piped))) {
    text += other.dump() + '\n';
  }
  text += growth_text(57'200'000, 31'000'000, made_up_facts().counted) + '\n';

  expect_golden("run_header.txt", text);
}

// The last stage has the logits of a large vocabulary; the first one needs little beside.
TEST_F(Header, CountsTheMemoryOfTheStageThatNeedsMost) {
  TrainSettings settings;
  settings.model = {"wide", 2, 8, 2, 64, 4096};
  settings.grid = ProcessGrid(1, 1, 1, 1, 2);
  settings.batch = 16;
  const double logits = 16.0 * 64.0 * 4096.0 * 2.0;

  const double counted = counted_memory(settings).peak.value;
  settings.grid = ProcessGrid(1, 1, 1, 1);
  const double alone = counted_memory(settings).peak.value;

  EXPECT_GT(counted, logits);
  EXPECT_LE(counted, alone);
  settings.options.micro_batches = 4;
  EXPECT_LT(counted_memory(settings).peak.value, 0.5 * alone);
}

// What the grid leaves nothing to do for is neither counted nor planned: a run with one replica
// that was asked for ZeRO 3 holds no second copy of its weights.
TEST_F(Header, CountsAndPlansTheOptionsInEffect) {
  int idle = 0;
  for (std::int64_t number = 0; number < 16; ++number) {
    const DrawnStep drawn = drawn_step(number, 8);
    TrainSettings asked;
    asked.model = drawn.model;
    asked.grid = drawn.grid;
    asked.batch = drawn.batch;
    asked.options = drawn.options;
    if (drawn.grid.extent(Axis::data) == 1) asked.options.zero = number % 4;
    if (!misfit(asked.model, asked.grid, asked.batch, asked.options).empty()) continue;
    TrainSettings plain = asked;
    plain.options = options_in_effect(asked);
    idle += plain.options == asked.options ? 0 : 1;

    EXPECT_EQ(counted_memory(asked).peak, counted_memory(plain).peak) << words_of(drawn);
    for (std::int64_t stage = 0; stage < drawn.grid.extent(Axis::pipe); ++stage) {
      const Stage here{stage, drawn.grid.extent(Axis::pipe)};
      EXPECT_EQ(planned(passes_of(asked).front(), asked.grid, here),
                planned(passes_of(plain).front(), asked.grid, here))
          << words_of(drawn) << ", stage " << stage;
    }
  }
  EXPECT_GT(idle, 5);
}

// Work is shared out, along y but for attention's: however many ranks, all together do the same. A
// table is on the first stage, and a head of its own on the last: both do their part.
TEST_F(Header, CountsTheWorkOfEveryRankAndStage) {
  TrainSettings settings;
  settings.model = {"small", 4, 16, 8, 16, 1024};
  settings.model.embeddings = EmbeddingsKind::untied;
  settings.batch = 8;
  settings.options.micro_batches = 2;
  settings.grid = ProcessGrid(1, 1, 1, 1);
  const StepWork alone = counted_work(settings);
  EXPECT_EQ(alone.tokens, 8 * 16);
  EXPECT_LT(alone.executed.value, 2 * alone.model.value);
  for (const ProcessGrid& grid :
       {ProcessGrid(2, 1, 2, 2), ProcessGrid(1, 1, 1, 1, 2), ProcessGrid(1, 1, 2, 1, 2),
        ProcessGrid(1, 1, 1, 1, 4), ProcessGrid(2, 1, 1, 1, 4)}) {
    settings.grid = grid;
    const StepWork shared = counted_work(settings);

    EXPECT_NEAR(shared.executed.value, alone.executed.value, 1e-9 * alone.executed.value)
        << grid.str();
    EXPECT_EQ(shared.tokens, alone.tokens);
    EXPECT_EQ(shared.model.value, alone.model.value);
  }
}

TEST_F(Header, RefusesARunThatNeedsMoreThanThereIs) {
  const auto said = [](double bytes, std::int64_t ranks, std::int64_t available,
                       std::int64_t bucket = 0) {
    return refusal([&] { refuse_without_room({bytes}, ranks, available, bucket); });
  };
  const std::string advice =
      " are available; cut the batch into more --micro-batches, recompute (--recompute full), or "
      "use more nodes or a smaller --model";

  const std::string needs = "this run needs ";
  EXPECT_GT(available_bytes(), 0);
  EXPECT_EQ(said(4e9, 2, 8'000'000'000), "");
  EXPECT_EQ(said(4e9, 2, 7'999'999'999),
            needs + "4.0 GB a rank, 8.0 GB for the 2 ranks on this node, and 8.0 GB" + advice);
  EXPECT_EQ(
      said(9e12, 1, 1'500'000'000),
      needs + "9000.0 GB a rank, 9000.0 GB for the one rank on this node, and 1.5 GB" + advice);
  EXPECT_EQ(said(2e16, 3, 1'500'000'000),
            needs + "2e+07 GB a rank, 6e+07 GB for the 3 ranks on this node, and 1.5 GB" + advice);
  EXPECT_NE(said(4e9, 1, 0, 1000).find("; make --offload-bucket smaller than 1000, cut the batch"),
            std::string::npos);
}

}  // namespace
}  // namespace fourfold::tests
