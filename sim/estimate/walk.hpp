// The max-plus walk of a stage through its timed program; see estimate.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "sim/estimate/meetings.hpp"
#include "sim/estimate/shared_lanes.hpp"
#include "sim/explain/device_log.hpp"
#include "sim/question/outcome.hpp"

namespace fourfold::inline sim::inline estimate {

// A log that nobody asked for; with one, no repetition may be skipped.
struct NoLog {
  static constexpr bool whole = false;
  void operation(double, double) {}
  void flight(ChannelNumber, double, double) {}
};

struct WholeLog {
  static constexpr bool whole = true;
  void operation(double arrive, double leave) {
    log.arrive.push_back(arrive);
    log.leave.push_back(leave);
  }
  void flight(ChannelNumber channel, double start, double finish) {
    log.flights[static_cast<std::size_t>(channel)].push_back({start, finish});
  }
  DeviceLog log;
};

// The state of a walk is when channels become free and posts finish, counted from now; the past is
// all alike. Where a round of a loop leaves the state as it found it, the same body leads to the
// same increments for ever.
template <typename Log>
class Walk {
 public:
  Walk(const TimedProgram& program, std::int64_t stage, Meetings& meetings)
      : p_(program),
        stage_(stage),
        meetings_(meetings),
        channels_(program.channels.size()),
        posts_(channels_.size()),
        lanes_(program, static_cast<std::size_t>(stage)) {
    const StageCycles cycles = program.by_stage()[static_cast<std::size_t>(stage)];
    cycle_ = cycles.first;
    last_cycle_ = cycles.last;
    if constexpr (Log::whole) log.log.flights.resize(channels_.size());
  }

  // Goes on until the end, or until another stage must post something first. Where stages meet,
  // the loop over micro-batches is walked turn by turn.
  bool walk() {
    for (; cycle_ < last_cycle_; ++cycle_) {
      const RunCycle& cycle = p_.cycles[static_cast<std::size_t>(cycle_)];
      if (p_.stages.size() <= 1) {
        repeat(cycle.repeats, before_turn_, [&] { turn(cycle); });
        continue;
      }
      for (; turn_ < cycle.repeats; ++turn_) {
        if (!turn(cycle)) return false;
      }
      turn_ = 0;
    }
    lanes_.advance(std::numeric_limits<double>::infinity());
    note_ends();
    return true;
  }

  Outcome outcome() const {
    Outcome outcome(p_.channels);
    outcome.total = {now_.seconds};
    outcome.compute = {now_.compute};
    outcome.bubble = {bubble_};
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      outcome.exposed[c] = {channels_[c].exposed};
      outcome.busy[c] = {channels_[c].busy};
    }
    return outcome;
  }

  // A number that grows as it goes on.
  std::size_t steps() const { return steps_; }

  Log log;

 private:
  struct Moment {
    double seconds = 0.0;
    double compute = 0.0;
  };
  // A post that may still be waited for. Repetitions that were not walked moved it on: of those
  // extensions it has had so many, and its end, which may not be known before, so many.
  struct Post {
    double finish = 0.0;
    double duration = 0.0;
    double compute_before = 0.0;
    std::size_t extensions = 0;
    std::size_t of_finish = 0;
    Interference lost = {};

    void move(const std::vector<Moment>& by, std::size_t to) {
      for (; extensions < to; ++extensions) compute_before += by[extensions].compute;
      for (; of_finish < to; ++of_finish) finish += by[of_finish].seconds;
    }
  };
  struct OfChannel {
    double free = 0.0;
    double exposed = 0.0;
    double busy = 0.0;
    std::size_t posts = 0;  // that were walked
    std::size_t ended = 0;  // of those, in the lanes
  };
  // Before a round of a loop.
  struct Before {
    Moment now;
    std::size_t extensions = 0;
    std::vector<OfChannel> channels;
    std::vector<SharedLanes::Lane> lanes;
    // What was unlike the last time, and may well be again: a post by channel and number.
    std::size_t channel = 0;
    std::size_t number = 0;
  };

  // One turn of a cycle, from where it was left.
  bool turn(const RunCycle& cycle) {
    settled_ = extensions_.size();
    if (run_ < cycle.first || run_ >= cycle.last) run_ = cycle.first;
    for (; run_ < cycle.last; ++run_) {
      const StepRun& loop = p_.runs[static_cast<std::size_t>(run_)];
      if (!meetings_.meets(run_)) {
        repeat(loop.repeats, before_round_, [&] {
          for (std::int32_t s = loop.first; s < loop.last; ++s) {
            step(p_.steps[static_cast<std::size_t>(s)]);
          }
        });
        continue;
      }
      for (; round_ < loop.repeats; ++round_) {
        if (step_ < loop.first || step_ >= loop.last) step_ = loop.first;
        for (; step_ < loop.last; ++step_) {
          if (!meet(p_.steps[static_cast<std::size_t>(step_)])) return false;
          ++steps_;
        }
        step_ = -1;
      }
      round_ = 0;
    }
    run_ = -1;
    return true;
  }

