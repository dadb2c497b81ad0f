// Adds up buffers that begin and end; see memory_effects.hpp.
#include "schedule/fold/memory_effects.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "schedule/fold/kept_bytes.hpp"

namespace fourfold::inline schedule::inline fold {
namespace {

bool exists(const BufferEvent& event, const ProcessGrid& grid, bool on_host = false) {
  if (event.on_host != on_host) return false;
  if (event.existence == Existence::always) return true;
  return (event.existence == Existence::if_cut) == (grid.extent(event.axis) > 1);
}

// Of what comes and goes in a step: what the rules count otherwise is not counted here.
double counted_bytes(const BufferEvent& event, const LocalSizes& sizes, const MemoryRules& rules) {
  const auto size = static_cast<std::size_t>(event.size);
  const double bytes = event.sign * sizes.bytes[size];
  if (event.role == Role::gathered && rules.gathers_units) return 0.0;
  if (event.role != Role::gradient) return bytes;
  if (rules.gradients_ahead) return 0.0;
  return rules.gradients && sizes.width[size] == 4.0 ? bytes * *rules.gradients / 4.0 : bytes;
}

}  // namespace

MemoryEffect effect(const std::vector<BufferEvent>& events, const LocalSizes& sizes,
                    const ProcessGrid& grid, const MemoryRules& rules) {
  MemoryEffect result;
  for (const BufferEvent& event : events) {
    if (exists(event, grid)) result.apply(event.role, counted_bytes(event, sizes, rules));
  }
  return result;
}

MemoryEffect host_effect(const std::vector<BufferEvent>& events, const LocalSizes& sizes,
                         const ProcessGrid& grid) {
  MemoryEffect result;
  for (const BufferEvent& event : events) {
    const double bytes = event.sign * sizes.bytes[static_cast<std::size_t>(event.size)];
    if (exists(event, grid, true)) result.apply(event.role, bytes);
  }
  return result;
}

// Of state: weights in 16 bits, and what the optimizer keeps of them in fp32, 12 bytes; of weights
// in fp32 the step's own.
MemoryEffect state(const std::vector<BufferEvent>& events, const LocalSizes& sizes,
                   const MemoryRules& rules) {
  constexpr double of_the_step = 12.0;
  const bool halves = std::ranges::any_of(events, [&](const BufferEvent& event) {
    return event.role == Role::parameter && sizes.width[static_cast<std::size_t>(event.size)] < 4.0;
  });
  MemoryEffect result;
  for (const BufferEvent& event : events) {
    const auto size = static_cast<std::size_t>(event.size);
    double bytes = event.sign * sizes.bytes[size];
    const double elements = bytes / sizes.width[size];
    if (halves && event.role == Role::parameter && rules.weights) bytes = elements * *rules.weights;
    if (halves && event.role == Role::optimizer && rules.optimizer) {
      bytes *= *rules.optimizer / of_the_step;
    }
    result.apply(event.role, std::round(bytes));
    const bool ahead = rules.gradients_ahead && event.role == Role::parameter;
    if (ahead) result.apply(Role::gradient, std::round(elements * rules.gradients.value_or(4.0)));
  }
  return result;
}

std::vector<MemoryEffect> effects_of_bodies(const Folded& folded, const LocalSizes& sizes,
                                            const ProcessGrid& grid, const MemoryRules& rules) {
  std::vector<MemoryEffect> bodies;
  bodies.reserve(folded.bodies.size());
  for (const Body& body : folded.bodies) bodies.push_back(effect(body.events, sizes, grid, rules));
  const std::vector<KeptBytes> kept = kept_bytes(folded, sizes, grid, rules);
  for (std::size_t b = 0; b < kept.size(); ++b) {
    bodies[b].leave(kept[b].left);
    bodies[b].reach(kept[b].reached);
  }
  return bodies;
}

namespace {

// A buffer that ends where one of its size was begun in the same body is that one.
double within(const Body& body, const LocalSizes& sizes, const ProcessGrid& grid,
              const MemoryRules& rules) {
  std::map<std::int32_t, std::int32_t> ends, open;  // by size: still to come, and begun here
  const auto counts = [&](const BufferEvent& event) {
    return event.role == Role::activation && exists(event, grid);
  };
  for (const BufferEvent& event : body.events) {
    if (counts(event) && event.sign < 0) ++ends[event.size];
  }
  double sum = 0.0, high = 0.0, now = 0.0, now_at_high = 0.0;
  for (const BufferEvent& event : body.events) {
    if (!exists(event, grid)) continue;
    const double bytes = sizes.bytes[static_cast<std::size_t>(event.size)];
    sum += counted_bytes(event, sizes, rules);
    if (event.role == Role::activation && event.sign > 0 && ends[event.size] > open[event.size]) {
      ++open[event.size];
      now += bytes;
    } else if (event.role == Role::activation && event.sign < 0) {
      --ends[event.size];
      if (open[event.size] > 0) {
        --open[event.size];
        now -= bytes;
      }
    }
    if (sum > high) {
      high = sum;
      now_at_high = now;
    }
  }
  return now_at_high;
}

}  // namespace

std::vector<double> temporaries_of_bodies(const Folded& folded, const LocalSizes& sizes,
                                          const ProcessGrid& grid, const MemoryRules& rules) {
  std::vector<double> result;
  for (const Body& body : folded.bodies) result.push_back(within(body, sizes, grid, rules));
  const std::vector<KeptBytes> kept = kept_bytes(folded, sizes, grid, rules);
  for (std::size_t b = 0; b < kept.size(); ++b) {
    result[b] += kept[b].reached - std::max(kept[b].left, 0.0);
  }
  return result;
}

}  // namespace fourfold::inline schedule::inline fold
