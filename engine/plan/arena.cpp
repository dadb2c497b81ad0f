// Packs buffers into as few bytes as a greedy search finds; see arena.hpp.
#include "engine/plan/arena.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace fourfold::inline engine::inline plan {

namespace {

constexpr std::int64_t alignment = 64;

std::int64_t rounded_up(std::int64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool overlap(const PlannedBuffer& a, const PlannedBuffer& b, const StreamOrder& order) {
  return !order.before(a.last, b.first) && !order.before(b.last, a.first);
}

// Buffers placed so far, by offset.
class Shelf {
 public:
  Shelf(const std::vector<PlannedBuffer>& buffers, const StreamOrder& order)
      : buffers_(buffers), order_(order), plan_{std::vector<std::int64_t>(buffers.size(), 0), 0} {}

  void place(std::size_t i) {
    const std::int64_t bytes = rounded_up(buffers_[i].bytes);
    std::int64_t end = 0;  // of what lies below and is in use together with i
    std::int64_t best = -1;
    std::int64_t tightest = 0;
    for (std::size_t other : placed_) {
      if (!overlap(buffers_[i], buffers_[other], order_)) continue;
      const std::int64_t gap = plan_.offsets[other] - end;
      if (gap >= bytes && (best == -1 || gap < tightest)) {
        best = end;
        tightest = gap;
      }
      end = std::max(end, plan_.offsets[other] + rounded_up(buffers_[other].bytes));
    }
    plan_.offsets[i] = best == -1 ? end : best;
    plan_.bytes = std::max(plan_.bytes, plan_.offsets[i] + bytes);
    const auto above = std::upper_bound(
        placed_.begin(), placed_.end(), plan_.offsets[i],
        [&](std::int64_t offset, std::size_t other) { return offset < plan_.offsets[other]; });
    placed_.insert(above, i);
  }

  ArenaPlan plan() && { return std::move(plan_); }

 private:
  const std::vector<PlannedBuffer>& buffers_;
  const StreamOrder& order_;
  ArenaPlan plan_;
  std::vector<std::size_t> placed_;
};

using Weight = std::function<double(const PlannedBuffer&)>;

ArenaPlan planned(const std::vector<PlannedBuffer>& buffers, const StreamOrder& order,
                  const Weight& weight) {
  std::vector<std::size_t> sequence(buffers.size());
  std::iota(sequence.begin(), sequence.end(), std::size_t{0});
  std::stable_sort(sequence.begin(), sequence.end(), [&](std::size_t a, std::size_t b) {
    return weight(buffers[a]) > weight(buffers[b]);
  });
  Shelf shelf(buffers, order);
  for (std::size_t i : sequence) shelf.place(i);
  return std::move(shelf).plan();
}

}  // namespace

ArenaPlan plan_arena(const std::vector<PlannedBuffer>& buffers, const StreamOrder& order) {
  const auto steps = [](const PlannedBuffer& b) {
    return static_cast<double>(b.last - b.first + 1);
  };
  const auto bytes = [](const PlannedBuffer& b) { return static_cast<double>(b.bytes); };
  ArenaPlan best;
  for (const Weight& weight :
       {Weight(bytes), Weight([&](const PlannedBuffer& b) { return bytes(b) * steps(b); }),
        Weight(steps)}) {
    ArenaPlan plan = planned(buffers, order, weight);
    if (best.offsets.empty() || plan.bytes < best.bytes) best = std::move(plan);
  }
  return best;
}

std::int64_t least_bytes(const std::vector<PlannedBuffer>& buffers) {
  std::int32_t steps = 0;
  for (const PlannedBuffer& b : buffers) steps = std::max(steps, b.last + 2);
  std::vector<std::int64_t> change(static_cast<std::size_t>(steps), 0);
  for (const PlannedBuffer& b : buffers) {
    change[static_cast<std::size_t>(b.first)] += b.bytes;
    change[static_cast<std::size_t>(b.last) + 1] -= b.bytes;
  }
  std::int64_t now = 0, most = 0;
  for (std::int64_t c : change) most = std::max(most, now += c);
  return most;
}

}  // namespace fourfold::inline engine::inline plan
