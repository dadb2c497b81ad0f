// What stretches of a folded stream do to the bytes in use, by role: what peaks and courses are
// made of.
#pragma once

#include <array>

#include "schedule/fold/memory_rules.hpp"

namespace fourfold::inline schedule::inline fold {

using Roles = std::array<double, role_count>;

// What a stretch of the stream does to the bytes in use: the change it leaves, and its highest
// point.
struct MemoryEffect {
  Roles change{};
  Roles high{};  // by role, when the sum was highest
  double sum = 0.0;
  double high_sum = 0.0;

  void apply(Role role, double bytes) {
    change[static_cast<int>(role)] += bytes;
    sum += bytes;
    if (sum > high_sum) {
      high_sum = sum;
      high = change;
    }
  }

  // Beside its events: what it leaves, and what there is at its highest point.
  void leave(double bytes) {
    change[static_cast<int>(Role::activation)] += bytes;
    sum += bytes;
  }
  void reach(double bytes) {
    high[static_cast<int>(Role::activation)] += bytes;
    high_sum += bytes;
  }

  // What `other` would reach, if it came after `before`.
  void see(const MemoryEffect& before, const MemoryEffect& other) {
    if (before.sum + other.high_sum <= high_sum) return;
    high_sum = before.sum + other.high_sum;
    for (int r = 0; r < role_count; ++r) high[r] = before.change[r] + other.high[r];
  }

  // `other` happens next, `repeats` times: its peak is highest in its first or its last round.
  void follow(const MemoryEffect& other, std::int64_t repeats) {
    const double rounds = other.sum > 0 ? static_cast<double>(repeats - 1) : 0.0;
    const double reached = sum + rounds * other.sum + other.high_sum;
    if (reached > high_sum) {
      high_sum = reached;
      for (int r = 0; r < role_count; ++r) {
        high[r] = change[r] + rounds * other.change[r] + other.high[r];
      }
    }
    sum += static_cast<double>(repeats) * other.sum;
    for (int r = 0; r < role_count; ++r) {
      change[r] += static_cast<double>(repeats) * other.change[r];
    }
  }
};

// Of what comes and goes on the device, and in its host's memory, of which rules say nothing.
MemoryEffect effect(const std::vector<BufferEvent>& events, const LocalSizes& sizes,
                    const ProcessGrid& grid, const MemoryRules& rules = {});
MemoryEffect host_effect(const std::vector<BufferEvent>& events, const LocalSizes& sizes,
                         const ProcessGrid& grid);
// Of what is there before and after a step.
MemoryEffect state(const std::vector<BufferEvent>& events, const LocalSizes& sizes,
                   const MemoryRules& rules);
// By body, with what the rules keep and make.
std::vector<MemoryEffect> effects_of_bodies(const Folded& folded, const LocalSizes& sizes,
                                            const ProcessGrid& grid, const MemoryRules& rules);

// Of a body's highest point: activations that begin and end within the body.
std::vector<double> temporaries_of_bodies(const Folded& folded, const LocalSizes& sizes,
                                          const ProcessGrid& grid, const MemoryRules& rules);

}  // namespace fourfold::inline schedule::inline fold