  // A step that may join stages; false if it must wait for another stage's post.
  bool meet(const TimedStep& s) {
    if (s.kind == StepKind::compute || !meetings_.joins(s.channel)) {
      step(s);
      return true;
    }
    const auto c = static_cast<std::size_t>(s.channel);
    OfChannel& channel = channels_[c];
    if (s.kind == StepKind::post) {
      const TimedCollective& collective = p_.collectives[static_cast<std::size_t>(s.collective)];
      const double duration = collective.uncontended.value;
      meetings_.post(s.channel, stage_, channel.posts, now_.seconds, duration);
      log.operation(now_.seconds, now_.seconds);
      posts_[c].push_back({0.0, duration, now_.compute, 0, 0, collective.lost});
      ++channel.posts;
      channel.busy += duration;
      return true;
    }
    const std::size_t number = channel.posts - 1 - static_cast<std::size_t>(s.back);
    if (!meetings_.known(s.channel, stage_, number)) return false;
    const Post& post = posts_[c][number];
    const double finish = meetings_.finish(s.channel, stage_, number);
    const InterferenceCharge charge = charge_of(post);
    compute(charge.compute.value);
    bubble_ += std::max(0.0, finish - post.duration - now_.seconds);
    log.flight(s.channel, finish - post.duration, finish);
    wait(channel, finish, charge.late);
    return true;
  }

  InterferenceCharge charge_of(const Post& post) const {
    return interference_charge(post.lost, {post.duration}, {now_.compute - post.compute_before});
  }

  void wait(OfChannel& channel, double finish, Seconds late) {
    const double until = std::max(now_.seconds, finish + late.value);
    log.operation(now_.seconds, until);
    channel.exposed += until - now_.seconds;
    now_.seconds = until;
  }

  // Runs `body`; once a round leaves the state as it found it, the rest is the same again and
  // again.
  template <typename Body>
  void repeat(std::int64_t repeats, Before& before, const Body& body) {
    if (repeats == 1) return body();
    if constexpr (Log::whole) {
      for (std::int64_t i = 0; i < repeats; ++i) body();
      return;
    }
    for (std::int64_t i = 0; i < repeats; ++i) {
      before.now = now_;
      before.extensions = extensions_.size();
      before.channels = channels_;
      advance_lanes();
      before.lanes = lanes_.under_way();
      body();
      advance_lanes();
      if (i + 1 < repeats && alike(before)) {
        extend(repeats - i - 1, before);
        return;
      }
    }
  }

