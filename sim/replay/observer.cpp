// Sums and logs as the ranks walk; see observer.hpp.
#include "sim/replay/observer.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace fourfold::inline sim::inline replay {

namespace {

// The most collectives that can end while a rank waits once: those behind the one it waited for
// before, on the same channel.
std::size_t longest_wait(const std::vector<const IssueStream*>& streams) {
  std::int32_t most = 1;
  for (const IssueStream* stream : streams) {
    std::vector<std::int32_t> awaited(stream->posts.size(), -1);
    for (const Operation& operation : stream->operations) {
      if (operation.kind != Operation::Kind::wait) continue;
      std::int32_t& last = awaited[static_cast<std::size_t>(operation.channel)];
      most = std::max(most, operation.number - last);
      last = std::max(last, operation.number);
    }
  }
  return static_cast<std::size_t>(most);
}

}  // namespace

Observer::Observer(const std::vector<const IssueStream*>& streams,
                   const Communicators& communicators, std::int64_t ranks,
                   const std::vector<std::int64_t>& logged)
    : streams_(streams),
      communicators_(communicators),
      ranks_(static_cast<std::size_t>(ranks)),
      waits_(ranks_.size() * channels()),
      remembered_(longest_wait(streams)),
      recent_(static_cast<std::size_t>(communicators.count()) * remembered_),
      flown_(static_cast<std::size_t>(communicators.count()), 0),
      logs_(logged.size()),
      log_of_rank_(static_cast<std::size_t>(ranks), not_logged),
      logs_of_communicator_(static_cast<std::size_t>(communicators.count())) {
  if (logged.size() > std::numeric_limits<std::int8_t>::max()) {
    throw std::invalid_argument("Logs of at most 127 ranks can be kept.");
  }
  for (const IssueStream* stream : streams) {
    for (const auto& posts : stream->posts) {
      for (const ChannelPost& post : posts) {
        const auto needed = static_cast<std::size_t>(post.collective) + 1;
        flights_.resize(std::max(flights_.size(), needed));
      }
    }
  }
  for (std::size_t i = 0; i < logged.size(); ++i) {
    const auto rank = static_cast<std::int32_t>(logged[i]);
    log_of_rank_.at(static_cast<std::size_t>(rank)) = static_cast<std::int8_t>(i);
    logs_[i].flights.resize(channels());
    for (std::size_t c = 0; c < channels(); ++c) {
      if (stream_of(rank).posts[c].empty()) continue;
      const auto channel = static_cast<ChannelNumber>(c);
      const auto communicator = static_cast<std::size_t>(communicators.communicator(channel, rank));
      logs_of_communicator_[communicator].push_back(static_cast<std::int8_t>(i));
    }
  }
}

void Observer::log(std::int32_t rank, const Operation& operation, double clock) {
  DeviceLog& log = logs_[log_of_rank_[rank]];
  log.end = clock;
  if (operation.kind == Operation::Kind::mark) {
    log.marks.push_back(clock);
    return;
  }
  log.arrive.push_back(clock);
  log.leave.push_back(clock);  // until a wait turns out to be one
}

double Observer::in_flight(std::size_t communicator, Interval during) const {
  const std::size_t flown = flown_[communicator];
  double seconds = 0.0;
  for (std::size_t back = 1; back <= std::min(flown, remembered_); ++back) {
    const Interval& flight = recent_[communicator * remembered_ + (flown - back) % remembered_];
    if (flight.to <= during.from) break;
    seconds += std::min(flight.to, during.to) - std::max(flight.from, during.from);
  }
  return seconds;
}

void Observer::wake(std::int32_t rank, const Operation& operation, Interval waited, LastPost last) {
  if (waited.to <= waited.from) return;
  const double exposed = waited.to - waited.from;
  const std::int32_t communicator = communicators_.communicator(operation.channel, rank);
  const double flying = in_flight(static_cast<std::size_t>(communicator), waited);
  const double blamed = std::clamp(last.time - waited.from, 0.0, exposed);
  const std::size_t own = static_cast<std::size_t>(rank) * channels() + operation.channel;
  waits_[own].exposed += exposed * weight(rank, operation);
  waits_[own].late += std::max(0.0, exposed - flying) * weight(rank, operation);
  ranks_[last.rank].blamed += blamed * weight(rank, operation);
  if (log_of_rank_[rank] != not_logged) {
    DeviceLog& log = logs_[log_of_rank_[rank]];
    log.leave.back() = waited.to;
    log.end = waited.to;
  }
}

