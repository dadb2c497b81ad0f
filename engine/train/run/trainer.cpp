// Steps and what happens between them; see trainer.hpp.
#include "engine/train/run/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <span>
#include <stdexcept>

#include "engine/mpi/session.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/train/run/same_data.hpp"
#include "engine/train/run/stop.hpp"
#include "engine/train/run/trace.hpp"
#include "engine/train/sample/prompt.hpp"
#include "schedule/order/step.hpp"
#include "support/clock_text.hpp"
#include "support/whole_file.hpp"

namespace fourfold {

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What one rank tells the others after a step. It travels as numbers, those by channel last.
struct RankWord {
  RankStep step;
  bool stop_asked = false;
  double seconds_here = 0.0;  // trained in this run, by its clock
  double loss = 0.0;          // on the last stage
  double words = 0.0;         // the fingerprint of those it has read

  std::vector<double> numbers() const {
    std::vector<double> result{step.seconds,
                               static_cast<double>(step.staged_bytes),
                               stop_asked ? 1.0 : 0.0,
                               seconds_here,
                               loss,
                               words};
    result.insert(result.end(), step.kernels.begin(), step.kernels.end());
    result.insert(result.end(), step.exposed_seconds.begin(), step.exposed_seconds.end());
    return result;
  }
  static RankWord of(std::span<const double> numbers) {
    constexpr std::size_t alone = 6;  // numbers that are one each
    const std::span<const double> exposed = numbers.subspan(alone + kernel_kinds);
    RankStep step{
        numbers[0], static_cast<std::int64_t>(numbers[1]), {exposed.begin(), exposed.end()}, {}};
    std::ranges::copy(numbers.subspan(alone, kernel_kinds), step.kernels.begin());
    return {step, numbers[2] != 0.0, numbers[3], numbers[4], numbers[5]};
  }
};

// Seconds by channel of a program as those by channel of all stages, of which it has some.
std::vector<double> by_channel_of_all(const std::vector<Channel>& all,
                                      const std::vector<Channel>& of_program,
                                      const std::vector<double>& seconds) {
  std::vector<double> result(all.size(), 0.0);
  for (std::size_t i = 0; i < of_program.size(); ++i) {
    result[static_cast<std::size_t>(std::ranges::find(all, of_program[i]) - all.begin())] =
        seconds[i];
  }
  return result;
}

}  // namespace

std::int64_t traced_step(const TrainSettings& settings, std::int64_t steps_before) {
  constexpr std::int64_t warm = 5;  // caches, buffers and the clock of the processor have settled
  const std::int64_t steps = settings.length.steps > 0 ? settings.length.steps - steps_before
                                                       : std::numeric_limits<std::int64_t>::max();
  if (settings.trace_step == 0) return std::min(warm, steps);
  if (settings.trace.empty() || settings.trace_step <= steps) return settings.trace_step;
  throw std::runtime_error(fmt::format("--trace-step {} has no effect: this run has {}",
                                       settings.trace_step, amount(steps, "step")));
}

Trainer::Trainer(const TrainSettings& settings, const Worker& worker, const Data& data,
                 Weights& weights, RunLog& log)
    : settings_(settings),
      worker_(worker),
      data_(data),
      weights_(weights),
      log_(log),
      executor_(
          training_executor(worker, settings.model, settings.options, settings.batch, weights)),
      checkpoints_(settings.folder + "/checkpoints", settings.keep_checkpoints) {
  if (settings.time_reference) reference_.emplace();
}

TrainOutcome Trainer::run(TrainingState state, const RunFacts& facts, const MemoryGrowth& growth) {
  state_ = std::move(state);
  work_ = facts.work;
  trained_ = {state_.step, 0, state_.trainer.value("trained_seconds", 0.0), 0.0};
  traced_step_ = traced_step(settings_, state_.step);
  began_ = now();
  while (done() < 1.0 && !outcome_.stopped) {
    step();
    if (trained_.steps_here == 1) report_growth(facts, growth);
    if (outcome_.stopped || done() >= 1.0) break;  // what is due is done at the end, too
    if (every(settings_.validate_every)) validate();
    if (every(settings_.checkpoint_every)) write_checkpoint();
    if (every(settings_.sampling.every)) draw_texts();
  }
  finish();
  return outcome_;
}

