// Legs walked once and added again and again; see pipeline_walk.hpp.
#include "sim/estimate/pipeline_walk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace fourfold::inline sim::inline estimate {

namespace {
// As times are told apart, relative to those of a leg.
constexpr double alike_within = 1e-12;
// Passages of a leg that are remembered.
constexpr std::size_t most_passages = 16;
// Channels, one after the other, make one number: times an odd one of 64 bits.
constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;
}  // namespace

Outcome PipelineWalk::walk(const Pipeline& pipeline, const TimedBodies& bodies) {
  begin(pipeline, bodies);
  double bubble = 0.0;
  double* const exposed = exposed_.data();
  double* const posted = posted_.data();
  double* const finish = finish_.data();
  double* const mark = compute_mark_.data();
  for (const Meeting& meeting : pipeline.meetings()) {
    StageClock& stage = stages_[static_cast<std::size_t>(meeting.stage)];
    double now = stage.now;
    double compute = stage.compute;
    // The wait. There is enough compute beside most, which spares divisions; no other branches, as
    // what comes next is hard to foretell.
    const OfClass& awaited = stage.classes[meeting.wait.collective];
    const double duration = awaited.duration;
    const double until = finish[meeting.wait.number];
    const double beside = compute - mark[meeting.wait.post];
    const InterferenceCharge charge = beside >= awaited.beside
                                          ? awaited.most
                                          : interference_charge(awaited.lost, {duration}, {beside});
    compute += charge.compute.value;
    now += charge.compute.value;
    const double waits = std::max(0.0, until + charge.late.value - now);
    bubble += std::max(0.0, until - now - duration);
    exposed[meeting.channel] += waits;
    now += waits;
    // The post. What it is that all have posted is done when the last one has said so.
    const std::int32_t number = meeting.post.number;
    const double last = std::max(posted[number], now);
    posted[number] = last;
    finish[number] =
        std::max(finish[number - 1], last) + stage.classes[meeting.post.collective].duration;
    mark[meeting.post.post] = compute;
    stage.now = now;
    stage.compute = compute;
    LegTimes& leg = stage.legs[meeting.leg];
    if (leg.simple && stage.pending.empty()) {
      stage.now += leg.seconds;
      stage.compute += leg.compute;
    } else {
      const Leg& parts = pipeline.kinds()[stage.kind].legs[static_cast<std::size_t>(meeting.leg)];
      pass(stage, parts, leg);
    }
  }
  bubble_ = bubble;
  return outcome(pipeline, bodies);
}

void PipelineWalk::begin(const Pipeline& pipeline, const TimedBodies& bodies) {
  program_ = &bodies.program;
  divide(bodies);
  legs_.clear();
  used_ = 0;
  walked_ = 0;
  first_leg_.clear();
  std::size_t legs = 0;
  for (const StageKind& kind : pipeline.kinds()) {
    first_leg_.push_back(legs);
    legs += kind.legs.size();
  }
  legs_.resize(legs);
  posted_.assign(pipeline.numbers(), 0.0);
  // What comes before the first on a channel has never held anybody back. The other ends, and the
  // marks of own posts, are written before anybody asks for them.
  finish_.resize(pipeline.numbers());
  for (std::int32_t number : pipeline.beginnings()) {
    finish_[static_cast<std::size_t>(number)] = 0.0;
  }
  compute_mark_.resize(pipeline.posts());
  compute_mark_[Meeting::no_wait] = 0.0;
  classes_.clear();
  first_class_.clear();
  for (std::size_t k = 0; k < bodies.kinds.size(); ++k) {
    first_class_.push_back(classes_.size() + 1);
    classes_.emplace_back();  // of no collective
    const bool last = k + 1 == bodies.kinds.size();
    const auto next = last ? program_->collectives.size()
                           : static_cast<std::size_t>(bodies.kinds[k + 1].first_collective);
    for (auto c = static_cast<std::size_t>(bodies.kinds[k].first_collective); c < next; ++c) {
      classes_.push_back(of_class(program_->collectives[c]));
    }
  }
  exposed_.assign(pipeline.channels().size(), 0.0);
  stages_.resize(pipeline.stages().size());
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    StageClock& stage = stages_[i];
    stage.now = stage.compute = 0.0;
    stage.kind = pipeline.index_of_kind(i);
    stage.legs = legs_.data() + first_leg_[stage.kind];
    stage.classes = classes_.data() + first_class_[stage.kind];
    stage.first_body = bodies.kinds[stage.kind].first_body;
    stage.channels = 0;
    stage.pending.clear();
  }
}

