// Buffers of small whole numbers, whose sums are exact; see collective.hpp.
#include "bench/measure/collective.hpp"

#include <algorithm>
#include <chrono>

#include "bench/measure/messages.hpp"
#include "bench/measure/turns.hpp"
#include "engine/plan/shares.hpp"

namespace fourfold::inline bench::inline measure {

namespace {

// What the member at `position` puts at place i: sums over a hundred members stay exact in fp32.
float number_of(std::int64_t position, std::int64_t i) {
  return static_cast<float>((position * 31 + i) % 1021);
}

constexpr float untouched = -1.0F;

Tensor tensor(std::vector<float>& numbers) {
  return {reinterpret_cast<std::byte*>(numbers.data()), 1,
          static_cast<std::int64_t>(numbers.size()), Precision::fp32};
}

}  // namespace

CollectiveRun::CollectiveRun(Communicator& group, CollectiveKind kind, std::int64_t bytes)
    : group_(group), kind_(kind) {
  const std::int64_t members = group.size();
  const std::int64_t parts = row_of(kind).brings == Portion::edges ? 2 : members;
  const std::int64_t piece = std::max<std::int64_t>(1, (bytes / 4 + parts - 1) / parts);
  elements_ = piece * parts;
  from_.resize(static_cast<std::size_t>(elements_of(row_of(kind).brings, elements_, members)));
  to_.resize(static_cast<std::size_t>(elements_of(row_of(kind).gets, elements_, members)));
  call_ = {kind, Owed::sum, tensor(from_), tensor(to_)};
  if (kind == CollectiveKind::all_to_all_v) {
    // Whole and half parts by turns, the same both ways.
    for (std::int64_t other = 0; other < members; ++other) {
      call_.to.push_back((group.position() + other) % 2 == 0 ? piece : piece / 2);
    }
    call_.from = call_.to;
  }
  fill();
}

double CollectiveRun::bus_bytes() const {
  return bytes() * part_sent(kind_, group_.size());
}

double CollectiveRun::seconds() {
  return slowest_seconds([this] { return wall_seconds([this] { run(); }); });
}

double CollectiveRun::seconds_beside(double work_s) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds between_looks{50};
  return slowest_seconds([&] {
    return wall_seconds([&] {
      const Post post = group_.start(call_);
      const auto end = Clock::now() + std::chrono::duration<double>(work_s);
      auto next_look = Clock::now() + between_looks;
      volatile float busy = 1.0F;
      for (auto now = Clock::now(); now < end; now = Clock::now()) {
        for (int i = 0; i < 100; ++i) busy = busy * 0.999F + 1e-3F;
        if (now < next_look) continue;
        group_.progress();
        next_look = now + between_looks;
      }
      group_.finish(post);
    });
  });
}

bool CollectiveRun::right() {
  fill();
  std::fill(to_.begin(), to_.end(), untouched);
  run();
  bool own = true;
  for (std::size_t i = 0; i < to_.size() && own; ++i) {
    own = to_[i] == expected(static_cast<std::int64_t>(i));
  }
  fill();
  return all_ranks(own);
}

// What nobody sends is left alone.
float CollectiveRun::expected(std::int64_t i) const {
  const std::int64_t members = group_.size();
  const std::int64_t position = group_.position();
  const KindRow& kind = row_of(kind_);
  const std::int64_t piece = elements_of(Portion::part, elements_, members);
  if (kind.reduces()) {
    const std::int64_t first = kind.gets == Portion::part ? position * piece : 0;
    float sum = 0.0F;
    for (std::int64_t member = 0; member < members; ++member) sum += number_of(member, first + i);
    return sum;
  }
  if (kind.spreads()) return number_of(i / piece, i % piece);
  for (std::int64_t other = 0; other < members; ++other) {
    const RingChunk came = received_from(call_, members, position, other);
    if (i < came.first || i >= came.first + came.elements) continue;
    CollectiveCall theirs = call_;
    if (!theirs.to.empty()) {
      for (std::int64_t to = 0; to < members; ++to) {
        theirs.to[static_cast<std::size_t>(to)] = (other + to) % 2 == 0 ? piece : piece / 2;
      }
    }
    return number_of(other, sent_to(theirs, members, other, position).first + i - came.first);
  }
  return untouched;
}

void CollectiveRun::fill() {
  for (std::size_t i = 0; i < from_.size(); ++i) {
    from_[i] = number_of(group_.position(), static_cast<std::int64_t>(i));
  }
}

double overlap_percent(double alone_s, double work_s, double overall_s) {
  if (alone_s <= 0.0) return 0.0;
  return std::clamp(100.0 * (1.0 - (overall_s - work_s) / alone_s), 0.0, 100.0);
}

}  // namespace fourfold::inline bench::inline measure
