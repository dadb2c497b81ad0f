// Walks ranks from wait to wait; a rank is touched only when what it waits for is done.
#include "sim/replay/ranks.hpp"

#include <algorithm>
#include <utility>

namespace fourfold::inline sim::inline replay {

namespace {
constexpr std::int32_t most_expected = 16;  // members whose memory is fetched before they wake
}

Ranks::Ranks(const std::vector<const IssueStream*>& streams, const TimedProgram& program,
             const Communicators& communicators, Transport& network)
    : program_(program),
      communicators_(communicators),
      network_(network),
      states_(communicators.count()),
      boards_(program.channels.size()) {
  for (std::int32_t c = 0; c < communicators.count(); ++c) {
    Board& board = boards_[communicators.channel(c)];
    if (board.communicators++ == 0) board.first = c;
  }
  for (Board& board : boards_) {
    board.pending.resize(static_cast<std::size_t>(board.communicators) * board.depth);
  }
  // A wait goes back so far and no further.
  std::int64_t back = program.max_back;
  for (const TimedQueue& queue : program.queues) back = std::max(back, queue.limit);
  while (remembered_ <= back + 1) remembered_ *= 2;
  ends_.resize(states_.size() * static_cast<std::size_t>(remembered_));
  for (const IssueStream* stream : streams) {
    Crew& crew = crews_.emplace_back();
    crew.stream = stream;
    // What is written on the way is one segment.
    const std::size_t segments = std::max<std::size_t>(1, stream->segments.size());
    crew.sums.resize(segments);
    crew.channel_sums.resize(segments * boards_.size());
    for (const std::vector<ChannelPost>& posts : stream->posts) {
      std::vector<std::int8_t>& last_of_segment = crew.last_of_segment.emplace_back();
      for (std::size_t i = 0; i < posts.size(); ++i) {
        const bool last = i + 1 == posts.size() || posts[i + 1].segment != posts[i].segment;
        last_of_segment.push_back(last ? 1 : 0);
      }
    }
  }
}

void Ranks::set_paces(const Paces* paces, std::vector<std::vector<const IssueStream*>> streams) {
  paces_ = paces->count() > 1 ? paces : nullptr;
  by_pace_ = std::move(streams);
}

void Ranks::start(std::int64_t count) {
  ranks_.resize(count);
  for (std::int32_t rank = 0; rank < count; ++rank) walk(rank);
}

Ranks::Pending& Ranks::pending(ChannelNumber channel, std::int32_t communicator,
                               std::int32_t number) {
  Board& board = boards_[channel];
  while (number - states_[communicator].finished >= board.depth) deepen(channel);
  return board.pending[board.place(communicator, number)];
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
  const std::int32_t begin = ranks_[index].next;
  bool on = walk_written(index);
  while (on && goes_on(index)) on = walk_written(index);
  walked_ += ranks_[index].next - begin;
  if (on) ++ended_;
}

bool Ranks::walk_written(std::int32_t index) {
  Rank& rank = ranks_[index];
  Crew& crew = crew_of(index);
  const std::vector<Operation>& operations = stream_of(index).operations;
  const auto end = static_cast<std::int32_t>(operations.size());
  for (; rank.next < end; ++rank.next) {
    const Operation& operation = operations[rank.next];
    double compute = operation.compute.value;
    if (jitter_ != nullptr) {
      compute = jitter_->seconds(index, rank.next, compute, operation.varies);
      crew.sums[operation.segment].compute += compute;
    }
    rank.clock += compute;
    if (observer_ != nullptr) observer_->reach(index, operation, compute, rank.clock);
    if (operation.kind == Operation::Kind::mark) {
      mark(rank, crew, operation.segment);
    } else if (operation.kind == Operation::Kind::post) {
      post(index, operation);
    } else if (operation.kind == Operation::Kind::choose) {
      if (!choose(index)) return false;
    } else {
      const std::int32_t state_number = communicators_.communicator(operation.channel, index);
      Communicator& state = states_[state_number];
      if (state.finished > operation.number) {
        be_late(index, operation, ended(state_number, operation.number));
        continue;
      }
      ++state.waiting;
      rank.awaited = operation.number;
      rank.waits_on = operation.channel;
      return false;
    }
  }
  return true;
}

bool Ranks::goes_on(std::int32_t rank) {
  if (queues_ == nullptr) return false;
  QueueStream& queue = (*queues_)[communicators_.crew(rank)];
  return ranks_[rank].next < std::ssize(queue.stream().operations) || queue.go_on();
}

// The others hear of it: what they go on with is written by then.
bool Ranks::choose(std::int32_t index) {
  if (index % communicators_.ranks_per_crew() != 0) return true;
  QueueStream& queue = (*queues_)[communicators_.crew(index)];
  if (!queue.turns().open()) {
    queue.take(queue.turns().only());
    return true;
  }
  // Ranks run ahead of the simulation: what has arrived by now is known by then.
  Rank& rank = ranks_[index];
  rank.chooses = true;
  network_.wake(index, rank.clock * (1.0 + simultaneous));
  return false;
}

void Ranks::wake(std::int32_t index, double time) {
  Rank& rank = ranks_[index];
  woken_at_ = time;
  // Woken by a message before its own time: what comes with that time is not known yet. A clock of
  // another transport may round.
  if (!rank.chooses || time < rank.clock * (1.0 + simultaneous / 2)) return;
  for (StepPart part : {StepPart::backward, StepPart::forward}) {
    if (arrived(index, part)) return begin_chosen(index, part);
  }
}

bool Ranks::arrived(std::int32_t rank, StepPart part) const {
  const QueueStream& queue = (*queues_)[communicators_.crew(rank)];
  const ChannelNumber channel = queue.message_of(part);
  if (channel == -1) return true;
  return states_[communicators_.communicator(channel, rank)].finished > queue.next(part);
}

void Ranks::begin_chosen(std::int32_t index, StepPart part) {
  Rank& rank = ranks_[index];
  QueueStream& queue = (*queues_)[communicators_.crew(index)];
  const ChannelNumber channel = queue.message_of(part);
  if (channel != -1) {
    const std::int32_t communicator = communicators_.communicator(channel, index);
    const double finish = states_[communicator].finished_at;
    const Arrival& last = arrivals_[communicator];
    Crew& crew = crew_of(index);
    Operation waited = crew.stream->operations[rank.next];
    waited.channel = channel;
    if (observer_ != nullptr) {
      observer_->wake(index, waited, {rank.clock, finish}, {last.last_rank, last.last_post});
    }
    if (finish > rank.clock) {
      sums_of(crew, channel, waited.segment).exposed += finish - rank.clock;
      crew.sums[waited.segment].bubble += std::max(0.0, last.started - rank.clock);
      rank.clock = finish;
    }
  }
  rank.chooses = false;
  queue.take(part);
  ++rank.next;
  walk(index);
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
  if (next.posts < communicators_.members(channel)) return;
  state.running = true;
  state.started = std::max({next.last_post, not_before, woken_at_});
  const Crew& crew = crew_of(communicators_.first_member(communicator));
  const ChannelPost& post = crew.stream->posts[channel][state.finished];
  network_.start(communicator, state.started, program_.collectives[post.collective]);
}

void Ranks::finish(std::int32_t communicator, double time) {
  Communicator& state = states_[communicator];
  const ChannelNumber channel = communicators_.channel(communicator);
  const std::int32_t members = communicators_.members(channel);
  const std::int32_t first = communicators_.first_member(communicator);
  const std::int32_t distance = communicators_.distance(channel);
  const std::int32_t number = state.finished;
  const Pending posted = std::exchange(pending(channel, communicator, number), {});
  const double started = state.started;
  if (observer_ != nullptr) observer_->finish(communicator, number, started, time);
  state.running = false;
  state.finished_at = time;
  ended(communicator, number) = time;
  ++state.finished;
  --in_flight_;
  if (communicators_.joins_stages(channel)) {
    for (std::int32_t i = 0; i < members; ++i) {
      add_flight(crew_of(first + i * distance), communicator, number, 1);
    }
  } else {
    add_flight(crew_of(first), communicator, number, members);
  }
  const std::size_t posts = crew_of(first).stream->posts[channel].size();
  if (static_cast<std::size_t>(state.finished) < posts) {
    start_if_ready(channel, communicator, time);
  }
  if (queues_ != nullptr && communicators_.one_way(channel)) {
    arrivals_[communicator] = {started, posted.last_post, posted.last_rank};
    const std::int32_t receiver = first + distance;
    // What arrives with it counts, too.
    if (ranks_[receiver].chooses) network_.wake(receiver, time * (1.0 + simultaneous));
  }
  if (state.waiting == 0) return;
  std::int32_t rank = first;
  for (std::int32_t i = 0; i < members; ++i, rank += distance) {
    Rank& member = ranks_[rank];
    if (member.waits_on != channel || member.awaited > number) continue;
    --state.waiting;
    member.waits_on = waits_for_nothing;
    Crew& crew = crew_of(rank);
    const Operation& operation = stream_of(rank).operations[member.next];
    if (observer_ != nullptr) {
      observer_->wake(rank, operation, {member.clock, time}, {posted.last_rank, posted.last_post});
    }
    if (time > member.clock) {
      sums_of(crew, channel, operation.segment).exposed += time - member.clock;
      if (communicators_.joins_stages(channel)) {
        crew.sums[operation.segment].bubble += std::max(0.0, started - member.clock);
      }
      member.clock = time;
    }
    be_late(rank, operation, ended(communicator, member.awaited));
    ++member.next;
    walk(rank);
  }
}

void Ranks::expect(std::int32_t communicator, int lookups) const {
  const Communicator& state = states_[communicator];
  if (lookups == 0) {
    communicators_.expect(communicator);
    __builtin_prefetch(&state, 1);
    __builtin_prefetch(&ends_[static_cast<std::size_t>(communicator) * remembered_], 1);
    return;
  }
  const ChannelNumber channel = communicators_.channel(communicator);
  const std::int32_t members = std::min(most_expected, communicators_.members(channel));
  if (lookups == 1) {
    const Board& board = boards_[channel];
    __builtin_prefetch(&board.pending[board.place(communicator, state.finished)], 1);
    if (state.waiting == 0) return;
    std::int32_t rank = communicators_.first_member(communicator);
    for (std::int32_t i = 0; i < members; ++i, rank += communicators_.distance(channel)) {
      __builtin_prefetch(&ranks_[rank], 1);
      communicators_.expect_rank(rank);
    }
  } else if (state.waiting > 0 && !communicators_.joins_stages(channel)) {
    expect_posts(communicator, members);
  }
}

// Members of one stage wait for the same and go on with the same.
void Ranks::expect_posts(std::int32_t communicator, std::int32_t members) const {
  constexpr std::int32_t operations_ahead = 4;
  std::int32_t rank = communicators_.first_member(communicator);
  const std::vector<Operation>& operations = crews_[communicators_.crew(rank)].stream->operations;
  const std::int32_t next = ranks_[rank].next;
  const auto end = std::min<std::size_t>(operations.size(), next + operations_ahead);
  const auto post =
      std::find_if(operations.begin() + next, operations.begin() + end,
                   [](const Operation& one) { return one.kind == Operation::Kind::post; });
  if (post == operations.begin() + end) return;
  const Board& board = boards_[post->channel];
  const std::int32_t distance = communicators_.distance(communicators_.channel(communicator));
  for (std::int32_t i = 0; i < members; ++i, rank += distance) {
    const std::int32_t posted = communicators_.communicator(post->channel, rank);
    __builtin_prefetch(&states_[posted], 1);
    __builtin_prefetch(&board.pending[board.place(posted, post->number)], 1);
  }
}

void Ranks::be_late(std::int32_t index, const Operation& operation, double ended) {
  Rank& rank = ranks_[index];
  const double late = ended + operation.late.value - rank.clock;
  if (late <= 0.0) return;
  rank.clock += late;
  sums_of(crew_of(index), operation.channel, operation.segment).exposed += late;
  if (observer_ != nullptr) observer_->be_late(index, operation, late);
}

void Ranks::add_flight(Crew& crew, std::int32_t communicator, std::int32_t number,
                       std::int32_t members) {
  const ChannelNumber channel = communicators_.channel(communicator);
  const Communicator& state = states_[communicator];
  const ChannelPost& post = crew.stream->posts[channel][number];
  SegmentTimes::OfChannel& posted_in = sums_of(crew, channel, post.segment);
  posted_in.busy += (state.finished_at - state.started) * members;
  const std::vector<std::int8_t>& last = crew.last_of_segment[channel];
  const bool known = number < std::ssize(last);  // not of what is written on the way
  if (known && last[number]) posted_in.end += state.finished_at * members;
}

void Ranks::mark(const Rank& rank, Crew& crew, std::int32_t segment) {
  SegmentTimes& sums = crew.sums[segment];
  sums.end += rank.clock;
  sums.last_end = std::max(sums.last_end, rank.clock);
}

std::vector<std::vector<SegmentTimes>> Ranks::segment_times() const {
  std::vector<std::vector<SegmentTimes>> times;
  for (std::size_t crew = 0; crew < crews_.size(); ++crew) {
    times.push_back(segment_times(crew));
  }
  return times;
}

std::vector<SegmentTimes> Ranks::segment_times(std::size_t number) const {
  const Crew& crew = crews_[number];
  std::vector<SegmentTimes> times = crew.sums;
  const auto ranks = static_cast<std::size_t>(communicators_.ranks_per_crew());
  const auto count = static_cast<double>(ranks);
  std::vector<double> at_pace(paces_ == nullptr ? 0 : paces_->count(), 0.0);  // ranks
  for (std::size_t i = 0; !at_pace.empty() && i < ranks; ++i) {
    ++at_pace[paces_->of(static_cast<std::int64_t>(number * ranks + i))];
  }
  const auto compute = [&](std::size_t segment) {
    if (at_pace.empty()) return crew.stream->segments[segment].compute.value;
    double sum = 0.0;
    for (std::size_t p = 0; p < at_pace.size(); ++p) {
      sum += by_pace_[p][number]->segments[segment].compute.value * at_pace[p];
    }
    return sum / count;
  };
  for (std::size_t s = 0; s < times.size(); ++s) {
    times[s].end /= count;
    times[s].bubble /= count;
    times[s].compute = jitter_ != nullptr ? times[s].compute / count : compute(s);
    const auto first = crew.channel_sums.begin() + static_cast<std::ptrdiff_t>(s * boards_.size());
    times[s].channels.assign(first, first + static_cast<std::ptrdiff_t>(boards_.size()));
    for (SegmentTimes::OfChannel& channel : times[s].channels) {
      channel.exposed /= count;
      channel.busy /= count;
      channel.end /= count;
    }
  }
  return times;
}

}  // namespace fourfold::inline sim::inline replay
