// Progressive filling among a handful of lanes; see shared_lanes.hpp.
#include "sim/estimate/shared_lanes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace fourfold::inline sim::inline estimate {

namespace {

// Sums of parts carry rounding errors.
constexpr double full = 1.0 + 1e-9;

// Of a stage; all, where runs are not yet put in order.
std::span<const StepRun> runs_of(const TimedProgram& program, std::size_t stage) {
  const std::span<const StepRun> runs(program.runs);
  if (program.cycles.empty()) return runs;
  const StageCycles cycles = program.by_stage().at(stage);
  std::int32_t first = std::numeric_limits<std::int32_t>::max(), last = 0;
  for (std::int32_t c = cycles.first; c < cycles.last; ++c) {
    const RunCycle& cycle = program.cycles[static_cast<std::size_t>(c)];
    first = std::min(first, cycle.first);
    last = std::max(last, cycle.last);
  }
  if (first >= last) return {};
  return runs.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
}

// The rate of each channel's fastest collective.
std::vector<double> fastest(const TimedProgram& program, std::size_t stage) {
  std::vector<double> rates(program.channels.size(), 0.0);
  for (const StepRun& run : runs_of(program, stage)) {
    for (std::int32_t s = run.first; s < run.last; ++s) {
      const TimedStep& step = program.steps[static_cast<std::size_t>(s)];
      if (step.kind != StepKind::post) continue;
      double& rate = rates[static_cast<std::size_t>(step.channel)];
      const auto number = static_cast<std::size_t>(step.collective);
      rate = std::max(rate, rate_alone(program.collectives[number]).value);
    }
  }
  return rates;
}

// By resource: who needs it.
std::vector<std::vector<LinkShare>> users(const TimedProgram& program, std::size_t stage) {
  std::vector<std::vector<LinkShare>> result;
  const std::span<const ChannelLoad> loads = program.loads_of(stage);
  for (std::size_t c = 0; c < loads.size(); ++c) {
    for (const LinkShare& share : loads[c].shares) {
      const auto resource = static_cast<std::size_t>(share.link);
      if (result.size() <= resource) result.resize(resource + 1);
      if (share.share > 0.0) {
        result[resource].push_back({static_cast<std::int32_t>(c), share.share});
      }
    }
  }
  return result;
}

bool can_be_filled(const std::vector<LinkShare>& users, const std::vector<double>& rates) {
  double sum = 0.0;
  for (const LinkShare& user : users) {
    sum += user.share * rates[static_cast<std::size_t>(user.link)];
  }
  return users.size() > 1 && sum > full;
}

// Pairs of channels with posts while the other may be under way, row by row.
std::vector<bool> side_by_side_channels(const TimedProgram& program, std::size_t stage) {
  const std::size_t n = program.channels.size();
  std::vector<bool> pairs(n * n, false);
  // What a body does not wait for itself may be under way anywhere.
  std::vector<bool> always(n, false);
  std::vector<std::int32_t> open(n);
  const auto walk = [&](const StepRun& run, const auto& visit) {
    std::ranges::fill(open, 0);
    for (std::int32_t s = run.first; s < run.last; ++s) {
      const TimedStep& step = program.steps[static_cast<std::size_t>(s)];
      if (step.kind == StepKind::compute || step.kind == StepKind::choose) continue;
      const auto c = static_cast<std::size_t>(step.channel);
      if (step.kind == StepKind::post) {
        visit(c);
        ++open[c];
      } else if (step.back == oldest_post) {
        always[c] = true;
      } else {
        // A FIFO: what is before it is done, too.
        if (open[c] <= step.back) always[c] = true;
        open[c] = std::min(open[c], step.back);
      }
    }
    for (std::size_t c = 0; c < n; ++c) {
      if (open[c] > 0) always[c] = true;
    }
  };
  const std::span<const StepRun> runs = runs_of(program, stage);
  for (const StepRun& run : runs) walk(run, [](std::size_t) {});
  for (const StepRun& run : runs) {
    walk(run, [&](std::size_t c) {
      for (std::size_t other = 0; other < n; ++other) {
        if (open[other] > 0 || always[other]) pairs[c * n + other] = pairs[other * n + c] = true;
      }
    });
  }
  return pairs;
}

}  // namespace

std::vector<bool> sharing_channels(const TimedProgram& program, std::size_t stage) {
  std::vector<bool> sharing(program.channels.size(), false);
  const std::vector<double> rates = fastest(program, stage);
  std::vector<bool> pairs;
  for (const std::vector<LinkShare>& users : users(program, stage)) {
    if (!can_be_filled(users, rates)) continue;
    if (pairs.empty()) pairs = side_by_side_channels(program, stage);
    for (const LinkShare& a : users) {
      for (const LinkShare& b : users) {
        const auto first = static_cast<std::size_t>(a.link);
        const auto second = static_cast<std::size_t>(b.link);
        if (first != second && pairs[first * sharing.size() + second]) sharing[first] = true;
      }
    }
  }
  return sharing;
}

