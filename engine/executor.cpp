// Walks the bound stream of a step; see executor.hpp.
#include "engine/executor.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "engine/batch.hpp"
#include "engine/bucketed_update.hpp"
#include "engine/host_memory.hpp"
#include "engine/packed_marks.hpp"
#include "engine/plan/executor_plan.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/order/ready_turns.hpp"
#include "schedule/program/sharding.hpp"
#include "schedule/program/views.hpp"

namespace fourfold::inline engine {

namespace {

using Clock = std::chrono::steady_clock;

// Every stage has all of them.
std::int64_t micro_batches_of(const Program& program) {
  std::int64_t last = 0;
  for (const Section& section : program.sections) last = std::max(last, section.micro_batch);
  return last + 1;
}

}  // namespace

class Executor::StepWalk {
 public:
  StepWalk(const Model& model, Schedule given, std::int64_t sequences, ExecutorMeans means)
      : schedule(std::move(given)),
        model_(model),
        sequences_(sequences),
        backend_(means.backend),
        memory_(means.backend.memory()),
        channels_(schedule.program.channels),
        communicators_(std::move(means.communicators)),
        between_tiles_(std::move(means.between_tiles)) {
    const Weights& weights = means.weights;
    if (&weights.device() != &memory_) {
      throw std::invalid_argument(
          "executor: weights are in the memory of another device than the backend's");
    }
    check(model_, weights.grid());
    if (schedule.program.stage != stage_of(weights.grid(), weights.rank())) {
      throw std::invalid_argument("executor: the schedule is that of another stage of grid " +
                                  weights.grid().str());
    }
    if (const std::string why = view_misfit(schedule.program, weights.grid()); !why.empty()) {
      throw std::invalid_argument("executor: " + why);
    }
    const std::int64_t micro_batches = micro_batches_of(schedule.program);
    check_divides(sequences_, weights.grid(), micro_batches);
    expect_communicators(weights.grid());
    const std::int64_t tokens =
        sequences_ / micro_batches * tokens_of_sequence(model_, schedule.program.phase);
    const BufferPlan buffers = plan_buffers(schedule, weights.grid(), tokens);
    const ArenaPlan arena = plan_arena(buffers.buffers, StreamOrder(schedule));
    arena_ = memory_.allocate(arena.bytes);
    work::Addresses addresses;
    addresses.caches = means.caches;
    for (std::int64_t offset : arena.offsets) addresses.buffers.push_back(arena_.data() + offset);
    const ArenaPlan on_host = plan_arena(buffers.on_host, StreamOrder(schedule));
    host_arena_ = host_.allocate(on_host.bytes);
    for (std::int64_t offset : on_host.offsets) {
      addresses.on_host.push_back(host_arena_.data() + offset);
    }
    plan_ = work::bind(schedule, tokens, weights, buffers, addresses);
    prepare_communicators();
    posts_.resize(plan_.collectives);
    span_of_.resize(plan_.collectives);
    step_tokens_ = tokens * micro_batches;
    device_ = {&schedule.program,     weights.grid(), weights.rank(),
               model_.head_columns(), step_tokens_,   1.0,
               model_.norm_epsilon,   model_.rotary,  model_.sequence};
    local_words_ = static_cast<std::size_t>(step_tokens_ / token_cuts.parts(weights.grid()));
  }

  ExecutedStep step(const LocalBatch& batch, const AdamW& optimizer, std::int64_t optimizer_step) {
    check_words(batch);
    batch_ = &batch;
    optimizer_ = {optimizer, optimizer_step, 0.0};
    device_.clip_norm = optimizer.clip_norm;
    device_.length = batch.length.value_or(model_.sequence);
    device_.step_targets = std::max<std::int64_t>(1, batch.counted_targets.value_or(step_tokens_));
    result_ = {};
    result_.exposed_seconds.assign(channels_.size(), 0.0);
    result_.spans.reserve(plan_.spans);
    began_ = Clock::now();
    now_ = 0.0;
    const ReadyQueue& queue = schedule.program.order.ready;
    turns_ = {queue.limit, queue.turns / 2, schedule.program.stage};
    walk(plan_.before);
    if (queue.limit > 0) {
      while (!turns_.over()) {
        const StepPart part = next_turn();
        const work::ItemStretch& turn = stretch(part);
        turns_.take(part);
        walk(turn);
      }
      walk(plan_.behind);
    }
    memory_.finish();
    result_.seconds = seconds();
    return std::move(result_);
  }