  // Whether the state is that of `before` within rounding.
  bool alike(Before& before) {
    const double tolerance = 1e-12 * (now_.seconds - before.now.seconds);
    if (channels_.empty()) return true;
    if (!lanes_.alike(before.lanes, before.now.seconds, now_.seconds, tolerance)) return false;
    if (!alike(before, before.channel, before.number, tolerance)) return false;
    std::size_t most = 0;
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      const double free_before = std::max(0.0, before.channels[c].free - before.now.seconds);
      const double free_after = std::max(0.0, channels_[c].free - now_.seconds);
      if (std::abs(free_before - free_after) > tolerance) return false;
      most = std::max(most, channels_[c].posts);
    }
    // The youngest first: they differ most often.
    for (std::size_t back = 0; back < std::min(most, depth()); ++back) {
      for (std::size_t c = 0; c < channels_.size(); ++c) {
        if (back >= channels_[c].posts || meetings_.joins(static_cast<ChannelNumber>(c))) continue;
        const std::size_t number = channels_[c].posts - 1 - back;
        if (alike(before, c, number, tolerance)) continue;
        before.channel = c;
        before.number = number;
        return false;
      }
    }
    return true;
  }

  // Whether post `number` is to now what the post as many back was to the round's beginning.
  bool alike(const Before& before, std::size_t channel, std::size_t number, double tolerance) {
    const std::size_t posts = channels_[channel].posts;
    if (meetings_.joins(static_cast<ChannelNumber>(channel))) return true;  // no loop waits for it
    if (number >= posts || posts - number > depth()) return true;           // no part of the state
    const std::size_t in_round = posts - before.channels[channel].posts;
    const Post after = seen(channel, number, extensions_.size());
    const Post then =
        number < in_round ? Post{} : seen(channel, number - in_round, before.extensions);
    const auto near = [&](double a, double b) { return std::abs(a - b) <= tolerance; };
    return near(then.duration, after.duration) &&
           then.lost.of_collectives == after.lost.of_collectives &&
           near(ahead(then, before.now, channel), ahead(after, now_, channel)) &&
           // A post of the finished past can be waited for once more only to charge interference,
           // of which there is so much and no more.
           near(beside(then, before.now), beside(after, now_));
  }

  // How far ahead the end of a post is, as far as it makes a difference. When what is under way in
  // the lanes will end they say themselves.
  double ahead(const Post& post, const Moment& now, std::size_t channel) const {
    constexpr double under_way = 1e300;
    if (post.finish > now.seconds && lanes_.has(static_cast<ChannelNumber>(channel))) {
      return under_way;
    }
    const Seconds late = most_late(post.lost, {post.duration}) + p_.longest_waiting;
    return std::max(-late.value, post.finish - now.seconds);
  }

  // Compute since a post, as far as it makes a difference.
  static double beside(const Post& post, const Moment& now) {
    return std::min(most_beside(post.lost, {post.duration}).value,
                    now.compute - post.compute_before);
  }

  // `rounds` more like the one since `before`.
  void extend(std::int64_t rounds, const Before& before) {
    const auto n = static_cast<double>(rounds);
    const Moment more{n * (now_.seconds - before.now.seconds),
                      n * (now_.compute - before.now.compute)};
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      OfChannel& channel = channels_[c];
      channel.exposed += n * (channel.exposed - before.channels[c].exposed);
      channel.busy += n * (channel.busy - before.channels[c].busy);
      channel.free += more.seconds;
    }
    extensions_.push_back(more);
    lanes_.move(more.seconds);
    now_.seconds += more.seconds;
    now_.compute += more.compute;
  }

  // The post as it stands after so many extensions, none of which lies before this turn.
  Post seen(std::size_t channel, std::size_t number, std::size_t extensions) {
    Post& post = posts_[channel][number];
    post.move(extensions_, settled_);
    Post moved = post;
    moved.move(extensions_, extensions);
    return moved;
  }

  // How many posts of a channel can still be waited for.
  std::size_t depth() const { return static_cast<std::size_t>(p_.max_back) + 1; }

  void compute(double duration) {
    now_.seconds += duration;
    now_.compute += duration;
  }

  void step(const TimedStep& s) {
    if (s.kind == StepKind::compute) {
      compute(s.duration.value);
      return;
    }
    const auto c = static_cast<std::size_t>(s.channel);
    OfChannel& channel = channels_[c];
    if (s.kind == StepKind::post) {
      const TimedCollective& collective = p_.collectives[static_cast<std::size_t>(s.collective)];
      const double duration = collective.uncontended.value;
      log.operation(now_.seconds, now_.seconds);
      const std::size_t extensions = extensions_.size();
      if (lanes_.has(s.channel)) {
        const double unknown = std::numeric_limits<double>::infinity();
        posts_[c].push_back(
            {unknown, duration, now_.compute, extensions, extensions, collective.lost});
        lanes_.post(now_.seconds, collective);
        note_ends();
      } else {
        channel.free = std::max(channel.free, now_.seconds) + duration;
        log.flight(s.channel, channel.free - duration, channel.free);
        posts_[c].push_back(
            {channel.free, duration, now_.compute, extensions, extensions, collective.lost});
      }
      ++channel.posts;
      if (!lanes_.has(s.channel)) channel.busy += duration;
    } else {
      const auto back = static_cast<std::size_t>(s.back);
      if (lanes_.has(s.channel)) {
        lanes_.advance_until(s.channel, back);
        note_ends();
      }
      const Post post =
          back < channel.posts ? seen(c, channel.posts - 1 - back, extensions_.size()) : Post{};
      const InterferenceCharge charge = charge_of(post);
      compute(charge.compute.value);
      wait(channel, post.finish, charge.late + s.duration);
    }
  }

  void advance_lanes() {
    if (!lanes_.any()) return;
    lanes_.advance(now_.seconds);
    note_ends();
  }

  // What has ended in the lanes gets its end.
  void note_ends() {
    for (const SharedLanes::End& end : lanes_.ends()) {
      const auto c = static_cast<std::size_t>(end.channel);
      Post& post = posts_[c][channels_[c].ended++];
      channels_[c].busy += end.finish - end.start;
      post.finish = end.finish;
      post.of_finish = extensions_.size();
      log.flight(end.channel, end.start, end.finish);
    }
    lanes_.ends().clear();
  }

  const TimedProgram& p_;
  const std::int64_t stage_;
  Meetings& meetings_;
  // Where it is.
  std::int32_t cycle_ = 0, last_cycle_ = 0, run_ = -1, step_ = -1;
  std::int64_t turn_ = 0, round_ = 0;
  std::size_t steps_ = 0;
  double bubble_ = 0.0;
  Moment now_;
  std::vector<OfChannel> channels_;
  std::vector<std::vector<Post>> posts_;  // all that were walked, by channel
  SharedLanes lanes_;
  std::vector<Moment> extensions_;
  std::size_t settled_ = 0;  // extensions before this turn of a cycle
  Before before_turn_, before_round_;
};

}  // namespace fourfold::inline sim::inline estimate
