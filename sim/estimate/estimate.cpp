// The max-plus walk of the estimated rung; see estimate.hpp.
#include "sim/estimate/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "schedule/fold/memory.hpp"
#include "sim/cost/lower.hpp"

namespace fourfold {

namespace {

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

// A state in which the same body of a loop leads to the same increments: everything relative to
// now.
template <typename Log>
class Walk {
 public:
  explicit Walk(const TimedProgram& program)
      : p_(program),
        depth_(program.max_back + 1),
        channels_(program.channels.size()),
        recent_(channels_.size() * static_cast<std::size_t>(depth_)) {
    if constexpr (Log::whole) log.log.flights.resize(channels_.size());
  }

  Outcome run() {
    for (const RunCycle& cycle : p_.cycles) {
      repeat(cycle.repeats, before_cycle_, [&] {
        for (std::int32_t r = cycle.first; r < cycle.last; ++r) {
          const StepRun& loop = p_.runs[static_cast<std::size_t>(r)];
          repeat(loop.repeats, before_run_, [&] {
            for (std::int32_t s = loop.first; s < loop.last; ++s) {
              step(p_.steps[static_cast<std::size_t>(s)]);
            }
          });
        }
      });
    }
    Outcome outcome(p_.channels);
    outcome.total = {now_};
    outcome.compute = {compute_};
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      outcome.exposed[c] = {channels_[c].exposed};
      outcome.busy[c] = {channels_[c].busy};
    }
    return outcome;
  }

  Log log;

 private:
  // One post that may still be waited for.
  struct Post {
    double finish = 0.0;
    double duration = 0.0;
    double compute_before = 0.0;
  };
  struct OfChannel {
    double free = 0.0;
    double exposed = 0.0;
    double busy = 0.0;
    std::int32_t next = 0;  // slot of `recent_`
  };
  // Before a round of a loop.
  struct Before {
    double now = 0.0;
    double compute = 0.0;
    std::vector<OfChannel> channels;
    std::vector<double> state;
  };

  // Runs `body`; once a round leaves the state as it found it, the rest is the same again and
  // again.
  template <typename Body>
  void repeat(std::int64_t repeats, Before& before, const Body& body) {
    if (repeats == 1) return body();
    if constexpr (Log::whole) {
      for (std::int64_t i = 0; i < repeats; ++i) body();
      return;
    }
    relative_state(before.state);
    for (std::int64_t i = 0; i < repeats; ++i) {
      before.now = now_;
      before.compute = compute_;
      before.channels = channels_;
      body();
      relative_state(after_);
      if (i + 1 < repeats && same(before.state, after_, now_ - before.now)) {
        extend(repeats - i - 1, before);
        return;
      }
      std::swap(before.state, after_);
    }
  }

  // When channels become free and posts finish, counted from now; the past is all alike.
  void relative_state(std::vector<double>& state) const {
    state.clear();
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      state.push_back(std::max(0.0, channels_[c].free - now_));
      for (std::int32_t back = 0; back < depth_; ++back) {
        const Post& post = recent(c, back);
        state.push_back(std::max(0.0, post.finish - now_));
        // A post of the finished past can be waited for once more only to charge interference,
        // which is limited by its duration.
        state.push_back(std::min(post.duration, compute_ - post.compute_before));
        state.push_back(post.duration);
      }
    }
  }