  Tensor logits() const { return plan_.logits; }
  Tensor token_losses() const { return plan_.token_losses; }
  std::int64_t arena_bytes() const { return arena_.bytes(); }
  std::int64_t host_arena_bytes() const { return host_arena_.bytes(); }

  Schedule schedule;

 private:
  void expect_communicators(const ProcessGrid& grid) const {
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      const std::int64_t needed = members(channels_[i], grid);
      const bool fits = i < communicators_.size() && communicators_[i] != nullptr &&
                        communicators_[i]->size() == needed;
      if (needed == 1 || fits) continue;
      throw std::invalid_argument("executor: channel " + name(channels_[i]) + " needs " +
                                  std::to_string(needed) + " members on grid " + grid.str());
    }
  }

  // In the order of the channels, which is that of all members.
  void prepare_communicators() {
    std::vector<std::vector<CollectiveCall>> calls(channels_.size());
    for (const work::Item& item : plan_.items) {
      const auto* start = std::get_if<work::StartItem>(&item);
      if (start == nullptr) continue;
      std::vector<CollectiveCall>& of_channel = calls[static_cast<std::size_t>(start->channel)];
      of_channel.insert(of_channel.end(), start->calls.begin(), start->calls.end());
    }
    for (std::size_t channel = 0; channel < calls.size(); ++channel) {
      if (!calls[channel].empty()) communicators_[channel]->prepare(calls[channel]);
    }
  }

  Communicator& communicator(ChannelNumber channel) const {
    return *communicators_[static_cast<std::size_t>(channel)];
  }

  void check_words(const LocalBatch& batch) const {
    for (const std::vector<std::int32_t>* words : {&batch.tokens, &batch.targets}) {
      if (words->size() != local_words_ || batch.sequences != sequences_) {
        throw std::invalid_argument(
            "executor: this rank's share of a step of " + std::to_string(sequences_) +
            " sequences is " + std::to_string(local_words_) + " tokens and as many targets, not " +
            std::to_string(words->size()) + " of " + std::to_string(batch.sequences));
      }
    }
    expect_words(batch.tokens, batch.targets, model_.vocabulary);
    if (batch.length) expect_length(*batch.length, model_);
  }

