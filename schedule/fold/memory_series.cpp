// Walks the bodies of a step one by one; see memory_series.hpp.
#include "schedule/fold/memory_series.hpp"

#include <algorithm>

#include "schedule/fold/memory_effects.hpp"
#include "schedule/fold/names.hpp"

namespace fourfold::inline schedule::inline fold {
namespace {

Bytes of(const Roles& roles, Role role) {
  return {roles[static_cast<std::size_t>(role)]};
}

MemoryParts parts_of(const Roles& roles, double temporaries) {
  MemoryParts parts;
  parts[MemoryPart::weights] = of(roles, Role::parameter);
  parts[MemoryPart::gradients] = of(roles, Role::gradient);
  parts[MemoryPart::optimizer] = of(roles, Role::optimizer);
  const Bytes activations = of(roles, Role::activation) + of(roles, Role::cache);
  parts[MemoryPart::temporaries] = std::min(activations, Bytes{temporaries});
  parts[MemoryPart::saved] = activations - parts[MemoryPart::temporaries];
  parts[MemoryPart::communication] = of(roles, Role::gathered);
  return parts;
}

class Course {
 public:
  Course(const Folded& folded, const LocalSizes& sizes, const ProcessGrid& grid,
         const MemoryRules& rules)
      : bodies_(effects_of_bodies(folded, sizes, grid, rules)),
        temporaries_(temporaries_of_bodies(folded, sizes, grid, rules)),
        now_(state(folded.persistent, sizes, rules).change) {}

  // Of rounds that are said once the fullest is the last, or the first where they give back.
  void cycle(const BodyCycle& cycle) {
    const std::int64_t said = rounds_said(cycle), others = cycle.repeats - said;
    Roles change{};
    double sum = 0.0;
    for (const BodyRun& run : cycle.runs) {
      const MemoryEffect& body = bodies_[static_cast<std::size_t>(run.body)];
      const auto times = static_cast<double>(run.repeats * others);
      for (std::size_t r = 0; r < change.size(); ++r) change[r] += times * body.change[r];
      sum += times * body.sum;
    }
    if (sum > 0.0) add(change);
    for (std::int64_t i = 0; i < said; ++i) round(cycle);
    if (sum <= 0.0) add(change);
  }

  std::vector<MemoryMoment> moments;

 private:
  void add(const Roles& change) {
    for (std::size_t r = 0; r < change.size(); ++r) now_[r] += change[r];
  }

  void round(const BodyCycle& cycle) {
    for (const BodyRun& run : cycle.runs) {
      for (std::int64_t i = 0; i < run.repeats; ++i) section(static_cast<std::size_t>(run.body));
    }
  }

  void section(std::size_t body) {
    Roles high = now_;
    for (std::size_t r = 0; r < high.size(); ++r) high[r] += bodies_[body].high[r];
    add(bodies_[body].change);
    moments.push_back({parts_of(high, temporaries_[body]), parts_of(now_, 0.0)});
  }

  std::vector<MemoryEffect> bodies_;
  std::vector<double> temporaries_;  // by body
  Roles now_;
};

}  // namespace

const char* name(MemoryPart part) {
  constexpr const char* names[]{"weights",           "gradients",   "optimizer",
                                "saved activations", "temporaries", "communication"};
  return names[static_cast<std::size_t>(part)];
}

Bytes MemoryParts::sum() const {
  Bytes sum;
  for (Bytes one : bytes) sum += one;
  return sum;
}

std::vector<MemoryMoment> memory_over_step(const Folded& folded, const LocalSizes& sizes,
                                           const ProcessGrid& grid, const MemoryRules& rules) {
  Course course(folded, sizes, grid, rules);
  for (const BodyCycle& cycle : folded.cycles) course.cycle(cycle);
  return std::move(course.moments);
}

}  // namespace fourfold::inline schedule::inline fold