  static bool same(const std::vector<double>& a, const std::vector<double>& b, double round) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::abs(a[i] - b[i]) > 1e-12 * round) return false;
    }
    return true;
  }

  // `rounds` more like the one since `before`.
  void extend(std::int64_t rounds, const Before& before) {
    const auto n = static_cast<double>(rounds);
    const double seconds = n * (now_ - before.now);
    const double compute = n * (compute_ - before.compute);
    compute_ += compute;
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      OfChannel& channel = channels_[c];
      channel.exposed += n * (channel.exposed - before.channels[c].exposed);
      channel.busy += n * (channel.busy - before.channels[c].busy);
      channel.free += seconds;
    }
    for (Post& post : recent_) {
      post.finish += seconds;
      post.compute_before += compute;
    }
    now_ += seconds;
  }

  std::size_t slot(std::size_t channel, std::int32_t number) const {
    return channel * static_cast<std::size_t>(depth_) + static_cast<std::size_t>(number);
  }
  const Post& recent(std::size_t channel, std::int32_t back) const {
    return recent_[slot(channel, (channels_[channel].next + depth_ - 1 - back) % depth_)];
  }

  void compute(double duration) {
    now_ += duration;
    compute_ += duration;
  }

  void step(const TimedStep& s) {
    if (s.kind == StepKind::compute) {
      compute(s.duration.value);
      return;
    }
    const auto c = static_cast<std::size_t>(s.channel);
    OfChannel& channel = channels_[c];
    if (s.kind == StepKind::post) {
      const double duration =
          p_.collectives[static_cast<std::size_t>(s.collective)].uncontended.value;
      channel.free = std::max(channel.free, now_) + duration;
      log.operation(now_, now_);
      log.flight(s.channel, channel.free - duration, channel.free);
      recent_[slot(c, channel.next)] = {channel.free, duration, compute_};
      channel.next = (channel.next + 1) % depth_;
      channel.busy += duration;
    } else {
      const Post& post = recent(c, s.back);
      compute(
          interference_charge(p_.interference, {post.duration}, {compute_ - post.compute_before})
              .value);
      log.operation(now_, std::max(now_, post.finish));
      if (post.finish > now_) {
        channel.exposed += post.finish - now_;
        now_ = post.finish;
      }
    }
  }

  const TimedProgram& p_;
  std::int32_t depth_;
  double now_ = 0.0;
  double compute_ = 0.0;
  std::vector<OfChannel> channels_;
  std::vector<Post> recent_;  // the last `depth_` of each channel
  Before before_cycle_, before_run_;
  std::vector<double> after_;
};

}  // namespace

Outcome estimate(const TimedProgram& program) {
  return Walk<NoLog>(program).run();
}

DeviceLog estimated_log(const TimedProgram& program) {
  Walk<WholeLog> walk(program);
  walk.log.log.end = walk.run().total.value;
  return std::move(walk.log.log);
}

TimedProgram lower(const Point& point, const Platform& platform) {
  const std::string why =
      misfit(point.model, point.grid, point.global_batch, point.options.micro_batches);
  if (!why.empty()) throw std::runtime_error(why);
  const Folded folded = folded_step(point.model, point.options);
  LocalSizes sizes;
  sizes.evaluate(folded, point.grid, micro_batch_tokens(point));
  TimedProgram program;
  const GroupShapes shapes = group_shapes(point, platform);
  lower(folded, sizes,
        {point.grid, shapes, AxisRates(platform), platform, point.what_ifs.collective}, program);
  return program;
}

Estimate estimate(const Point& point, const Platform& platform) {
  const std::string why =
      misfit(point.model, point.grid, point.global_batch, point.options.micro_batches);
  if (!why.empty()) throw std::runtime_error(why);
  return Estimator(platform, point)
      .evaluate(folded_step(point.model, point.options), point.grid, point.options.micro_batches);
}

Estimator::Estimator(const Platform& platform, const Point& question)
    : platform_(platform), question_(question), rates_(platform) {}

Bytes Estimator::memory_limit() const {
  return platform_.processor.memory * platform_.processor.usable_memory;
}

MemoryUse Estimator::memory(const Folded& folded, const ProcessGrid& grid,
                            std::int64_t micro_batches) {
  sizes_.evaluate(folded, grid, question_.global_batch * question_.model.sequence / micro_batches);
  return peak_memory(folded, sizes_, grid);
}

Estimate Estimator::evaluate(const Folded& folded, const ProcessGrid& grid,
                             std::int64_t micro_batches) {
  Estimate result;
  result.memory = memory(folded, grid, micro_batches);
  result.counts = count(folded, sizes_, grid);
  result.model_flops =
      model_flops(question_.model, question_.global_batch, question_.options.recompute);
  const GroupShapes shapes = group_shapes(grid, platform_.node.devices);
  lower(folded, sizes_, {grid, shapes, rates_, platform_, question_.what_ifs.collective}, program_);
  result.outcome = estimate(program_);
  return result;
}

}  // namespace fourfold
