// Walks ranks from wait to wait; a rank is touched only when what it waits for is done.
#include "sim/replay/ranks.hpp"

#include <algorithm>
#include <utility>

namespace fourfold {

Ranks::Ranks(const IssueStream& stream, const TimedProgram& program,
             const Communicators& communicators, Transport& network)
    : stream_(stream),
      program_(program),
      communicators_(communicators),
      network_(network),
      states_(communicators.count()),
      boards_(stream.posts.size()),
      sums_(stream.segments.size()),
      channel_sums_(stream.segments.size() * stream.posts.size()),
      last_of_segment_(stream.posts.size()) {
  for (std::int32_t c = 0; c < communicators.count(); ++c) {
    Board& board = boards_[communicators.channel(c)];
    if (board.communicators++ == 0) board.first = c;
  }
  for (std::size_t channel = 0; channel < boards_.size(); ++channel) {
    Board& board = boards_[channel];
    board.pending.resize(static_cast<std::size_t>(board.communicators) * board.depth);
    const std::vector<ChannelPost>& posts = stream.posts[channel];
    for (std::size_t i = 0; i < posts.size(); ++i) {
      const bool last = i + 1 == posts.size() || posts[i + 1].segment != posts[i].segment;
      last_of_segment_[channel].push_back(last ? 1 : 0);
    }
  }
}

void Ranks::set_factors(std::vector<double> factors) {
  factors_ = std::move(factors);
}

void Ranks::start(std::int64_t count) {
  ranks_.resize(count);
  if (factors_.empty()) factors_.assign(count, 1.0);
  for (std::int32_t rank = 0; rank < count; ++rank) walk(rank);
}

Ranks::Pending& Ranks::pending(ChannelNumber channel, std::int32_t communicator,
                               std::int32_t number) {
  Board& board = boards_[channel];
  while (number - states_[communicator].finished >= board.depth) deepen(channel);
  const std::size_t row = static_cast<std::size_t>(communicator - board.first) * board.depth;
  return board.pending[row + (number & (board.depth - 1))];
}

void Ranks::deepen(ChannelNumber channel) {
  Board& board = boards_[channel];
  std::vector<Pending> deeper(board.pending.size() * 2);
  for (std::int32_t c = 0; c < board.communicators; ++c) {
    const std::size_t row = static_cast<std::size_t>(c) * board.depth;
    const std::int32_t finished = states_[board.first + c].finished;
    for (std::int32_t number = finished; number < finished + board.depth; ++number) {
      deeper[2 * row + (number & (2 * board.depth - 1))] =
          board.pending[row + (number & (board.depth - 1))];
    }
  }
  board.pending = std::move(deeper);
  board.depth *= 2;
}

void Ranks::walk(std::int32_t index) {
  Rank& rank = ranks_[index];
  const auto end = static_cast<std::int32_t>(stream_.operations.size());
  const std::int32_t begin = rank.next;
  for (; rank.next < end; ++rank.next) {
    const Operation& operation = stream_.operations[rank.next];
    double compute = operation.compute.value * factors_[index];
    if (jitter_ != nullptr) {
      compute *= jitter_->factor(index, rank.next);
      sums_[operation.segment].compute += compute;
    }
    rank.clock += compute;
    if (witness_ != nullptr) witness_->reach(index, operation, compute, rank.clock);
    if (operation.kind == Operation::Kind::mark) {
      mark(rank, operation.segment);
    } else if (operation.kind == Operation::Kind::post) {
      post(index, operation);
    } else {
      Communicator& state = states_[communicators_.communicator(operation.channel, index)];
      if (state.finished > operation.number) continue;
      ++state.waiting;
      rank.awaited = operation.number;
      rank.waits_on = operation.channel;
      walked_ += rank.next - begin;
      return;
    }
  }
  walked_ += end - begin;
  ++ended_;
}

void Ranks::post(std::int32_t rank, const Operation& operation) {
  const std::int32_t communicator = communicators_.communicator(operation.channel, rank);
  Pending& posted = pending(operation.channel, communicator, operation.number);
  if (posted.posts == 0 || ranks_[rank].clock > posted.last_post) {
    posted.last_post = ranks_[rank].clock;
    posted.last_rank = rank;
  }
  ++posted.posts;
  if (posted.posts == 1) ++in_flight_;
  start_if_ready(operation.channel, communicator, states_[communicator].finished_at);
}

void Ranks::start_if_ready(ChannelNumber channel, std::int32_t communicator, double not_before) {
  Communicator& state = states_[communicator];
  if (state.running) return;
  const Pending& next = pending(channel, communicator, state.finished);
  if (next.posts < communicators_.extent(channel)) return;
  state.running = true;
  state.started = std::max(next.last_post, not_before);
  const ChannelPost& post = stream_.posts[channel][state.finished];
  network_.start(communicator, state.started, program_.collectives[post.collective]);
}

void Ranks::finish(std::int32_t communicator, double time) {
  Communicator& state = states_[communicator];
  const ChannelNumber channel = communicators_.channel(communicator);
  const std::int32_t members = communicators_.extent(channel);
  const std::int32_t number = state.finished;
  const Pending posted = std::exchange(pending(channel, communicator, number), {});
  if (witness_ != nullptr) witness_->finish(communicator, number, state.started, time);
  state.running = false;
  state.finished_at = time;
  ++state.finished;
  --in_flight_;
  SegmentTimes::OfChannel& posted_in = sums_of(channel, stream_.posts[channel][number].segment);
  posted_in.busy += (time - state.started) * members;
  if (last_of_segment_[channel][number]) posted_in.end += time * members;
  if (static_cast<std::size_t>(state.finished) < stream_.posts[channel].size()) {
    start_if_ready(channel, communicator, time);
  }
  if (state.waiting == 0) return;
  std::int32_t rank = communicators_.first_member(communicator);
  for (std::int32_t i = 0; i < members; ++i, rank += communicators_.stride(channel)) {
    Rank& member = ranks_[rank];
    if (member.waits_on != channel || member.awaited > number) continue;
    --state.waiting;
    member.waits_on = waits_for_nothing;
    if (witness_ != nullptr) {
      witness_->wake(rank, stream_.operations[member.next], {member.clock, time},
                     {posted.last_rank, posted.last_post});
    }
    if (time > member.clock) {
      sums_of(channel, stream_.operations[member.next].segment).exposed += time - member.clock;
      member.clock = time;
    }
    ++member.next;
    walk(rank);
  }
}

void Ranks::mark(const Rank& rank, std::int32_t segment) {
  sums_[segment].end += rank.clock;
  sums_[segment].last_end = std::max(sums_[segment].last_end, rank.clock);
}

std::vector<SegmentTimes> Ranks::segment_times() const {
  std::vector<SegmentTimes> times = sums_;
  const auto count = static_cast<double>(ranks_.size());
  double factors = 0.0;
  for (double factor : factors_) factors += factor;
  for (std::size_t s = 0; s < times.size(); ++s) {
    times[s].end /= count;
    times[s].compute = jitter_ != nullptr ? times[s].compute / count
                                          : stream_.segments[s].compute.value * factors / count;
    const auto first = channel_sums_.begin() + static_cast<std::ptrdiff_t>(s * boards_.size());
    times[s].channels.assign(first, first + static_cast<std::ptrdiff_t>(boards_.size()));
    for (SegmentTimes::OfChannel& channel : times[s].channels) {
      channel.exposed /= count;
      channel.busy /= count;
      channel.end /= count;
    }
  }
  return times;
}

}  // namespace fourfold