PipelineWalk::OfClass PipelineWalk::of_class(const TimedCollective& collective) const {
  const Interference& lost = collective.lost;
  const Seconds duration = collective.uncontended;
  // Above where both forms of the charge meet, so that they are the same bit for bit.
  const Seconds beside = most_beside(lost, duration) * (1.0 + 1e-9);
  const Seconds endless{std::numeric_limits<double>::infinity()};
  return {duration.value, beside.value, interference_charge(lost, duration, endless), lost};
}

// A body's parts lie between its posts and waits along pipe.
void PipelineWalk::divide(const TimedBodies& bodies) {
  const TimedProgram& program = bodies.program;
  first_part_.clear();
  parts_.clear();
  for (const StepRun& body : program.runs) {
    first_part_.push_back(static_cast<std::int32_t>(parts_.size()));
    parts_.push_back({body.first, body.last});
    for (std::int32_t s = body.first; s < body.last; ++s) {
      const TimedStep& step = program.steps[static_cast<std::size_t>(s)];
      if (step.kind == StepKind::compute ||
          program.channels[static_cast<std::size_t>(step.channel)].axis != Axis::pipe) {
        continue;
      }
      parts_.back().last = s;
      parts_.push_back({s + 1, body.last});
    }
  }
}

void PipelineWalk::pass(StageClock& stage, const Leg& leg, LegTimes& times) {
  ++times.passed;
  if (stage.pending.empty()) {
    if (times.first < 0) times.first = walk(stage, leg);
    const auto first = static_cast<std::size_t>(times.first);
    times.simple = passages_[first].left.empty();
    times.seconds = passages_[first].seconds;
    times.compute = passages_[first].compute;
    return apply(passages_[first], stage);
  }
  // What comes often moves to the front.
  for (std::size_t i = 0; i < times.others.size(); ++i) {
    Passage& passage = passages_[static_cast<std::size_t>(times.others[i])];
    if (!holds(passage, stage)) continue;
    if (i > 0) std::swap(times.others[i], times.others[i - 1]);
    return apply(passage, stage);
  }
  const std::int32_t fresh = walk(stage, leg);
  if (times.others.size() == most_passages) times.others.pop_back();
  times.others.push_back(fresh);
  apply(passages_[static_cast<std::size_t>(fresh)], stage);
}

bool PipelineWalk::holds(const Passage& passage, const StageClock& stage) const {
  if (passage.before != stage.channels) return false;
  const double tolerance = alike_within * (passage.seconds + passage.compute);
  const auto near = [&](double a, double b) { return std::abs(a - b) <= tolerance; };
  for (const Found& found : passage.found) {
    const Pending& now = stage.pending[found.place];
    const double finish = ahead_of(now, stage.now);
    if (passage.in_time ? finish > found.latest : !near(found.finish, finish)) return false;
    if (!near(found.duration, now.duration)) return false;
    if (found.lost != now.lost.of_collectives) return false;
    if (!found.awaited || !now.lost.any()) continue;
    const double beside = beside_of(now, stage.compute);
    if (!near(found.beside, beside)) return false;
  }
  return true;
}