void Trainer::step() {
  const bool traced = !settings_.trace.empty() && trained_.steps_here + 1 == traced_step_;
  if (traced) worker_.world.barrier();  // so that the ranks' clocks start together
  const double begin = now();
  staged_before_ = worker_.channels.staged_bytes();
  LocalBatch batch = data_.training(
      state_.position,
      {weights_.grid(), weights_.rank(), settings_.batch, settings_.options.micro_batches});
  words_read_ = fingerprint(batch);
  if (data_.training_leaves_out()) count_targets(batch, worker_.world, weights_.grid());
  AdamW optimizer = settings_.optimizer;
  optimizer.learning_rate = settings_.learning_rate.at(state_.step + 1, done());
  const ExecutedStep executed = executor_.step(batch, optimizer, state_.step + 1);
  ++state_.step;
  state_.position += settings_.batch;
  StepReport report = report_of(executed, optimizer.learning_rate, begin);
  report.reference_seconds = reference_seconds();
  report.targets = batch.counted_targets;
  outcome_.losses.push_back(report.loss);
  log_.record(json_line(report));
  expect_finite(report);
  if (due_on_screen()) {
    said_at_ = trained_.seconds_here;
    log_.say(screen_line(report));
  }
  if (traced) write_trace(executed.spans);
}

double Trainer::reference_seconds() {
  if (!reference_) return 0.0;
  double sum = 0.0;
  for (double seconds : worker_.world.all(reference_->seconds())) sum += seconds;
  return sum / static_cast<double>(worker_.world.size());
}

// Such a gradient has just been added to every weight: no checkpoint is to be made of them.
void Trainer::expect_finite(const StepReport& report) const {
  if (std::isfinite(report.loss) && std::isfinite(report.gradient_norm)) return;
  record_end(RunEnd::diverged);
  throw FailedTogether(fmt::format(
      "training has diverged: in step {} the loss is {} and the gradient's norm {}; "
      "lower --learning-rate{}",
      report.step, report.loss, report.gradient_norm,
      outcome_.checkpoint.empty() ? ""
                                  : ", and go on from an earlier checkpoint with --resume " +
                                        settings_.folder + "/checkpoints"));
}

// The first step, and then as often as asked for: by default once a second, so that a person can
// read along.
bool Trainer::due_on_screen() const {
  if (trained_.steps_here == 1) return true;
  if (settings_.print_every != 0) return every(settings_.print_every);
  return trained_.seconds_here >= said_at_ + 1.0;
}

// Everybody hears what everybody measured; rank 0's clock counts.
StepReport Trainer::report_of(const ExecutedStep& executed, double learning_rate, double begin) {
  const std::vector<Channel>& channels = worker_.channels.list();
  const std::vector<double> own =
      RankWord{{now() - begin, worker_.channels.staged_bytes() - staged_before_,
                by_channel_of_all(channels, executor_.schedule().program.channels,
                                  executed.exposed_seconds),
                kernel_seconds(executor_.schedule().program, executed.spans)},
               stop_asked(),
               now() - began_,
               executed.loss,
               words_read_}
          .numbers();
  const std::vector<double> all = worker_.world.all(own);
  std::vector<RankStep> ranks;
  std::vector<double> words;
  StepReport report;
  ++trained_.steps_here;
  for (std::size_t first = 0; first < all.size(); first += own.size()) {
    const RankWord word = RankWord::of(std::span(all).subspan(first, own.size()));
    ranks.push_back(word.step);
    words.push_back(word.words);
    outcome_.stopped = outcome_.stopped || word.stop_asked;
    if (first == 0) trained_.seconds_here = word.seconds_here;
    report.loss = word.loss;  // the last rank is of the last stage
  }
  expect_same_words(words, settings_.grid);
  report.step = state_.step;
  report.gradient_norm = executed.gradient_norm;
  report.learning_rate = learning_rate;
  report.done = done();
  report.seconds_left = settings_.length.seconds_left(trained_);
  report.work = work_;
  report.channels = channels;
  add_ranks(report, ranks);
  return report;
}

void Trainer::report_growth(const RunFacts& facts, const MemoryGrowth& growth) {
  struct RankMemory {
    std::int64_t grown = 0, before = 0;
    bool operator<(const RankMemory& other) const { return grown < other.grown; }
  };
  const std::vector<RankMemory> ranks =
      worker_.world.all(RankMemory{growth.bytes(), growth.before()});
  const RankMemory most = *std::max_element(ranks.begin(), ranks.end());
  log_.say(growth_text(most.grown, most.before, facts.counted));
  log_.record(
      fmt::format("{{\"kind\":\"memory\",\"grown_B\":{},\"counted_B\":{:.0f},\"before_B\":{}}}",
                  most.grown, facts.counted.peak.value, most.before));
}

