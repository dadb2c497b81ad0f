// Stages with clocks of their own; who decides first goes first. See ready_queue.hpp.
#include "sim/estimate/ready_queue.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "schedule/order/ready_turns.hpp"
#include "schedule/order/side_by_side.hpp"
#include "sim/estimate/meetings.hpp"
#include "sim/estimate/shared_lanes.hpp"

namespace fourfold::inline sim::inline estimate {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

class QueuedStage {
 public:
  QueuedStage(const TimedProgram& program, std::int64_t stage, Meetings& meetings, DeviceLog* log)
      : p_(program),
        queue_(program.queues[static_cast<std::size_t>(stage)]),
        stage_(stage),
        meetings_(meetings),
        log_(log),
        channels_(program.channels.size()),
        lanes_(program, static_cast<std::size_t>(stage)),
        turns_(queue_.limit, queue_.micro_batches,
               {stage, static_cast<std::int64_t>(program.stages.size())}) {
    const StageCycles cycles = program.stages[static_cast<std::size_t>(stage)];
    for (std::int32_t c = cycles.first; c < queue_.first; ++c) {
      add(p_.cycles[static_cast<std::size_t>(c)]);
    }
    if (log_ != nullptr) log_->flights.resize(channels_.size());
  }

  bool over() const { return turns_.over() && !at_choice() && next_ == list_.size(); }

  // Goes on to the next choice, or to the end of the turn. False if another stage must post first,
  // which happens behind the queue alone.
  bool walk() {
    for (; next_ < list_.size(); ++next_, ++steps_) {
      if (at_choice() || !step(p_.steps[static_cast<std::size_t>(list_[next_])])) return false;
    }
    return true;
  }

  // When the stage can say what comes next, knowing what has been sent so far.
  double decides_at() const {
    if (over() || (!at_choice() && next_ < list_.size())) return never;
    if (!at_choice()) return std::max(now_, arrival(chosen_.value_or(turns_.only())));
    if (!turns_.open()) return now_;
    return std::max(now_, std::min(arrival(StepPart::forward), arrival(StepPart::backward)));
  }

  // Chooses, or begins the turn that was chosen.
  void decide() {
    if (at_choice()) {
      chosen_ = choice();
      hold_for(*chosen_);
      ++next_;
      walk();
      return;
    }
    begin(std::exchange(chosen_, std::nullopt).value_or(turns_.only()));
    walk();
  }

  void go_behind_queue() {
    list_.clear();
    next_ = 0;
    for (std::int32_t c = queue_.last; c < p_.stages[static_cast<std::size_t>(stage_)].last; ++c) {
      add(p_.cycles[static_cast<std::size_t>(c)]);
    }
  }

  // What is still under way ends.
  void end() {
    lanes_.advance(never);
    note_ends();
  }

  std::size_t steps() const { return steps_; }

  Outcome outcome() const {
    Outcome outcome(p_.channels);
    outcome.total = {now_};
    outcome.compute = {compute_};
    outcome.bubble = {bubble_};
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      outcome.exposed[c] = {channels_[c].exposed};
      outcome.busy[c] = {channels_[c].busy};
    }
    return outcome;
  }

 private:
  struct Post {
    double finish = 0.0;
    double duration = 0.0;
    double compute_before = 0.0;
    Interference lost;
  };
  struct OfChannel {
    double free = 0.0;
    double exposed = 0.0;
    double busy = 0.0;
    std::vector<Post> posts;
    std::size_t waited = 0;  // for so many posts, the oldest
    std::size_t ended = 0;   // of those in the lanes
  };

  bool at_choice() const {
    return next_ < list_.size() &&
           p_.steps[static_cast<std::size_t>(list_[next_])].kind == StepKind::choose;
  }

