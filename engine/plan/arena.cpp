// Packs buffers into as few bytes as a greedy search finds; see arena.hpp.
#include "engine/plan/arena.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace fourfold::inline engine::inline plan {

namespace {

constexpr std::int64_t alignment = 64;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// A part of a buffer where it lies.
struct Placed {
  std::int64_t offset = 0, end = 0;
  std::int32_t first = 0, last = 0;
};

// What is placed so far, by offset.
class Shelf {
 public:
  Shelf(const std::vector<PlannedBuffer>& buffers, const StreamOrder& order)
      : buffers_(buffers), order_(order), plan_{std::vector<std::int64_t>(buffers.size(), 0), 0} {}

  void place(std::size_t i) {
    const PlannedBuffer& buffer = buffers_[i];
    const std::int64_t offset = buffer.parts.empty() ? tightest(buffer) : lowest(buffer);
    plan_.offsets[i] = offset;
    plan_.bytes = std::max(plan_.bytes, offset + aligned(buffer.bytes));
    for (const PlannedBuffer::Part& part : buffer.all_parts()) {
      const Placed own{offset + part.offset, offset + part.offset + part.bytes, part.first,
                       buffer.last};
      const auto above =
          std::upper_bound(placed_.begin(), placed_.end(), own.offset,
                           [](std::int64_t at, const Placed& other) { return at < other.offset; });
      placed_.insert(above, own);
    }
  }

  ArenaPlan plan() && { return std::move(plan_); }

 private:
  bool together(std::int32_t first, std::int32_t last, const Placed& other) const {
    return !order_.before(last, other.first) && !order_.before(other.last, first);
  }

  // The tightest gap among what is in use at the same time, or the end of it.
  std::int64_t tightest(const PlannedBuffer& buffer) const {
    const std::int64_t bytes = aligned(buffer.bytes);
    std::int64_t end = 0;  // of what lies below
    std::int64_t best = -1;
    std::int64_t least = 0;
    for (const Placed& other : placed_) {
      if (!together(buffer.first, buffer.last, other)) continue;
      const std::int64_t gap = other.offset - end;
      if (gap >= bytes && (best == -1 || gap < least)) {
        best = end;
        least = gap;
      }
      end = std::max(end, aligned(other.end));
    }
    return best == -1 ? end : best;
  }

  // The lowest place where none of its parts meets anything: each of them is in the way of less
  // than the whole would be.
  std::int64_t lowest(const PlannedBuffer& buffer) const {
    std::int64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const PlannedBuffer::Part& part : buffer.parts) {
        for (const Placed& other : placed_) {
          const std::int64_t begin = offset + part.offset;
          if (other.offset >= begin + part.bytes) break;
          if (other.end <= begin || !together(part.first, buffer.last, other)) continue;
          offset = aligned(other.end - part.offset);
          moved = true;
        }
      }
    }
    return offset;
  }

  const std::vector<PlannedBuffer>& buffers_;
  const StreamOrder& order_;
  ArenaPlan plan_;
  std::vector<Placed> placed_;
};

using Sequence = std::vector<std::size_t>;
using Weight = std::function<double(const PlannedBuffer&)>;

ArenaPlan planned(const std::vector<PlannedBuffer>& buffers, const StreamOrder& order,
                  const Sequence& sequence) {
  Shelf shelf(buffers, order);
  for (std::size_t i : sequence) shelf.place(i);
  return std::move(shelf).plan();
}

Sequence heaviest_first(const std::vector<PlannedBuffer>& buffers, const Weight& weight) {
  Sequence sequence(buffers.size());
  std::iota(sequence.begin(), sequence.end(), std::size_t{0});
  std::stable_sort(sequence.begin(), sequence.end(), [&](std::size_t a, std::size_t b) {
    return weight(buffers[a]) > weight(buffers[b]);
  });
  return sequence;
}

// Of one sequence: fewer where there are so many buffers that all of them took seconds.
std::int64_t tries(std::size_t buffers) {
  const auto n = static_cast<double>(buffers + 1);
  return static_cast<std::int64_t>(std::clamp(2e8 / (n * n), 1.0, 40.0));
}

}  // namespace

ArenaPlan plan_arena(const std::vector<PlannedBuffer>& buffers, const StreamOrder& order) {
  const auto steps = [](const PlannedBuffer& b) {
    return static_cast<double>(b.last - b.first + 1);
  };
  const auto bytes = [](const PlannedBuffer& b) { return static_cast<double>(b.bytes); };
  const std::int64_t enough = least_bytes(buffers) + alignment;
  ArenaPlan best;
  for (const Weight& weight :
       {Weight(bytes), Weight([&](const PlannedBuffer& b) { return bytes(b) * steps(b); }),
        Weight(steps), Weight([](const PlannedBuffer& b) { return -b.first; })}) {
    Sequence sequence = heaviest_first(buffers, weight);
    for (std::int64_t i = 0; i < tries(buffers.size()); ++i) {
      ArenaPlan plan = planned(buffers, order, sequence);
      if (best.offsets.empty() || plan.bytes < best.bytes) best = plan;
      if (best.bytes <= enough) return best;
      // What found no place below comes first in the next try: all that lies too high, or the
      // highest alone.
      const std::int64_t high = i % 2 == 0 ? enough : plan.bytes - alignment;
      std::ranges::stable_partition(
          sequence, [&](std::size_t b) { return plan.offsets[b] + buffers[b].bytes > high; });
    }
  }
  return best;
}

std::int64_t least_bytes(const std::vector<PlannedBuffer>& buffers) {
  std::int32_t steps = 0;
  for (const PlannedBuffer& b : buffers) steps = std::max(steps, b.last + 2);
  std::vector<std::int64_t> change(static_cast<std::size_t>(steps), 0);
  for (const PlannedBuffer& b : buffers) {
    for (const PlannedBuffer::Part& part : b.all_parts()) {
      change[static_cast<std::size_t>(part.first)] += part.bytes;
      change[static_cast<std::size_t>(b.last) + 1] -= part.bytes;
    }
  }
  std::int64_t now = 0, most = 0;
  for (std::int64_t c : change) most = std::max(most, now += c);
  return most;
}

}  // namespace fourfold::inline engine::inline plan
