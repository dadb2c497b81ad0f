// The max-plus walk of the estimated rung; see estimate.hpp.
#include "sim/estimate/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "schedule/fold/memory.hpp"
#include "schedule/models/fit.hpp"
#include "sim/cost/lower.hpp"

namespace fourfold {

namespace {

// A log that nobody asked for; with one, no repetition may be skipped.
struct NoLog {
  static constexpr bool whole = false;
  void operation(double, double) {}
  void flight(int, double, double) {}
};

struct WholeLog {
  static constexpr bool whole = true;
  void operation(double arrive, double leave) {
    log.arrive.push_back(arrive);
    log.leave.push_back(leave);
  }
  void flight(int lane, double start, double finish) {
    log.flights[static_cast<std::size_t>(lane)].push_back({start, finish});
  }
  DeviceLog log;
};

// A state in which the same body of a loop leads to the same increments: everything relative to
// now.
template <typename Log>
class Walk {
 public:
  explicit Walk(const TimedProgram& program) : p_(program), depth_(program.max_back + 1) {
    for (auto& lane : recent_) lane.resize(static_cast<std::size_t>(depth_));
  }

  Outcome run() {
    for (const RunCycle& cycle : p_.cycles) {
      repeat(cycle.repeats, [&] {
        for (std::int32_t r = cycle.first; r < cycle.last; ++r) {
          const StepRun& loop = p_.runs[static_cast<std::size_t>(r)];
          repeat(loop.repeats, [&] {
            for (std::int32_t s = loop.first; s < loop.last; ++s) {
              step(p_.steps[static_cast<std::size_t>(s)]);
            }
          });
        }
      });
    }
    done_.total = {now_};
    return done_;
  }

  Log log;

 private:
  // One post that may still be waited for.
  struct Post {
    double finish = 0.0;
    double duration = 0.0;
    double compute_before = 0.0;
  };

  struct Sums {
    double compute = 0.0;
    std::array<double, lane_count> exposed{}, busy{};
  };

  // Runs `body`; once a round leaves the state as it found it, the rest is the same again and
  // again.
  template <typename Body>
  void repeat(std::int64_t repeats, const Body& body) {
    if (repeats == 1) return body();
    if constexpr (Log::whole) {
      for (std::int64_t i = 0; i < repeats; ++i) body();
      return;
    }
    std::vector<double> before = relative_state();
    for (std::int64_t i = 0; i < repeats; ++i) {
      const double start = now_;
      const Sums sums = sums_of(done_);
      body();
      std::vector<double> after = relative_state();
      if (i + 1 < repeats && same(before, after, now_ - start)) {
        extend(repeats - i - 1, now_ - start, sums);
        return;
      }
      before = std::move(after);
    }
  }

  // When lanes become free and posts finish, counted from now; the past is all alike.
  std::vector<double> relative_state() const {
    std::vector<double> state;
    state.reserve(static_cast<std::size_t>(lane_count * (1 + 3 * depth_)));
    for (int lane = 0; lane < lane_count; ++lane) {
      state.push_back(std::max(0.0, free_[lane] - now_));
      for (std::int32_t back = 0; back < depth_; ++back) {
        const Post& post = recent(lane, back);
        state.push_back(std::max(0.0, post.finish - now_));
        // A post of the finished past can be waited for once more only to charge interference,
        // which is limited by its duration.
        state.push_back(std::min(post.duration, done_.compute.value - post.compute_before));
        state.push_back(post.duration);
      }
    }
    return state;
  }

  static bool same(const std::vector<double>& a, const std::vector<double>& b, double round) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::abs(a[i] - b[i]) > 1e-12 * round) return false;
    }
    return true;
  }

  static Sums sums_of(const Outcome& o) {
    Sums sums{o.compute.value, {}, {}};
    for (int lane = 0; lane < lane_count; ++lane) {
      sums.exposed[lane] = o.exposed[lane].value;
      sums.busy[lane] = o.busy[lane].value;
    }
    return sums;
  }

  void extend(std::int64_t rounds, double round, const Sums& before) {
    const auto n = static_cast<double>(rounds);
    const double compute = n * (done_.compute.value - before.compute);
    done_.compute.value += compute;
    for (int lane = 0; lane < lane_count; ++lane) {
      done_.exposed[lane].value += n * (done_.exposed[lane].value - before.exposed[lane]);
      done_.busy[lane].value += n * (done_.busy[lane].value - before.busy[lane]);
      free_[lane] += n * round;
      for (Post& post : recent_[lane]) {
        post.finish += n * round;
        post.compute_before += compute;
      }
    }
    now_ += n * round;
  }

  const Post& recent(int lane, std::int32_t back) const {
    const auto& posts = recent_[lane];
    return posts[static_cast<std::size_t>((count_[lane] + depth_ - 1 - back) % depth_)];
  }

  void compute(double duration) {
    now_ += duration;
    done_.compute.value += duration;
  }

  void step(const TimedStep& s) {
    const int lane = static_cast<int>(s.lane);
    if (s.kind == StepKind::compute) {
      compute(s.duration.value);
    } else if (s.kind == StepKind::post) {
      const double duration =
          p_.collectives[static_cast<std::size_t>(s.collective)].uncontended.value;
      free_[lane] = std::max(free_[lane], now_) + duration;
      log.operation(now_, now_);
      log.flight(lane, free_[lane] - duration, free_[lane]);
      recent_[lane][static_cast<std::size_t>(count_[lane] % depth_)] = {free_[lane], duration,
                                                                        done_.compute.value};
      count_[lane] = (count_[lane] + 1) % depth_;
      done_.busy[lane].value += duration;
    } else {
      const Post& post = recent(lane, s.back);
      compute(interference_charge(p_.interference, {post.duration},
                                  {done_.compute.value - post.compute_before})
                  .value);
      log.operation(now_, std::max(now_, post.finish));
      if (post.finish > now_) {
        done_.exposed[lane].value += post.finish - now_;
        now_ = post.finish;
      }
    }
  }

  const TimedProgram& p_;
  std::int32_t depth_;
  double now_ = 0.0;
  std::array<double, lane_count> free_{};
  std::array<std::int32_t, lane_count> count_{};  // next slot of `recent_`
  std::array<std::vector<Post>, lane_count> recent_;
  Outcome done_;
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