SharedLanes::SharedLanes(const TimedProgram& program, std::size_t stage) {
  const std::vector<bool> sharing = sharing_channels(program, stage);
  if (std::ranges::count(sharing, true) == 0) return;
  lane_of_.assign(sharing.size(), -1);
  for (std::size_t c = 0; c < sharing.size(); ++c) {
    if (!sharing[c]) continue;
    lane_of_[c] = static_cast<std::int32_t>(lanes_.size());
    lanes_.emplace_back().channel = static_cast<ChannelNumber>(c);
  }
  const std::vector<double> rates = fastest(program, stage);
  for (const std::vector<LinkShare>& users : users(program, stage)) {
    if (!can_be_filled(users, rates)) continue;
    Shared& shared = shared_.emplace_back();
    for (const LinkShare& user : users) {
      const std::int32_t lane = lane_of_[static_cast<std::size_t>(user.link)];
      if (lane >= 0) shared.push_back({lane, user.share});
    }
  }
  moving_.resize(lanes_.size());
}

std::size_t SharedLanes::under_way(ChannelNumber channel) const {
  return lanes_[static_cast<std::size_t>(lane_of_[static_cast<std::size_t>(channel)])].queue.size();
}

void SharedLanes::post(double now, const TimedCollective& collective) {
  advance(now);
  Lane& lane =
      lanes_[static_cast<std::size_t>(lane_of_[static_cast<std::size_t>(collective.channel)])];
  lane.queue.push_back(&collective);
  if (lane.queue.size() == 1) begin(lane, now);
}

void SharedLanes::begin(Lane& lane, double now) {
  lane.start = now;
  lane.rate = 0.0;
  lane.due = lane.queue.empty() ? never : now + lane.queue.front()->cost.delay.value;
}

double SharedLanes::next() const {
  double next = never;
  for (const Lane& lane : lanes_) next = std::min(next, lane.due);
  return next;
}

void SharedLanes::advance(double to) {
  for (double time = next(); time <= to && time < never; time = next()) {
    clock_ = time;
    for (Lane& lane : lanes_) {
      if (lane.due == time) happen(lane);
    }
    share();
  }
  if (to != never) clock_ = std::max(clock_, to);
}

void SharedLanes::advance_until(ChannelNumber channel, std::size_t under_way) {
  while (this->under_way(channel) > under_way) advance(next());
}

// The head's bytes begin to move, or it is done.
void SharedLanes::happen(Lane& lane) {
  const TimedCollective& head = *lane.queue.front();
  if (lane.rate == 0.0 && head.cost.work.value > 0.0) {
    lane.left = head.cost.work.value;
    lane.since = clock_;
    lane.rate = -1.0;  // moves, at a rate that is not known yet
    return;
  }
  ends_.push_back({lane.channel, lane.start, clock_});
  lane.queue.erase(lane.queue.begin());
  begin(lane, clock_);
}

// All that move rise together until one is as fast as it is alone, or something is full; those
// concerned stay there, the others rise on.
void SharedLanes::fill(std::vector<double>& rates) const {
  const std::size_t n = moving_.size();
  rates.assign(n, 0.0);
  std::vector<double> alone(n, 0.0);
  std::vector<bool> rises(n), stays(n);
  for (std::size_t i = 0; i < n; ++i) {
    rises[i] = moving_[i] != nullptr;
    if (rises[i]) alone[i] = rate_alone(*moving_[i]).value;
  }
  while (std::ranges::count(rises, true) > 0) {
    double level = never;
    for (std::size_t i = 0; i < n; ++i) {
      if (rises[i]) level = std::min(level, alone[i]);
    }
    const auto level_of = [&](const Shared& shared) {
      double taken = 0.0;
      double weight = 0.0;
      for (const LinkShare& lane : shared) {
        const auto i = static_cast<std::size_t>(lane.link);
        (rises[i] ? weight : taken) += rises[i] ? lane.share : lane.share * rates[i];
      }
      return weight > 0.0 ? std::max(0.0, full - taken) / weight : never;
    };
    for (const Shared& shared : shared_) level = std::min(level, level_of(shared));
    for (std::size_t i = 0; i < n; ++i) stays[i] = rises[i] && alone[i] <= level;
    for (const Shared& shared : shared_) {
      if (level_of(shared) > level) continue;
      for (const LinkShare& lane : shared) {
        const auto i = static_cast<std::size_t>(lane.link);
        if (rises[i]) stays[i] = true;
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (!stays[i]) continue;
      rates[i] = level;
      rises[i] = false;
    }
  }
}

// Rates hang on what moves and on nothing else, which is one of a few sets, again and again.
void SharedLanes::share() {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    moving_[i] = lanes_[i].rate != 0.0 ? lanes_[i].queue.front() : nullptr;
  }
  const auto [found, fresh] = rates_.try_emplace(moving_);
  if (fresh) fill(found->second);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    const double rate = found->second[i];
    if (lane.rate == rate) continue;
    if (lane.rate > 0.0) {
      lane.left = std::max(0.0, lane.left - lane.rate * (clock_ - lane.since));
      lane.since = clock_;
    }
    lane.rate = rate;
    lane.due = lane.since + lane.left / lane.rate;
  }
}

void SharedLanes::move(double seconds) {
  clock_ += seconds;
  for (Lane& lane : lanes_) {
    lane.start += seconds;
    lane.since += seconds;
    lane.due += seconds;
  }
}

bool SharedLanes::alike(const std::vector<Lane>& before, double then, double now,
                        double tolerance) const {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const Lane& was = before[i];
    const Lane& is = lanes_[i];
    if (was.queue != is.queue) return false;
    if (is.queue.empty()) continue;
    if (std::abs((was.due - then) - (is.due - now)) > tolerance) return false;
    if (std::abs(was.rate - is.rate) > 1e-9 * std::abs(is.rate)) return false;
  }
  return true;
}

}  // namespace fourfold::inline sim::inline estimate