  float first_number(const Tensor& fp32) {
    float number = 0.0F;
    memory_.copy_out(reinterpret_cast<std::byte*>(&number), fp32.data, sizeof number);
    return number;
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

  // One operation ends where the next one begins.
  void close_span(std::int32_t op) {
    const double begin = now_;
    now_ = seconds();
    result_.spans.push_back({op, begin, now_, 0.0});
  }

  void walk(const work::ItemStretch& stretch) {
    for (std::size_t i = stretch.first; i < stretch.last; ++i) {
      std::visit([this](auto& work) { this->run(work); }, plan_.items[i]);
    }
  }

  // The next turn of a part.
  const work::ItemStretch& stretch(StepPart part) const {
    return part == StepPart::forward
               ? plan_.forwards[static_cast<std::size_t>(turns_.forwards())]
               : plan_.backwards[static_cast<std::size_t>(turns_.backwards())];
  }

  // What the members of the stage agreed on, where there was a choice.
  StepPart next_turn() {
    if (!turns_.open()) return turns_.only();
    return static_cast<StepPart>(static_cast<int>(first_number(choice_)));
  }

  bool arrived(StepPart part) const {
    const work::ItemStretch& turn = stretch(part);
    return turn.channel == -1 || communicator(turn.channel).finished(posts_[turn.message]);
  }

  void run(const work::Choose& choose) {
    const double begin = now_;
    choice_ = choose.word;
    StepPart part = turns_.only();
    if (choose.says && turns_.open()) part = first_arrived();
    const float word = choose.says ? static_cast<float>(part) : 0.0F;
    memory_.copy_in(choose.word.data, reinterpret_cast<const std::byte*>(&word), sizeof word);
    close_span(choose.op);
    result_.spans.back().waited = now_ - begin;
    if (!choose.says || stretch(part).channel == -1) return;
    result_.exposed_seconds[static_cast<std::size_t>(stretch(part).channel)] += now_ - begin;
  }

  // A backward, if both have.
  StepPart first_arrived() const {
    while (true) {
      for (StepPart part : {StepPart::backward, StepPart::forward}) {
        if (arrived(part)) return part;
      }
      std::this_thread::yield();
    }
  }

  void run(work::KernelItem& kernel) {
    if (kernel.words != work::Words::none) {
      const auto& words = kernel.words == work::Words::tokens ? batch_->tokens : batch_->targets;
      kernel.operands.words = {words.data() + kernel.first_word, kernel.word_count};
    }
    backend_.compute(device_, schedule.program.ops[static_cast<std::size_t>(kernel.op)],
                     kernel.operands, between_tiles_);
    close_span(kernel.op);
  }

  // All ranks have the same norm, added up in the same order.
  void run(work::Update& update) {
    result_.applied = optimizer_.numbers.takes(result_.gradient_norm);
    if (!result_.applied) return close_span(update.op);
    const float factor = first_number(update.factor);
    for (work::Update::Shard& shard : update.shards) {
      shard.operands.factor = factor;
      optimizer_.decay = shard.decays ? optimizer_.numbers.weight_decay : 0.0;
      if (update.bucket.data == nullptr) {
        backend_.update(optimizer_, shard.operands, between_tiles_);
      } else {
        update_in_buckets(backend_, optimizer_, {shard.operands, shard.master_on_host},
                          update.bucket, between_tiles_);
      }
    }
    close_span(update.op);
  }

  void run(const work::Copy& copy) {
    make_copies(memory_, copy.members);
    close_span(copy.op);
  }

  void run(const work::Clear& clear) {
    memory_.fill_zeros(clear.at.data, clear.at.bytes());
    close_span(clear.op);
  }

  void run(const work::HostCopy& copy) {
    const auto& [op, from, to, to_host] = copy;
    if (to_host) {
      memory_.copy_out(to.data, from.data, from.bytes());
    } else {
      memory_.copy_in(to.data, from.data, from.bytes());
    }
    close_span(op);
  }

  void run(work::StartItem& start) {
    make_copies(memory_, start.packed);
    if (start.marked) send_marked(memory_, *start.marked, start.calls[0]);
    // They are finished in their order: the last one stands for all.
    for (const CollectiveCall& call : start.calls) {
      posts_[start.number] = communicator(start.channel).start(call);
    }
    span_of_[start.number] = result_.spans.size();
    close_span(start.op);
  }

  void run(const work::Finish& finish) {
    const double begin = now_;
    communicator(finish.channel).finish(posts_[finish.number]);
    OpSpan& span = result_.spans[span_of_[finish.number]];
    span.waited = seconds() - begin;
    make_copies(memory_, finish.unpacked);
    if (finish.marked) place_marked(memory_, *finish.marked);
    now_ = seconds();
    span.end = now_;
    result_.exposed_seconds[static_cast<std::size_t>(finish.channel)] += span.waited;
  }

  void run(const work::ReadLoss& loss) {
    result_.loss =
        static_cast<double>(first_number(loss.sum)) / static_cast<double>(device_.step_targets);
  }

  void run(const work::ReadNorm& norm) {
    float squares = 0.0F;
    for (const Tensor& part : norm.squares) squares += first_number(part);
    result_.gradient_norm = std::sqrt(static_cast<double>(squares));
  }

  Model model_;
  std::int64_t sequences_ = 0;
  Backend& backend_;
  DeviceMemory& memory_;
  std::vector<Channel> channels_;
  std::vector<Communicator*> communicators_;
  ProgressCall between_tiles_;
  DeviceBlock arena_;
  HostMemory host_;
  DeviceBlock host_arena_;
  work::ExecutorPlan plan_;
  Device device_;
  std::int64_t step_tokens_ = 0;
  std::size_t local_words_ = 0;
  std::vector<Post> posts_;           // by number of the collective
  std::vector<std::size_t> span_of_;  // by number of the collective
  ReadyTurns turns_;
  Tensor choice_;  // the word of the last one
  const LocalBatch* batch_ = nullptr;
  reference::AdamWStep optimizer_;
  ExecutedStep result_;
  Clock::time_point began_;
  double now_ = 0.0;  // seconds into the step at which the last operation ended
};

Executor::Executor(const Model& model, Schedule schedule, std::int64_t sequences,
                   ExecutorMeans means)
    : walk_(std::make_unique<StepWalk>(model, std::move(schedule), sequences, std::move(means))) {}

Executor::~Executor() = default;

ExecutedStep Executor::step(const LocalBatch& batch, const AdamW& optimizer,
                            std::int64_t optimizer_step) {
  return walk_->step(batch, optimizer, optimizer_step);
}

Tensor Executor::logits() const {
  return walk_->logits();
}
Tensor Executor::token_losses() const {
  return walk_->token_losses();
}
std::int64_t Executor::arena_bytes() const {
  return walk_->arena_bytes();
}
std::int64_t Executor::host_arena_bytes() const {
  return walk_->host_arena_bytes();
}
const Schedule& Executor::schedule() const {
  return walk_->schedule;
}

}  // namespace fourfold::inline engine
