// Steps and what happens between them; long because steps, looks and saves change one state. See
// trainer.hpp.
#include "engine/train/run/trainer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <span>
#include <stdexcept>

#include "engine/mpi/session.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/train/run/disk_room.hpp"
#include "engine/train/run/growth_report.hpp"
#include "engine/train/run/rank_word.hpp"
#include "engine/train/run/same_data.hpp"
#include "engine/train/run/sound.hpp"
#include "engine/train/run/stop.hpp"
#include "engine/train/run/traced_step.hpp"
#include "engine/train/run/trained_before.hpp"
#include "engine/train/sample/prompt.hpp"
#include "support/clock_text.hpp"
#include "support/complaint.hpp"
#include "support/wall_clock.hpp"

namespace fourfold::inline engine::inline train::inline run {

Trainer::Trainer(const TrainSettings& settings, const Worker& worker, const Data& data,
                 Weights& weights, RunLog& log)
    : settings_(settings),
      worker_(worker),
      data_(data),
      weights_(weights),
      log_(log),
      executor_(training_executor(worker, settings.model, options_in_effect(settings),
                                  settings.batch, weights)),
      checkpoints_(settings.folder + "/checkpoints", settings.keep_checkpoints) {
  if (settings.time_reference) reference_.emplace();
}

TrainOutcome Trainer::run(TrainingState state, const RunFacts& facts, const MemoryGrowth& growth) {
  state_ = std::move(state);
  work_ = facts.work;
  trained_ = trained_before(settings_.learning_rate, state_);
  traced_step_ = traced_step(settings_, state_.step);
  bad_.farthest = saved_step_ = state_.step;
  began_ = wall_seconds();
  try {
    if (saves_beginning(settings_)) write_checkpoint();
    read_on();
    next_words_ = worker_.world.all(words_read_);
    expect_read();  // not known of all ranks yet
    while (done() < 1.0 && !outcome_.stopped) {
      step();
      if (walked_ == 1) report_growth(worker_.world, log_, growth, facts.counted);
      if (outcome_.stopped || done() >= 1.0) break;  // what is due is done at the end, too
      if (every(settings_.validate_every)) validate();
      if (every(settings_.checkpoint_every) || checkpoint_is_due()) write_checkpoint();
      if (every(settings_.sampling.every)) draw_texts();
      expect_read();
      expect_logged();
    }
    finish();
    together([&] { log_.expect_whole(); });
  } catch (const FailedTogether& failure) {
    end_saved(failure);
  }
  return outcome_;
}

// What the next step reads. A rank that cannot says so with its next word, so that all end
// together.
void Trainer::read_on() {
  const double begin = wall_seconds();
  try {
    next_ = data_.training(state_.position, {weights_.grid(), weights_.rank(), settings_.batch,
                                             settings_.options.micro_batches});
    words_read_ = fingerprint(next_);
  } catch (const std::runtime_error& error) {
    unreadable_ = error.what();
  }
  reading_seconds_ = wall_seconds() - begin;
}

void Trainer::step() {
  worker_.world.note(Doing::training, state_.step + 1);
  const bool traced = !settings_.trace.empty() && walked_ + 1 == traced_step_;
  // By default the last of fewer steps, which may be known of it only when it is over.
  const bool if_last =
      !settings_.trace.empty() && settings_.trace_step == 0 && walked_ < traced_step_;
  if (traced || if_last) worker_.world.barrier();  // so that the ranks' clocks start together
  const double begin = wall_seconds() - reading_seconds_;
  staged_before_ = worker_.channels.staged_bytes();
  LocalBatch batch = std::move(next_);
  if (data_.training_leaves_out()) count_targets(batch, worker_.world, weights_.grid());
  AdamW optimizer = settings_.optimizer;
  optimizer.learning_rate = settings_.learning_rate.at(settings_.length, trained_);
  const ExecutedStep executed = executor_.step(batch, optimizer, state_.step + 1);
  const double seconds = wall_seconds() - begin;
  state_.position += settings_.batch;
  read_on();
  StepReport report = report_of(executed, seconds);
  report.targets = batch.counted_targets;
  if (report.targets == 0) report.loss.reset();
  report.learning_rate = optimizer.learning_rate;
  const StepNumbers numbers{report.step, report.loss, report.gradient_norm, executed.applied};
  const bool bad = is_bad(numbers);
  if (bad) report.bad = name(settings_.bad_steps);
  take(numbers);
  report.done = done();
  report.seconds_left = settings_.length.seconds_left(trained_);
  outcome_.losses.push_back(report.loss.value_or(std::numeric_limits<double>::quiet_NaN()));
  log_.record(json_line(report));
  if (due_on_screen()) {
    said_at_ = trained_.seconds_here;
    log_.say(screen_line(report));
  }
  const bool is_last = outcome_.stopped || done() >= 1.0;
  if (traced || (if_last && is_last)) write_trace(executed.spans);
  if (bad) answer_to(numbers);
}

// What the state makes of a step that was walked: one whose gradient was not applied has changed
// nothing, and counts where it is skipped.
void Trainer::take(const StepNumbers& numbers) {
  const bool bad = is_bad(numbers);
  if (bad) {
    bad_.add_bad();
  } else {
    bad_.add_sound(numbers.step);
  }
  if (bad && !numbers.applied && settings_.bad_steps != BadSteps::skip) {
    if (settings_.bad_steps == BadSteps::stop) state_.position -= settings_.batch;
    return;
  }
  ++state_.step;
  ++trained_.steps_here;
  if (trained_.steps() == settings_.learning_rate.warm_up_steps) {
    trained_.seconds_of_warm_up = trained_.seconds();
  }
}

void Trainer::answer_to(const StepNumbers& numbers) {
  const std::string what = bad_step_text(numbers, settings_.optimizer.largest_norm);
  if (settings_.bad_steps == BadSteps::stop) {
    record_end(RunEnd::diverged);
    throw FailedTogether(
        what + "; lower --learning-rate, or go on past such steps with --bad-steps skip or rewind");
  }
  // The gradient that was applied is in the weights: that cannot be left out any more.
  const bool helpless = settings_.bad_steps == BadSteps::skip && numbers.applied;
  if (helpless || bad_.in_a_row >= most_bad_in_a_row) {
    record_end(RunEnd::diverged);
    throw FailedTogether(fmt::format(
        "{}{}; lower --learning-rate, or start anew from an earlier checkpoint", what,
        helpless ? ", and its gradient was applied"
                 : fmt::format(", the last of {} bad steps without a sound one", bad_.in_a_row)));
  }
  if (settings_.bad_steps == BadSteps::skip) {
    return log_.say(fmt::format("step {:5}  skipped: {}", numbers.step, what));
  }
  go_back(what);
}

// To the newest checkpoint; what was read since then, the bad step's data too, is not read again.
void Trainer::go_back(const std::string& why) {
  const std::string from = newest_checkpoint();
  const std::int64_t before = state_.step;
  state_.step = read_checkpoint(from, settings_.model, weights_).step;
  trained_.steps_here = state_.step - trained_.steps_before;
  log_.say(fmt::format("step {:5}  back to {}: {}", before, from, why));
  log_.record(nlohmann::ordered_json{
      {"kind", "rewind"}, {"step", state_.step}, {"path", from}, {"why", why}}
                  .dump());
}

bool Trainer::checkpoint_is_due() {
  if (settings_.checkpoint_minutes == 0.0) return false;
  if (!saved_at_) saved_at_ = trained_.seconds_here;
  return trained_.seconds_here - *saved_at_ >= 60.0 * settings_.checkpoint_minutes;
}

// The next step's words, on all ranks, and the same where they share sequences.
void Trainer::expect_read() const {
  if (!all_read_) {
    together([&] {
      if (!unreadable_.empty()) throw std::runtime_error(unreadable_);
    });
  }
  expect_same_words(next_words_, settings_.grid);
}

void Trainer::expect_logged() const {
  if (!log_lost_) return;
  together([&] { log_.expect_whole(); });
}

double Trainer::reference_seconds() {
  if (!reference_) return 0.0;
  double sum = 0.0;
  for (double seconds : worker_.world.all(reference_->seconds())) sum += seconds;
  return sum / static_cast<double>(worker_.world.size());
}

// The first step, and then as often as asked for: by default once a second, so that a person can
// read along.
bool Trainer::due_on_screen() const {
  if (walked_ == 1) return true;
  if (settings_.print_every != 0) return every(settings_.print_every);
  return trained_.seconds_here >= said_at_ + 1.0;
}

// Everybody hears what everybody measured; rank 0's clock counts.
StepReport Trainer::report_of(const ExecutedStep& executed, double seconds) {
  const std::vector<Channel>& channels = worker_.channels.list();
  RankWord own;
  own.step = {
      seconds, worker_.channels.staged_bytes() - staged_before_,
      by_channel_of_all(channels, executor_.schedule().program.channels, executed.exposed_seconds),
      kernel_seconds(executor_.schedule().program, executed.spans)};
  own.stop_asked = stop_asked();
  own.reads_on = unreadable_.empty();
  own.log_is_whole = log_.is_whole();
  own.seconds_here = wall_seconds() - began_;
  own.loss = executed.loss;
  own.next_words = words_read_;
  const std::vector<double> numbers = own.numbers();
  const std::vector<double> all = worker_.world.all(numbers);
  std::vector<RankStep> ranks;
  StepReport report;
  next_words_.clear();
  ++walked_;
  all_read_ = true;
  for (std::size_t first = 0; first < all.size(); first += numbers.size()) {
    const RankWord word = RankWord::of(std::span(all).subspan(first, numbers.size()));
    ranks.push_back(word.step);
    next_words_.push_back(word.next_words);
    outcome_.stopped = outcome_.stopped || word.stop_asked;
    all_read_ = all_read_ && word.reads_on;
    log_lost_ = log_lost_ || !word.log_is_whole;
    if (first == 0) trained_.seconds_here = word.seconds_here;
    report.loss = word.loss;  // the last rank is of the last stage
  }
  report.step = state_.step + 1;
  report.epochs =
      static_cast<double>(state_.position) / static_cast<double>(data_.training_sequences());
  report.gradient_norm = executed.gradient_norm;
  report.work = work_;
  report.channels = channels;
  add_ranks(report, ranks);
  report.reference_seconds = reference_seconds();
  return report;
}

// A trace is looked at beside a run: one that cannot be written does not end it.
void Trainer::write_trace(const std::vector<OpSpan>& spans) {
  try {
    write_traced_step(settings_, worker_.world, state_.step, spans);
  } catch (const FailedTogether& failure) {
    if (worker_.world.rank() != 0) return;
    return remark(fmt::format("{}; training goes on without the trace", failure.what()));
  }
  log_.say("trace       " + settings_.trace);
  log_.record(
      nlohmann::ordered_json{{"kind", "trace"}, {"step", state_.step}, {"path", settings_.trace}}
          .dump());
}

Validation& Trainer::validation() {
  if (!validation_) {
    validation_.emplace(worker_, settings_.model, options_in_effect(settings_),
                        settings_.batch / settings_.options.micro_batches, weights_);
  }
  return *validation_;
}

void Trainer::validate() {
  worker_.world.note(Doing::validating, state_.step);
  const double begin = wall_seconds();
  const HeldOutLoss held_out = validation().loss(data_.held_out());
  outcome_.validation_loss = held_out.mean;
  const std::string word = word_name(data_.format());
  log_.say(fmt::format(
      "step {:5}  validation loss {:.4f} nats = {:.3f} bits a {}, over {} in {:.1f} s", state_.step,
      outcome_.validation_loss, outcome_.validation_loss / std::numbers::ln2, word,
      amount(held_out.words, word), wall_seconds() - begin));
  log_.record(nlohmann::ordered_json{{"kind", "validation"},
                                     {"step", state_.step},
                                     {"loss", outcome_.validation_loss},
                                     {"words", held_out.words},
                                     {"trained_s", trained_.seconds_before + trained_.seconds_here}}
                  .dump());
}

// Why the state is not worth a checkpoint; empty if it is. Weights can be finite and yet of a size
// that no step gets over: a look at any words tells.
std::string Trainer::unsound() {
  const std::string own = unsound_block(weights_);
  try {
    together([&] {
      if (!own.empty()) throw std::runtime_error(own + " holds what is no number");
    });
  } catch (const FailedTogether& error) {
    return error.what();
  }
  const double loss = validation().loss_of(made_up_words(
      settings_.model, weights_.grid(), settings_.batch / settings_.options.micro_batches));
  return std::isfinite(loss) ? "" : "the loss on any text is " + number_text(loss);
}

void Trainer::write_checkpoint() {
  worker_.world.note(Doing::checkpoint, state_.step);
  saving_ = true;
  if (const std::string why = unsound(); !why.empty()) {
    record_end(RunEnd::diverged);
    throw FailedTogether(fmt::format(
        "training has diverged: after step {} {}, so that it is not saved; lower --learning-rate",
        state_.step, why));
  }
  state_.trainer["trained_seconds"] = trained_.seconds();
  state_.trainer["warm_up"] = {{"steps", settings_.learning_rate.warm_up_steps},
                               {"seconds", trained_.seconds_of_warm_up}};
  outcome_.checkpoint = checkpoints_.write(state_, weights_);
  for (const std::string& path : checkpoints_.removed_for_room()) {
    log_.say(
        fmt::format("step {:5}  the disk is full: {} is removed to make room", state_.step, path));
  }
  saving_ = false;
  saved_step_ = state_.step;
  saved_at_.reset();  // time counts from the next step on, by the clock that all heard of
  log_.say(fmt::format("step {:5}  checkpoint {}", state_.step, outcome_.checkpoint));
  log_.record(nlohmann::ordered_json{
      {"kind", "checkpoint"}, {"step", state_.step}, {"path", outcome_.checkpoint}}
                  .dump());
}

// A failure of all ranks leaves a checkpoint of the last sound state, unless it was to make one.
void Trainer::end_saved(const FailedTogether& failure) {
  std::string sentence = failure.what();
  if (!saving_ && saved_step_ != state_.step) {
    const std::string why = unsound();
    try {
      if (why.empty()) write_checkpoint();
      if (!why.empty()) sentence += fmt::format("; step {} is not saved: {}", state_.step, why);
    } catch (const FailedTogether& error) {
      sentence += fmt::format("; {}", error.what());
    }
  }
  if (const std::string newest = newest_checkpoint(); !newest.empty()) {
    sentence += fmt::format("; step {} is saved: --resume {}", saved_step_, newest);
  }
  if (!ended_) record_end(RunEnd::failed);
  throw FailedTogether(sentence);
}

std::string Trainer::newest_checkpoint() const {
  return outcome_.checkpoint.empty() ? settings_.resume : outcome_.checkpoint;
}

void Trainer::draw_texts() {
  const SamplingSettings& sampling = settings_.sampling;
  if (sampling.tokens == 0) return;
  worker_.world.note(Doing::sampling, state_.step);
  if (!sampler_) {
    sampler_.emplace(worker_, settings_.model, options_in_effect(settings_), sampling.texts,
                     weights_);
  }
  const TokenFormat format = data_.format();
  const auto prompt = words_of_prompt(sampling.prompt, format, settings_.model.vocabulary);
  outcome_.texts = sampler_->draw(prompt, sampling);
  say_texts(outcome_.texts, format, log_);
}

void Trainer::record_end(RunEnd end) {
  ended_ = true;
  log_.record_end(nlohmann::ordered_json{{"kind", "end"},
                                         {"step", state_.step},
                                         {"steps_here", walked_},
                                         {"bad_steps", bad_.all},
                                         {"seconds_here", trained_.seconds_here},
                                         {"asked_to_stop", end == RunEnd::stopped},
                                         {"diverged", end == RunEnd::diverged},
                                         {"failed", end == RunEnd::failed}}
                      .dump());
}

void Trainer::finish() {
  if (!settings_.trace.empty() && walked_ < settings_.trace_step && worker_.world.rank() == 0) {
    remark(fmt::format("{} is not written: the run ended before its step {} (--trace-step)",
                       settings_.trace, settings_.trace_step));
  }
  if (outcome_.stopped) {
    log_.say(fmt::format("asked to stop: step {} is finished", state_.step));
    write_checkpoint();
    record_end(RunEnd::stopped);
    log_.say("go on with: --resume " + settings_.folder + "/checkpoints");
    return;
  }
  validate();
  write_checkpoint();
  record_end(RunEnd::whole);
  draw_texts();
  log_.say(fmt::format(
      "trained {} in {}, {:.2f} times through the data{}", amount(walked_, "step"),
      clock_text(wall_seconds() - began_),
      static_cast<double>(state_.position) / static_cast<double>(data_.training_sequences()),
      bad_.all == 0
          ? ""
          : fmt::format("; {} bad, {}", amount(bad_.all, "step"),
                        settings_.bad_steps == BadSteps::skip ? "skipped" : "gone back from")));
  const std::string unfinished = unfinished_warm_up(settings_.learning_rate, trained_.steps());
  if (!unfinished.empty()) log_.say(unfinished);
}

}  // namespace fourfold::inline engine::inline train::inline run