void Trainer::write_trace(const std::vector<OpSpan>& spans) {
  const World& world = worker_.world;
  const std::int64_t stages = settings_.grid.extent(Axis::pipe);
  std::vector<TracedRank> ranks;
  const std::int64_t most = std::ranges::max(world.all(static_cast<std::int64_t>(spans.size())));
  for (std::int64_t rank : traced_ranks(world.size(), most)) {
    if (world.rank() != rank && world.rank() != 0) continue;
    std::vector<OpSpan> its = world.to_first(spans, rank);
    if (world.rank() == 0) ranks.push_back({rank, std::move(its)});
  }
  together([&] {
    if (world.rank() != 0) return;
    const std::string title = fmt::format("{} on grid {}, step {}, measured", settings_.model.name,
                                          settings_.grid.str(), state_.step);
    std::vector<Program> programs;
    for (std::int64_t i = 0; i < stages; ++i) {
      programs.push_back(record_step(settings_.model, settings_.options, Stage{i, stages}));
    }
    write_whole_file(settings_.trace, trace_json(programs, settings_.grid, ranks, title));
  });
  log_.say("trace       " + settings_.trace);
  log_.record(
      nlohmann::ordered_json{{"kind", "trace"}, {"step", state_.step}, {"path", settings_.trace}}
          .dump());
}

void Trainer::validate() {
  const double begin = now();
  if (!validation_) {
    validation_.emplace(worker_, settings_.model, settings_.options,
                        settings_.batch / settings_.options.micro_batches, weights_);
  }
  const HeldOutLoss held_out = validation_->loss(data_.held_out());
  outcome_.validation_loss = held_out.mean;
  const std::string word = word_name(data_.format());
  log_.say(fmt::format(
      "step {:5}  validation loss {:.4f} nats = {:.3f} bits a {}, over {} in {:.1f} s", state_.step,
      outcome_.validation_loss, outcome_.validation_loss / std::numbers::ln2, word,
      amount(held_out.words, word), now() - begin));
  log_.record(nlohmann::ordered_json{{"kind", "validation"},
                                     {"step", state_.step},
                                     {"loss", outcome_.validation_loss},
                                     {"words", held_out.words},
                                     {"trained_s", trained_.seconds_before + trained_.seconds_here}}
                  .dump());
}

void Trainer::write_checkpoint() {
  state_.trainer["trained_seconds"] = trained_.seconds_before + trained_.seconds_here;
  outcome_.checkpoint = checkpoints_.write(state_, weights_);
  log_.say(fmt::format("step {:5}  checkpoint {}", state_.step, outcome_.checkpoint));
  log_.record(nlohmann::ordered_json{
      {"kind", "checkpoint"}, {"step", state_.step}, {"path", outcome_.checkpoint}}
                  .dump());
}

void Trainer::draw_texts() {
  const SamplingSettings& sampling = settings_.sampling;
  if (sampling.tokens == 0) return;
  if (!sampler_) {
    sampler_.emplace(worker_, settings_.model, settings_.options, sampling.texts, weights_);
  }
  const TokenFormat format = data_.format();
  const auto prompt = words_of_prompt(sampling.prompt, format, settings_.model.vocabulary);
  outcome_.texts = sampler_->draw(prompt, sampling);
  say_texts(outcome_.texts, format, log_);
}

void Trainer::record_end(RunEnd end) const {
  log_.record(nlohmann::ordered_json{{"kind", "end"},
                                     {"step", state_.step},
                                     {"steps_here", trained_.steps_here},
                                     {"seconds_here", trained_.seconds_here},
                                     {"asked_to_stop", end == RunEnd::stopped},
                                     {"diverged", end == RunEnd::diverged}}
                  .dump());
}

void Trainer::finish() {
  if (!settings_.trace.empty() && trained_.steps_here < traced_step_) {
    log_.say(
        fmt::format("no trace: the run ended before its step {} (--trace-step)", traced_step_));
  }
  record_end(outcome_.stopped ? RunEnd::stopped : RunEnd::whole);
  if (outcome_.stopped) {
    log_.say(fmt::format("asked to stop: step {} is finished", state_.step));
    write_checkpoint();
    log_.say("go on with: --resume " + settings_.folder + "/checkpoints");
    return;
  }
  validate();
  write_checkpoint();
  draw_texts();
  log_.say(fmt::format("trained {} in {}", amount(trained_.steps_here, "step"),
                       clock_text(now() - began_)));
}

}  // namespace fourfold
