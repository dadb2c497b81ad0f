// Peak memory of a folded schedule by liveness; see memory.hpp.
#include "schedule/fold/memory.hpp"

namespace fourfold {

namespace {

using Roles = std::array<double, role_count>;

// What a stretch of the stream does to the bytes in use: the change it leaves, and its highest
// point.
struct Effect {
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

  // `other` happens next, `repeats` times: its peak is highest in its first or its last round.
  void follow(const Effect& other, std::int64_t repeats) {
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

Effect effect(const std::vector<BufferEvent>& events, const LocalSizes& sizes,
              const ProcessGrid& grid) {
  Effect result;
  for (const BufferEvent& event : events) {
    const bool cut = grid.extent(event.axis) > 1;
    if (event.existence == Existence::if_cut && !cut) continue;
    if (event.existence == Existence::if_uncut && cut) continue;
    result.apply(event.role, event.sign * sizes.bytes[static_cast<std::size_t>(event.size)]);
  }
  return result;
}

std::vector<Effect> effects_of_bodies(const Folded& folded, const LocalSizes& sizes,
                                      const ProcessGrid& grid) {
  std::vector<Effect> bodies;
  bodies.reserve(folded.bodies.size());
  for (const Body& body : folded.bodies) bodies.push_back(effect(body.events, sizes, grid));
  return bodies;
}

MemoryUse use_of(const Effect& step) {
  MemoryUse use;
  use.peak = {step.high_sum};
  for (int r = 0; r < role_count; ++r) use.by_role[r] = {step.high[r]};
  return use;
}

}  // namespace

MemoryUse peak_memory(const Folded& folded, const LocalSizes& sizes, const ProcessGrid& grid) {
  const std::vector<Effect> bodies = effects_of_bodies(folded, sizes, grid);
  Effect step = effect(folded.persistent, sizes, grid);
  for (const BodyCycle& cycle : folded.cycles) {
    Effect once;
    for (const BodyRun& run : cycle.runs) {
      once.follow(bodies[static_cast<std::size_t>(run.body)], run.repeats);
    }
    step.follow(once, cycle.repeats);
  }
  return use_of(step);
}

std::vector<MemoryUse> peak_memory(const Pipeline& pipeline, const std::vector<LocalSizes>& sizes,
                                   const ProcessGrid& grid) {
  std::vector<std::vector<Effect>> words;  // by kind
  for (std::size_t k = 0; k < pipeline.kinds().size(); ++k) {
    const StageKind& kind = pipeline.kinds()[k];
    const Folded& folded = pipeline.stages()[static_cast<std::size_t>(kind.stage)];
    const std::vector<Effect> bodies = effects_of_bodies(folded, sizes[k], grid);
    std::vector<Effect>& of_kind = words.emplace_back();
    for (const RunWord& word : kind.words) {
      Effect& once = of_kind.emplace_back();
      for (const BodyRun& run : word) {
        once.follow(bodies[static_cast<std::size_t>(run.body)], run.repeats);
      }
    }
  }
  std::vector<MemoryUse> uses;
  for (std::size_t i = 0; i < pipeline.stages().size(); ++i) {
    const std::size_t kind = pipeline.index_of_kind(i);
    Effect step = effect(pipeline.stages()[i].persistent, sizes[kind], grid);
    for (const WordCycle& cycle : pipeline.cycles(i)) {
      Effect once;
      for (std::int32_t word : cycle.words) {
        once.follow(words[kind][static_cast<std::size_t>(word)], 1);
      }
      step.follow(once, cycle.repeats);
    }
    uses.push_back(use_of(step));
  }
  return uses;
}

}  // namespace fourfold