  // When the message of the next turn of a part is there; never, if it has not been sent.
  double arrival(StepPart part) const {
    const ChannelNumber channel = queue_.message_of(part);
    if (channel == -1) return 0.0;
    const std::size_t number = channels_[static_cast<std::size_t>(channel)].waited;
    if (!meetings_.known(channel, stage_, number)) return never;
    return meetings_.finish(channel, stage_, number);
  }

  StepPart choice() const {
    if (!turns_.open()) return turns_.only();
    const double backward = arrival(StepPart::backward);
    return backward <= decides_at() * (1.0 + simultaneous) ? StepPart::backward : StepPart::forward;
  }

  void hold_for(StepPart part) {
    const ChannelNumber channel = queue_.message_of(part);
    const double from = now_;
    if (turns_.open() && channel != -1) {
      OfChannel& on = channels_[static_cast<std::size_t>(channel)];
      const double finish = arrival(part);
      bubble_ += std::max(0.0, finish - on.posts.at(on.waited).duration - now_);
      hold(on, finish);
    }
    note(from);
  }

  void begin(StepPart part) {
    list_.clear();
    next_ = 0;
    add(queue_.turn(part, part == StepPart::forward ? turns_.forwards() : turns_.backwards()));
    turns_.take(part);
    if (log_ != nullptr) log_->turns.push_back(part);
  }

  void add(const RunCycle& cycle) {
    each_run(p_, cycle, [this](const StepRun& run) {
      for (std::int32_t s = run.first; s < run.last; ++s) list_.push_back(s);
    });
  }

  bool step(const TimedStep& s) {
    if (s.kind == StepKind::compute) {
      work(s.duration.value);
      return true;
    }
    OfChannel& channel = channels_[static_cast<std::size_t>(s.channel)];
    return s.kind == StepKind::post ? post(s, channel) : wait(s, channel);
  }

  bool post(const TimedStep& s, OfChannel& channel) {
    const TimedCollective& collective = p_.collectives[static_cast<std::size_t>(s.collective)];
    const double duration = collective.uncontended.value;
    note(now_);
    if (meetings_.joins(s.channel)) {
      meetings_.post(s.channel, stage_, channel.posts.size(), now_, duration);
      channel.posts.push_back({0.0, duration, compute_, collective.lost});
    } else if (lanes_.has(s.channel)) {
      channel.posts.push_back({never, duration, compute_, collective.lost});
      lanes_.post(now_, collective);
      note_ends();
    } else {
      channel.free = std::max(channel.free, now_) + duration;
      channel.posts.push_back({channel.free, duration, compute_, collective.lost});
      note_flight(s.channel, channel.free - duration, channel.free);
    }
    channel.busy += duration;
    return true;
  }

  bool wait(const TimedStep& s, OfChannel& channel) {
    const std::size_t number = s.back == oldest_post
                                   ? channel.waited
                                   : channel.posts.size() - 1 - static_cast<std::size_t>(s.back);
    if (lanes_.has(s.channel)) {
      lanes_.advance_until(s.channel, channel.posts.size() - 1 - number);
      note_ends();
    }
    const Post& post = channel.posts.at(number);
    const bool joins = meetings_.joins(s.channel);
    if (joins && !meetings_.known(s.channel, stage_, number)) return false;
    const double finish = joins ? meetings_.finish(s.channel, stage_, number) : post.finish;
    const InterferenceCharge charge =
        interference_charge(post.lost, {post.duration}, {compute_ - post.compute_before});
    work(charge.compute.value);
    if (joins) {
      bubble_ += std::max(0.0, finish - post.duration - now_);
      if (number >= channel.waited) note_flight(s.channel, finish - post.duration, finish);
    }
    channel.waited = std::max(channel.waited, number + 1);
    const double from = now_;
    hold(channel, finish + charge.late.value + s.duration.value);
    note(from);
    return true;
  }