void Observer::be_late(std::int32_t rank, const Operation& operation, double seconds) {
  const std::size_t own = static_cast<std::size_t>(rank) * channels() + operation.channel;
  waits_[own].exposed += seconds * weight(rank, operation);
  if (log_of_rank_[rank] == not_logged) return;
  DeviceLog& log = logs_[log_of_rank_[rank]];
  log.leave.back() += seconds;
  log.end = log.leave.back();
}

void Observer::finish(std::int32_t communicator, std::int32_t number, double started, double time) {
  const auto channel = static_cast<std::size_t>(communicators_.channel(communicator));
  const std::int32_t first = communicators_.first_member(communicator);
  const ChannelNumber on = communicators_.channel(communicator);
  // What joins stages is of another class on each of them.
  const std::int32_t classes = communicators_.joins_stages(on) ? communicators_.members(on) : 1;
  for (std::int32_t i = 0; i < classes; ++i) {
    const IssueStream& stream = stream_of(first + i * communicators_.distance(on));
    add_flight(stream, stream.posts[channel][static_cast<std::size_t>(number)], time - started);
  }
  const auto c = static_cast<std::size_t>(communicator);
  recent_[c * remembered_ + flown_[c]++ % remembered_] = {started, time};
  for (std::int8_t i : logs_of_communicator_[c]) {
    logs_[i].flights[channel].push_back({started, time});
  }
}

void Observer::add_flight(const IssueStream& stream, const ChannelPost& post, double seconds) {
  const double weight = Observer::weight(stream, post.segment);
  FlightUse& use = flights_[static_cast<std::size_t>(post.collective)];
  use.seconds += weight * seconds;
  use.count += weight;
  use.longest = std::max(use.longest, seconds);
}

namespace {

constexpr std::size_t most_latecomers = 5;

std::vector<Latecomer> latecomers_of(const std::vector<RankUse>& ranks) {
  std::vector<std::int64_t> order(ranks.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const std::size_t shown = std::min(most_latecomers, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      const double first = ranks[static_cast<std::size_t>(a)].blamed;
                      const double second = ranks[static_cast<std::size_t>(b)].blamed;
                      return first != second ? first > second : a < b;
                    });
  std::vector<Latecomer> latecomers;
  for (std::size_t i = 0; i < shown; ++i) {
    const double blamed = ranks[static_cast<std::size_t>(order[i])].blamed;
    if (blamed <= 0.0) break;
    latecomers.push_back({order[i], {blamed / static_cast<double>(ranks.size())}});
  }
  return latecomers;
}

}  // namespace

ReplayDetail summary(const Observer& observer, const DeviceClasses& classes) {
  ReplayDetail detail;
  for (const FlightUse& use : observer.flights()) {
    detail.flights.push_back({{use.mean()}, {use.longest}});
  }
  for (const std::string& name : classes.names) {
    detail.classes.emplace_back();
    detail.classes.back().name = name;
    detail.classes.back().exposed.resize(observer.channels());
    detail.classes.back().late.resize(observer.channels());
  }
  for (std::size_t rank = 0; rank < observer.ranks().size(); ++rank) {
    const RankUse& rank_use = observer.ranks()[rank];
    ClassUse& use = detail.classes[static_cast<std::size_t>(classes.of_rank[rank])];
    ++use.devices;
    use.compute.value += rank_use.compute;
    detail.longest_compute.value = std::max(detail.longest_compute.value, rank_use.compute);
    for (std::size_t channel = 0; channel < observer.channels(); ++channel) {
      const RankWaits& waits = observer.waits(rank, channel);
      use.exposed[channel].value += waits.exposed;
      use.late[channel].value += waits.late;
    }
  }
  for (ClassUse& use : detail.classes) {
    const double share = 1.0 / static_cast<double>(use.devices);
    use.compute *= share;
    for (Seconds& channel : use.exposed) channel *= share;
    for (Seconds& channel : use.late) channel *= share;
  }
  detail.latecomers = latecomers_of(observer.ranks());
  return detail;
}

}  // namespace fourfold::inline sim::inline replay