// How far ahead the end of a post is, as far as it makes a difference.
double PipelineWalk::ahead_of(const Pending& pending, double now) const {
  const Seconds late = most_late(pending.lost, {pending.duration}) + program_->longest_waiting;
  return std::max(-late.value, pending.finish - now);
}

// Compute since a post, as far as it makes a difference.
double PipelineWalk::beside_of(const Pending& pending, double compute) const {
  return std::min(most_beside(pending.lost, {pending.duration}).value,
                  compute - pending.compute_before);
}

// Walks a leg from what is under way now, on a clock that begins with the leg.
std::int32_t PipelineWalk::walk(const StageClock& stage, const Leg& leg) {
  ++walked_;
  if (used_ == passages_.size()) passages_.emplace_back();
  Passage& passage = passages_[used_];
  passage.seconds = passage.compute = 0.0;
  passage.count = 0;
  passage.in_time = true;
  passage.found.clear();
  passage.left.clear();
  passage.exposed.clear();
  for (const Pending& now : stage.pending) {
    const double beside = stage.compute - now.compute_before;
    const double finish = ahead_of(now, stage.now);
    passage.left.push_back({now.channel, static_cast<std::int32_t>(passage.found.size()), finish,
                            now.duration, -beside, now.lost});
    passage.found.push_back({passage.found.size(), now.duration, beside_of(now, stage.compute),
                             finish, std::numeric_limits<double>::infinity(),
                             now.lost.of_collectives, false, false});
  }
  for (const LegPart& part : leg) {
    const auto body =
        static_cast<std::size_t>(stage.first_body) + static_cast<std::size_t>(part.body);
    const Range range =
        parts_[static_cast<std::size_t>(first_part_[body]) + static_cast<std::size_t>(part.part)];
    for (std::int64_t i = 0; i < part.repeats; ++i) {
      for (std::int32_t s = range.first; s < range.last; ++s) {
        step(program_->steps[static_cast<std::size_t>(s)], passage);
      }
    }
  }
  std::erase_if(passage.found, [](const Found& found) { return !found.touched; });
  passage.before = stage.channels;
  passage.after = 0;
  for (Pending& left : passage.left) {
    left.finish -= passage.seconds;
    left.compute_before -= passage.compute;
    passage.after = (passage.after + static_cast<std::uint64_t>(left.channel) + 1) * spread;
  }
  return static_cast<std::int32_t>(used_++);
}

void PipelineWalk::step(const TimedStep& step, Passage& passage) {
  if (step.kind == StepKind::compute) {
    passage.seconds += step.duration.value;
    passage.compute += step.duration.value;
    return;
  }
  if (step.kind == StepKind::wait) return wait(step, passage);
  const TimedCollective& posted = program_->collectives[static_cast<std::size_t>(step.collective)];
  const double duration = posted.uncontended.value;
  double start = passage.seconds;
  // The youngest under way on the channel is in the way.
  const auto before = std::find_if(passage.left.rbegin(), passage.left.rend(),
                                   [&](const Pending& p) { return p.channel == step.channel; });
  if (before != passage.left.rend()) {
    start = std::max(start, before->finish);
    touch(*before, before->finish, passage);
  }
  passage.left.push_back(
      {step.channel, -1, start + duration, duration, passage.compute, posted.lost});
}

void PipelineWalk::wait(const TimedStep& step, Passage& passage) {
  std::int32_t back = step.back;
  auto post = passage.left.end();
  while (post != passage.left.begin()) {
    --post;
    if (post->channel == step.channel && back-- == 0) break;
  }
  if (back >= 0) throw std::logic_error("estimate: a wait for what has been waited for");
  const Pending awaited = *post;
  const InterferenceCharge charge = interference_charge(awaited.lost, {awaited.duration},
                                                        {passage.compute - awaited.compute_before});
  passage.seconds += charge.compute.value;
  passage.compute += charge.compute.value;
  const double finish = awaited.finish + charge.late.value + step.duration.value;
  touch(awaited, finish, passage);
  if (awaited.carried >= 0) passage.found[static_cast<std::size_t>(awaited.carried)].awaited = true;
  if (finish > passage.seconds) {
    passage.exposed.push_back({step.channel, finish - passage.seconds});
    passage.seconds = finish;
  }
  // A channel is a FIFO: those before it are done, too.
  const auto done = static_cast<std::size_t>(post - passage.left.begin());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < passage.left.size(); ++i) {
    if (i <= done && passage.left[i].channel == step.channel) continue;
    passage.left[kept++] = passage.left[i];
  }
  passage.left.resize(kept);
}

