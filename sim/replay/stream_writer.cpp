// Counts posts, waits and compute on the way; see stream_writer.hpp.
#include "sim/replay/stream_writer.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace fourfold::inline sim::inline replay {

StreamWriter::StreamWriter(const TimedProgram& program, const ProcessGrid& grid)
    : program_(program),
      waited_(program.channels.size(), 0),
      compute_before_post_(program.channels.size()) {
  stream.posts.resize(program.channels.size());
  for (const Channel& channel : program.channels) idle_.push_back(members(channel, grid) == 1);
}

void StreamWriter::write(const TimedStep& step) {
  if (step.kind == StepKind::compute) {
    compute(step.duration.value);
    vary(step);
  } else if (step.kind == StepKind::choose) {
    emit(Operation::Kind::choose, 0, 0);
  } else if (idle_[step.channel]) {
    return;
  } else if (step.kind == StepKind::post) {
    post(step);
  } else {
    wait(step);
  }
}

void StreamWriter::close(Segment segment) {
  segment.compute = Seconds{compute_in_segment_};
  emit(Operation::Kind::mark, 0, 0);
  stream.segments.push_back(segment);
  compute_in_segment_ = 0.0;
}

void StreamWriter::post(const TimedStep& step) {
  std::vector<ChannelPost>& posts = stream.posts[step.channel];
  const auto number = static_cast<std::int32_t>(posts.size());
  posts.push_back({step.collective, segment_number()});
  compute_before_post_[step.channel].push_back(compute_so_far_);
  emit(Operation::Kind::post, step.channel, number);
}

void StreamWriter::wait(const TimedStep& step) {
  const std::vector<ChannelPost>& posts = stream.posts[step.channel];
  const std::int64_t number = step.back == oldest_post
                                  ? waited_[step.channel]
                                  : static_cast<std::int64_t>(posts.size()) - 1 - step.back;
  if (number < 0 || number >= std::ssize(posts)) {
    throw std::invalid_argument("The program waits for a collective on channel " +
                                name(program_.channels[step.channel]) + " that it has not posted.");
  }
  std::int32_t& waited = waited_[step.channel];
  waited = std::max(waited, static_cast<std::int32_t>(number) + 1);
  const auto& collective = program_.collectives[posts[number].collective];
  const Seconds beside{compute_so_far_ - compute_before_post_[step.channel][number]};
  const InterferenceCharge charge =
      interference_charge(collective.lost, collective.uncontended, beside);
  compute(charge.compute.value);
  emit(Operation::Kind::wait, step.channel, static_cast<std::int32_t>(number));
  stream.operations.back().late = charge.late + step.duration;
}

void StreamWriter::compute(double seconds) {
  pending_compute_ += seconds;
  compute_in_segment_ += seconds;
  compute_so_far_ += seconds;
}

void StreamWriter::vary(const TimedStep& step) {
  if (program_.variations.empty()) return;
  const StepVariation& varies =
      program_.variations[static_cast<std::size_t>(&step - program_.steps.data())];
  pending_variation_.deviation += varies.deviation;
  Seconds& repetition = pending_variation_.repetition;
  repetition = {std::hypot(repetition.value, varies.repetition.value)};
}

void StreamWriter::emit(Operation::Kind kind, ChannelNumber channel, std::int32_t number) {
  stream.operations.push_back(
      {Seconds{pending_compute_}, kind, channel, number, segment_number(), {}, pending_variation_});
  pending_compute_ = 0.0;
  pending_variation_ = {};
}

}  // namespace fourfold::inline sim::inline replay