  // What has ended in the lanes gets its end.
  void note_ends() {
    for (const SharedLanes::End& end : lanes_.ends()) {
      OfChannel& channel = channels_[static_cast<std::size_t>(end.channel)];
      Post& post = channel.posts[channel.ended++];
      post.finish = end.finish;
      channel.busy += end.finish - end.start - post.duration;
      note_flight(end.channel, end.start, end.finish);
    }
    lanes_.ends().clear();
  }

  void work(double seconds) {
    now_ += seconds;
    compute_ += seconds;
  }
  void hold(OfChannel& channel, double until) {
    channel.exposed += std::max(0.0, until - now_);
    now_ = std::max(now_, until);
  }

  void note(double arrive) {
    if (log_ == nullptr) return;
    log_->arrive.push_back(arrive);
    log_->leave.push_back(now_);
    log_->end = now_;
  }
  void note_flight(ChannelNumber channel, double start, double finish) {
    if (log_ == nullptr) return;
    log_->flights[static_cast<std::size_t>(channel)].push_back({start, finish});
  }

  const TimedProgram& p_;
  const TimedQueue& queue_;
  const std::int64_t stage_;
  Meetings& meetings_;
  DeviceLog* log_;  // null: nobody asked for one
  std::vector<OfChannel> channels_;
  SharedLanes lanes_;
  ReadyTurns turns_;
  std::optional<StepPart> chosen_;
  std::vector<std::int32_t> list_;  // steps of the turn, or of what comes before or behind them
  std::size_t next_ = 0;
  std::size_t steps_ = 0;
  double now_ = 0.0;
  double compute_ = 0.0;
  double bubble_ = 0.0;
};

// What is sent later arrives later: nothing that is still unknown can change the first decision.
std::vector<QueuedStage> walked(const TimedProgram& program, Meetings& meetings,
                                std::int64_t logged, DeviceLog* log) {
  std::vector<QueuedStage> stages;
  const auto count = static_cast<std::int64_t>(program.stages.size());
  stages.reserve(program.stages.size());
  for (std::int64_t i = 0; i < count; ++i) {
    stages.emplace_back(program, i, meetings, i == logged ? log : nullptr);
    stages.back().walk();
  }
  std::vector<double> decides_at;
  for (const QueuedStage& stage : stages) decides_at.push_back(stage.decides_at());
  while (!std::ranges::all_of(stages, &QueuedStage::over)) {
    const auto first = std::ranges::min_element(decides_at);
    if (*first == never) {
      throw std::invalid_argument(
          "The stages of the pipeline wait for each other for ever: no message arrives.");
    }
    const auto stage = static_cast<std::size_t>(first - decides_at.begin());
    stages[stage].decide();
    // Messages come from the neighbours.
    const std::size_t last = std::min(stage + 2, stages.size());
    for (std::size_t i = stage - std::min<std::size_t>(stage, 1); i < last; ++i) {
      decides_at[i] = stages[i].decides_at();
    }
  }
  for (QueuedStage& stage : stages) stage.go_behind_queue();
  const bool ended = side_by_side(
      stages.size(), [&](std::size_t i) { return stages[i].walk(); },
      [&](std::size_t i) { return stages[i].steps(); });
  if (!ended) {
    throw std::invalid_argument("The stages of the pipeline wait for each other for ever.");
  }
  for (QueuedStage& stage : stages) stage.end();
  return stages;
}

}  // namespace

Outcome queued_estimate(const TimedProgram& program) {
  Meetings meetings(program);
  std::vector<Outcome> outcomes;
  for (const QueuedStage& stage : walked(program, meetings, -1, nullptr)) {
    outcomes.push_back(stage.outcome());
  }
  return mean(outcomes);
}

DeviceLog queued_log(const TimedProgram& program, std::int64_t stage) {
  Meetings meetings(program);
  DeviceLog log;
  const auto stages = walked(program, meetings, stage, &log);
  log.end = stages.at(static_cast<std::size_t>(stage)).outcome().total.value;
  return log;
}

}  // namespace fourfold::inline sim::inline estimate