// Notes whether what was under way at the leg's beginning holds it up here until `finish`.
void PipelineWalk::touch(const Pending& pending, double finish, Passage& passage) {
  if (pending.carried < 0) return;
  Found& found = passage.found[static_cast<std::size_t>(pending.carried)];
  found.touched = true;
  if (finish > passage.seconds) passage.in_time = false;
  found.latest = std::min(found.latest, passage.seconds - (finish - pending.finish));
}

void PipelineWalk::apply(Passage& passage, StageClock& stage) {
  ++passage.count;
  stage.now += passage.seconds;
  stage.compute += passage.compute;
  next_pending_.clear();
  for (const Pending& left : passage.left) {
    if (left.carried >= 0) {
      next_pending_.push_back(stage.pending[static_cast<std::size_t>(left.carried)]);
    } else {
      next_pending_.push_back({left.channel, -1, stage.now + left.finish, left.duration,
                               stage.compute + left.compute_before, left.lost});
    }
  }
  stage.channels = passage.after;
  std::swap(stage.pending, next_pending_);
}

Outcome PipelineWalk::outcome(const Pipeline& pipeline, const TimedBodies& bodies) const {
  const double share = 1.0 / static_cast<double>(stages_.size());
  Outcome outcome(pipeline.channels());
  for (const StageClock& stage : stages_) {
    outcome.total = std::max(outcome.total, Seconds{stage.now});
    outcome.compute += Seconds{stage.compute} * share;
  }
  outcome.bubble = Seconds{bubble_} * share;
  std::vector<double> exposed = exposed_;
  const auto add = [&](const Passage& passage, std::int64_t count) {
    for (const Exposed& e : passage.exposed) {
      exposed[static_cast<std::size_t>(e.channel)] += static_cast<double>(count) * e.seconds;
    }
  };
  // Whatever had no passage of its own was like the first with nothing under way.
  for (std::size_t k = 0; k < pipeline.kinds().size(); ++k) {
    const std::vector<std::int64_t>& times = pipeline.kinds()[k].times;
    for (std::size_t l = 0; l < times.size(); ++l) {
      const LegTimes& leg = legs_[first_leg_[k] + l];
      if (leg.first < 0) continue;
      add(passages_[static_cast<std::size_t>(leg.first)], times[l] - leg.passed);
    }
  }
  for (std::size_t i = 0; i < used_; ++i) add(passages_[i], passages_[i].count);
  for (std::size_t c = 0; c < exposed.size(); ++c) outcome.exposed[c] = {exposed[c] * share};
  for (const StageSet& set : pipeline.sets()) {
    const auto first =
        static_cast<std::size_t>(bodies.kinds[static_cast<std::size_t>(set.kind)].first_collective);
    for (std::size_t i = 0; i < set.collectives.size(); ++i) {
      const Seconds once = program_->collectives[first + i].uncontended;
      const ChannelNumber own =
          pipeline.stages()[static_cast<std::size_t>(set.stages.front())].collectives[i].channel;
      const auto channel = static_cast<std::size_t>(set.channels[static_cast<std::size_t>(own)]);
      outcome.busy[channel] += once * (static_cast<double>(set.collectives[i]) * share);
    }
  }
  return outcome;
}

}  // namespace fourfold::inline sim::inline estimate
