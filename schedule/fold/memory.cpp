// Peak memory of a folded schedule by liveness; see memory.hpp and memory_rules.hpp.
#include <algorithm>
#include <cmath>

#include "schedule/fold/kept_bytes.hpp"
#include "schedule/fold/memory_rules.hpp"

namespace fourfold::inline schedule::inline fold {

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
  void see(const Effect& before, const Effect& other) {
    if (before.sum + other.high_sum <= high_sum) return;
    high_sum = before.sum + other.high_sum;
    for (int r = 0; r < role_count; ++r) high[r] = before.change[r] + other.high[r];
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

bool exists(const BufferEvent& event, const ProcessGrid& grid) {
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

Effect effect(const std::vector<BufferEvent>& events, const LocalSizes& sizes,
              const ProcessGrid& grid, const MemoryRules& rules = {}) {
  Effect result;
  for (const BufferEvent& event : events) {
    if (exists(event, grid)) result.apply(event.role, counted_bytes(event, sizes, rules));
  }
  return result;
}

// Of state: weights in 16 bits, and what the optimizer keeps of them in fp32, 12 bytes; of weights
// in fp32 the step's own.
Effect state(const std::vector<BufferEvent>& events, const LocalSizes& sizes,
             const MemoryRules& rules) {
  constexpr double of_the_step = 12.0;
  const bool halves = std::ranges::any_of(events, [&](const BufferEvent& event) {
    return event.role == Role::parameter && sizes.width[static_cast<std::size_t>(event.size)] < 4.0;
  });
  Effect result;
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

Effect effect(const std::vector<BodyRun>& runs, const std::vector<Effect>& bodies) {
  Effect result;
  for (const BodyRun& run : runs) {
    result.follow(bodies[static_cast<std::size_t>(run.body)], run.repeats);
  }
  return result;
}

// The turns of a queue, one for each micro-batch; none where nothing is chosen.
struct QueueEffects {
  std::vector<Effect> forwards, backwards;
  Effect begin;  // where the first one begins

  void add(const BodyCycle& cycle, const std::vector<Effect>& bodies, const Effect& before) {
    Effect forward, backward;
    bool any_forward = false;
    bool any_backward = false;
    for (const BodyRun& run : cycle.runs) {
      const Effect& body = bodies[static_cast<std::size_t>(run.body)];
      if (run.part == StepPart::forward) forward.follow(body, run.repeats);
      if (run.part == StepPart::backward) backward.follow(body, run.repeats);
      any_forward |= run.part == StepPart::forward;
      any_backward |= run.part == StepPart::backward;
    }
    if (any_forward && forwards.empty()) begin = before;
    for (std::int64_t i = 0; i < cycle.repeats; ++i) {
      if (any_forward) forwards.push_back(forward);
      if (any_backward) backwards.push_back(backward);
    }
  }
};

// With fewer micro-batches than may be in flight, all forwards may come before the first backward,
// as they are written, or some behind it, beside the sums of gradients: every state of the queue is
// looked at.
void see_all(const QueueEffects& queue, Effect& step) {
  Effect after_forwards = queue.begin;
  for (std::size_t f = 0; f <= queue.forwards.size(); ++f) {
    Effect before = after_forwards;
    for (std::size_t b = 0; b <= f; ++b) {
      if (f < queue.forwards.size()) step.see(before, queue.forwards[f]);
      if (b == f) break;
      step.see(before, queue.backwards[b]);
      before.follow(queue.backwards[b], 1);
    }
    if (f < queue.forwards.size()) after_forwards.follow(queue.forwards[f], 1);
  }
}

bool chooses(const Folded& folded) {
  for (const Body& body : folded.bodies) {
    for (const FoldedStep& step : body.steps) {
      if (step.kind == IssueKind::choose) return true;
    }
  }
  return false;
}

std::vector<Effect> effects_of_bodies(const Folded& folded, const LocalSizes& sizes,
                                      const ProcessGrid& grid, const MemoryRules& rules) {
  std::vector<Effect> bodies;
  bodies.reserve(folded.bodies.size());
  for (const Body& body : folded.bodies) bodies.push_back(effect(body.events, sizes, grid, rules));
  const std::vector<KeptBytes> kept = kept_bytes(folded, sizes, grid, rules);
  for (std::size_t b = 0; b < kept.size(); ++b) {
    bodies[b].leave(kept[b].left);
    bodies[b].reach(kept[b].reached);
  }
  return bodies;
}

MemoryUse use_of(const Effect& step, const Effect& on_host) {
  MemoryUse use;
  use.peak = {step.high_sum};
  use.on_host = {on_host.sum};
  for (int r = 0; r < role_count; ++r) use.by_role[r] = {step.high[r]};
  return use;
}

}  // namespace

MemoryUse peak_memory(const Folded& folded, const LocalSizes& sizes, const ProcessGrid& grid) {
  return peak_memory(folded, sizes, grid, {});
}

MemoryUse peak_memory(const Folded& folded, const LocalSizes& sizes, const ProcessGrid& grid,
                      const MemoryRules& rules) {
  const std::vector<Effect> bodies = effects_of_bodies(folded, sizes, grid, rules);
  Effect step = state(folded.persistent, sizes, rules);
  const bool in_any_sequence =
      folded.ready.limit > 1 && folded.micro_batches <= folded.ready.limit && chooses(folded);
  QueueEffects queue;
  for (const BodyCycle& cycle : folded.cycles) {
    if (in_any_sequence) queue.add(cycle, bodies, step);
    step.follow(effect(cycle.runs, bodies), cycle.repeats);
  }
  if (in_any_sequence) see_all(queue, step);
  return use_of(step, effect(folded.on_host, sizes, grid));
}

namespace {

// Where a stage's bytes are most, found by their sums alone: bytes are whole numbers, which doubles
// add without rounding in any sequence, so that roles can be added up for that place afterwards.
class StagePeak {
 public:
  StagePeak(const Effect& persistent, const std::vector<WordCycle>& cycles,
            const std::vector<Effect>& words)
      : persistent_(persistent), cycles_(cycles), words_(words) {
    double sum = persistent.sum;
    double high_sum = persistent.high_sum;
    for (std::size_t c = 0; c < cycles.size(); ++c) {
      double once = 0.0, high_of_once = 0.0;
      std::size_t place = 0;
      const std::vector<WordCycle::Run>& runs = cycles[c].runs;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const Effect& word = words[static_cast<std::size_t>(runs[i].word)];
        const double high = once + rounds_before(word, runs[i].repeats) * word.sum + word.high_sum;
        if (high > high_of_once) {
          high_of_once = high;
          place = i;
        }
        once += static_cast<double>(runs[i].repeats) * word.sum;
      }
      const double rounds = once > 0 ? static_cast<double>(cycles[c].repeats - 1) : 0.0;
      if (sum + rounds * once + high_of_once > high_sum) {
        high_sum = sum + rounds * once + high_of_once;
        cycle_ = c;
        run_ = place;
        rounds_ = rounds;
        in_cycle_ = true;
      }
      sum += static_cast<double>(cycles[c].repeats) * once;
    }
  }

  // What there is at the peak.
  Effect effect() const {
    if (!in_cycle_) return persistent_;
    std::vector<double> times(words_.size(), 0.0);  // before the peak's
    const auto add = [&](const WordCycle& cycle, std::size_t count, double repeats) {
      for (std::size_t i = 0; i < count; ++i) {
        const WordCycle::Run& run = cycle.runs[i];
        times[static_cast<std::size_t>(run.word)] += repeats * static_cast<double>(run.repeats);
      }
    };
    for (std::size_t c = 0; c < cycle_; ++c) {
      add(cycles_[c], cycles_[c].runs.size(), static_cast<double>(cycles_[c].repeats));
    }
    const WordCycle& last = cycles_[cycle_];
    if (rounds_ > 0) add(last, last.runs.size(), rounds_);
    add(last, run_, 1.0);
    const auto word = static_cast<std::size_t>(last.runs[run_].word);
    const Effect& there = words_[word];
    times[word] += rounds_before(there, last.runs[run_].repeats);
    Effect result;
    for (int r = 0; r < role_count; ++r) {
      result.high[r] = persistent_.change[r] + there.high[r];
      for (std::size_t w = 0; w < words_.size(); ++w) {
        result.high[r] += times[w] * words_[w].change[r];
      }
      result.high_sum += result.high[r];
    }
    return result;
  }

 private:
  // Repetitions of a word before the one in which it is highest.
  static double rounds_before(const Effect& word, std::int64_t repeats) {
    return word.sum > 0 ? static_cast<double>(repeats - 1) : 0.0;
  }

  const Effect& persistent_;
  const std::vector<WordCycle>& cycles_;
  const std::vector<Effect>& words_;
  bool in_cycle_ = false;  // else the peak is before the first
  std::size_t cycle_ = 0, run_ = 0;
  double rounds_ = 0.0;  // of the cycle before that in which the peak is
};

}  // namespace

std::vector<MemoryUse> peak_memory(const Pipeline& pipeline, const std::vector<LocalSizes>& sizes,
                                   const ProcessGrid& grid) {
  return peak_memory(pipeline, sizes, grid, {});
}

std::vector<MemoryUse> peak_memory(const Pipeline& pipeline, const std::vector<LocalSizes>& sizes,
                                   const ProcessGrid& grid, const MemoryRules& rules) {
  std::vector<std::vector<Effect>> words;  // by kind
  std::vector<Effect> persistent;
  for (std::size_t k = 0; k < pipeline.kinds().size(); ++k) {
    const StageKind& kind = pipeline.kinds()[k];
    const Folded& folded = pipeline.stages()[static_cast<std::size_t>(kind.stage)];
    const std::vector<Effect> bodies = effects_of_bodies(folded, sizes[k], grid, rules);
    std::vector<Effect>& of_kind = words.emplace_back();
    for (const RunWord& word : kind.words) of_kind.push_back(effect(word, bodies));
    persistent.push_back(state(folded.persistent, sizes[k], rules));
  }
  std::vector<MemoryUse> uses;
  for (std::size_t i = 0; i < pipeline.stages().size(); ++i) {
    const std::size_t kind = pipeline.index_of_kind(i);
    const Folded& folded = pipeline.stages()[i];
    if (folded.ready.limit > 0) {
      uses.push_back(peak_memory(folded, sizes[kind], grid, rules));
      continue;
    }
    const StagePeak peak(persistent[kind], pipeline.cycles(i), words[kind]);
    uses.push_back(use_of(peak.effect(), effect(folded.on_host, sizes[kind], grid)));
  }
  return uses;
}

}  // namespace fourfold::inline schedule::inline fold
