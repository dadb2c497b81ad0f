// Peak memory of a folded schedule by liveness; see memory.hpp and memory_rules.hpp.
#include "schedule/fold/memory_effects.hpp"

namespace fourfold::inline schedule::inline fold {

namespace {

MemoryEffect effect(const std::vector<BodyRun>& runs, const std::vector<MemoryEffect>& bodies) {
  MemoryEffect result;
  for (const BodyRun& run : runs) {
    result.follow(bodies[static_cast<std::size_t>(run.body)], run.repeats);
  }
  return result;
}

// The turns of a queue, one for each micro-batch; none where nothing is chosen.
struct QueueEffects {
  std::vector<MemoryEffect> forwards, backwards;
  MemoryEffect begin;  // where the first one begins

  void add(const BodyCycle& cycle, const std::vector<MemoryEffect>& bodies,
           const MemoryEffect& before) {
    MemoryEffect forward, backward;
    bool any_forward = false;
    bool any_backward = false;
    for (const BodyRun& run : cycle.runs) {
      const MemoryEffect& body = bodies[static_cast<std::size_t>(run.body)];
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
void see_all(const QueueEffects& queue, MemoryEffect& step) {
  MemoryEffect after_forwards = queue.begin;
  for (std::size_t f = 0; f <= queue.forwards.size(); ++f) {
    MemoryEffect before = after_forwards;
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

MemoryUse use_of(const MemoryEffect& step, double on_host) {
  MemoryUse use;
  use.peak = {step.high_sum};
  use.on_host = {on_host};
  for (int r = 0; r < role_count; ++r) use.by_role[r] = {step.high[r]};
  return use;
}

// From what is there before it.
MemoryEffect whole_step(const Folded& folded, MemoryEffect step,
                        const std::vector<MemoryEffect>& bodies) {
  const bool in_any_sequence =
      folded.ready.limit > 1 && folded.micro_batches <= folded.ready.limit && chooses(folded);
  QueueEffects queue;
  for (const BodyCycle& cycle : folded.cycles) {
    if (in_any_sequence) queue.add(cycle, bodies, step);
    step.follow(effect(cycle.runs, bodies), cycle.repeats);
  }
  if (in_any_sequence) see_all(queue, step);
  return step;
}

std::vector<MemoryEffect> host_effects_of_bodies(const Folded& folded, const LocalSizes& sizes,
                                                 const ProcessGrid& grid) {
  std::vector<MemoryEffect> bodies;
  for (const Body& body : folded.bodies) bodies.push_back(host_effect(body.events, sizes, grid));
  return bodies;
}

}  // namespace

std::vector<Role> roles_in(const std::array<Bytes, role_count>& by_role) {
  std::vector<Role> roles;
  for (int role = 0; role < role_count; ++role) {
    if (role < training_role_count || by_role[role].value > 0.0) {
      roles.push_back(static_cast<Role>(role));
    }
  }
  return roles;
}

MemoryUse peak_memory(const Folded& folded, const LocalSizes& sizes, const ProcessGrid& grid) {
  return peak_memory(folded, sizes, grid, {});
}

MemoryUse peak_memory(const Folded& folded, const LocalSizes& sizes, const ProcessGrid& grid,
                      const MemoryRules& rules) {
  const MemoryEffect step = whole_step(folded, state(folded.persistent, sizes, rules),
                                       effects_of_bodies(folded, sizes, grid, rules));
  const MemoryEffect kept_there = host_effect(folded.on_host, sizes, grid);
  if (!folded.copies_to_host) return use_of(step, kept_there.sum);
  return use_of(
      step, whole_step(folded, kept_there, host_effects_of_bodies(folded, sizes, grid)).high_sum);
}

namespace {

// Where a stage's bytes are most, found by their sums alone: bytes are whole numbers, which doubles
// add without rounding in any sequence, so that roles can be added up for that place afterwards.
class StagePeak {
 public:
  StagePeak(const MemoryEffect& persistent, const std::vector<WordCycle>& cycles,
            const std::vector<MemoryEffect>& words)
      : persistent_(persistent), cycles_(cycles), words_(words), high_sum_(persistent.high_sum) {
    double sum = persistent.sum;
    for (std::size_t c = 0; c < cycles.size(); ++c) {
      double once = 0.0, high_of_once = 0.0;
      std::size_t place = 0;
      const std::vector<WordCycle::Run>& runs = cycles[c].runs;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const MemoryEffect& word = words[static_cast<std::size_t>(runs[i].word)];
        const double high = once + rounds_before(word, runs[i].repeats) * word.sum + word.high_sum;
        if (high > high_of_once) {
          high_of_once = high;
          place = i;
        }
        once += static_cast<double>(runs[i].repeats) * word.sum;
      }
      const double rounds = once > 0 ? static_cast<double>(cycles[c].repeats - 1) : 0.0;
      if (sum + rounds * once + high_of_once > high_sum_) {
        high_sum_ = sum + rounds * once + high_of_once;
        cycle_ = c;
        run_ = place;
        rounds_ = rounds;
        in_cycle_ = true;
      }
      sum += static_cast<double>(cycles[c].repeats) * once;
    }
  }

  double high_sum() const { return high_sum_; }

  // What there is at the peak.
  MemoryEffect effect() const {
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
    const MemoryEffect& there = words_[word];
    times[word] += rounds_before(there, last.runs[run_].repeats);
    MemoryEffect result;
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
  static double rounds_before(const MemoryEffect& word, std::int64_t repeats) {
    return word.sum > 0 ? static_cast<double>(repeats - 1) : 0.0;
  }

  const MemoryEffect& persistent_;
  const std::vector<WordCycle>& cycles_;
  const std::vector<MemoryEffect>& words_;
  double high_sum_;
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
  struct OfKind {
    std::vector<MemoryEffect> words, host_words;  // of the host where anything comes and goes there
    MemoryEffect persistent, host_persistent;
  };
  std::vector<OfKind> kinds;
  for (std::size_t k = 0; k < pipeline.kinds().size(); ++k) {
    const StageKind& kind = pipeline.kinds()[k];
    const Folded& folded = pipeline.stages()[static_cast<std::size_t>(kind.stage)];
    OfKind& own = kinds.emplace_back();
    const std::vector<MemoryEffect> bodies = effects_of_bodies(folded, sizes[k], grid, rules);
    for (const RunWord& word : kind.words) own.words.push_back(effect(word, bodies));
    own.persistent = state(folded.persistent, sizes[k], rules);
    own.host_persistent = host_effect(folded.on_host, sizes[k], grid);
    if (!folded.copies_to_host) continue;
    const std::vector<MemoryEffect> there = host_effects_of_bodies(folded, sizes[k], grid);
    for (const RunWord& word : kind.words) own.host_words.push_back(effect(word, there));
  }
  std::vector<MemoryUse> uses;
  for (std::size_t i = 0; i < pipeline.stages().size(); ++i) {
    const std::size_t kind = pipeline.index_of_kind(i);
    const Folded& folded = pipeline.stages()[i];
    if (folded.ready.limit > 0) {
      uses.push_back(peak_memory(folded, sizes[kind], grid, rules));
      continue;
    }
    const OfKind& own = kinds[kind];
    double on_host = own.host_persistent.sum;
    if (folded.copies_to_host) {
      on_host = StagePeak(own.host_persistent, pipeline.cycles(i), own.host_words).high_sum();
    }
    const StagePeak peak(own.persistent, pipeline.cycles(i), own.words);
    uses.push_back(use_of(peak.effect(), on_host));
  }
  return uses;
}

}  // namespace fourfold::inline schedule::inline fold
