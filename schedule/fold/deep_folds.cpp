// Finds what grows from one shallow step to the next, and lets it grow on; see deep_folds.hpp.
#include "schedule/fold/deep_folds.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "schedule/models/gpt.hpp"
#include "schedule/models/layer_pattern.hpp"

namespace fourfold::inline schedule::inline fold {

namespace {

// Layers of a chunk beyond those whose gradients or gathers may be under way: the first and the
// last, and some between them that are alike.
constexpr std::int64_t beyond_the_window = 5;

// A list as stretches that are there so many times one after the other: from each place on the one
// that goes on for longest.
template <typename T>
struct Repeated {
  std::vector<T> stretch;
  std::int64_t times = 1;
};

template <typename T>
std::vector<Repeated<T>> repeats_in(const std::vector<T>& list) {
  std::vector<Repeated<T>> result;
  auto from = list.begin();
  while (from != list.end()) {
    std::ptrdiff_t length = 1, times = 1;
    for (std::ptrdiff_t own = 1; own <= (list.end() - from) / 2; ++own) {
      std::ptrdiff_t again = 1;
      while ((again + 1) * own <= list.end() - from &&
             std::equal(from, from + own, from + again * own)) {
        ++again;
      }
      if (again > 1 && again * own > length * times) {
        length = own;
        times = again;
      }
    }
    result.push_back({{from, from + length}, times});
    from += length * times;
  }
  return result;
}

class Growth {
 public:
  explicit Growth(std::int64_t periods) : periods_(periods) {}

  bool even() const { return even_; }

  // What must be the same.
  template <typename T>
  void same(const T& few, const T& more) {
    even_ &= few == more;
  }

  // Grows, as far as it grew, in a copy of `few`.
  template <typename Number>
  void count(Number& grown, Number more) {
    even_ &= more >= grown;
    if (even_) grown = static_cast<Number>(grown + (more - grown) * periods_);
  }

  // Stretches that are there several times are there more often; what grows in an element is said
  // by `grow`.
  template <typename T, typename Grow>
  void list(std::vector<T>& grown, const std::vector<T>& more, const Grow& grow) {
    if (grown == more) return;
    std::vector<Repeated<T>> stretches = repeats_in(grown);
    each(stretches, repeats_in(more), [&](Repeated<T>& own, const Repeated<T>& other) {
      each(own.stretch, other.stretch, grow);
      count(own.times, other.times);
    });
    if (!even_) return;
    grown.clear();
    for (const Repeated<T>& own : stretches) {
      for (std::int64_t i = 0; i < own.times; ++i) {
        grown.insert(grown.end(), own.stretch.begin(), own.stretch.end());
      }
    }
  }
  template <typename T>
  void list(std::vector<T>& grown, const std::vector<T>& more) {
    list(grown, more, [this](const T& own, const T& other) { same(own, other); });
  }

  // Of each pair, where there are equally many.
  template <typename T, typename Grow>
  void each(std::vector<T>& grown, const std::vector<T>& more, const Grow& grow) {
    if (grown.size() != more.size()) even_ = false;
    for (std::size_t i = 0; even_ && i < grown.size(); ++i) grow(grown[i], more[i]);
  }

 private:
  std::int64_t periods_;
  bool even_ = true;
};

// A wait behind another one of its channel says how much later its collective was posted, so that
// waits for one after the other are alike. Waits have no index otherwise.
constexpr std::int32_t after_the_last = -1;

std::vector<FoldedStep> with_waits_in_turn(const std::vector<FoldedStep>& steps) {
  std::vector<FoldedStep> result = steps;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const FoldedStep& last = steps[i - 1];
    if (steps[i].kind != IssueKind::wait || last.kind != IssueKind::wait) continue;
    if (steps[i].channel != last.channel) continue;
    result[i].index = after_the_last;
    result[i].back -= last.back;
  }
  return result;
}

std::vector<FoldedStep> with_waits_alone(std::vector<FoldedStep> steps) {
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].kind != IssueKind::wait || steps[i].index != after_the_last) continue;
    steps[i].index = 0;
    steps[i].back += steps[i - 1].back;
  }
  return steps;
}

void grow_steps(Growth& growth, std::vector<FoldedStep>& grown,
                const std::vector<FoldedStep>& more) {
  if (grown == more) return;
  std::vector<FoldedStep> in_turn = with_waits_in_turn(grown);
  growth.list(in_turn, with_waits_in_turn(more), [&](FoldedStep& step, const FoldedStep& other) {
    FoldedStep alike = other;
    alike.back = step.back;
    growth.same(step, alike);
    growth.count(step.back, other.back);
  });
  grown = with_waits_alone(std::move(in_turn));
}

// Bytes of what is there before and after the step, each with its number.
void grow_counts(Growth& growth, std::vector<BufferEvent>& grown,
                 const std::vector<BufferEvent>& more) {
  growth.each(grown, more, [&](BufferEvent& event, const BufferEvent& other) {
    BufferEvent alike = other;
    alike.sign = event.sign;
    growth.same(event, alike);
    growth.count(event.sign, other.sign);
  });
}

}  // namespace

std::optional<ShallowModels> shallow_models(const Model& model, const StepOptions& options,
                                            std::int64_t stages) {
  const bool uneven = options.layers_per_stage.said() || options.recompute_layers > 0;
  if (uneven || options.data_bucket > 0) return {};
  const auto kinds = static_cast<std::int64_t>(kinds_in(model.layer_pattern).size());
  const std::int64_t period = std::lcm(kinds, options.recompute_every);
  const std::int64_t chunks = stages * options.chunks;
  const std::int64_t layers = model.layers / chunks;
  const std::int64_t least = options.in_flight_blocks + beyond_the_window;
  const std::int64_t first = least + (layers - least) % period;
  if (layers < 2 * first + period + least) return {};
  ShallowModels result{model, model, (layers - first) / period};
  result.few.layers = model.layers - (layers - first) * chunks;
  result.more.layers = result.few.layers + period * chunks;
  return result;
}

std::optional<Folded> deepened(const Folded& few, const Folded& more, std::int64_t periods) {
  Folded deep = few;
  Growth growth(periods);
  growth.same(few.channels, more.channels);
  growth.same(few.shapes, more.shapes);
  growth.same(few.bundles, more.bundles);
  growth.same(few.collectives, more.collectives);
  growth.same(few.micro_batches, more.micro_batches);
  growth.same(few.settled, more.settled);
  growth.same(few.ready, more.ready);
  growth.each(deep.sizes, more.sizes, [&](Size& size, const Size& other) {
    growth.same(size.precision, other.precision);
    growth.each(size.terms, other.terms, [&](Size::Term& term, const Size::Term& larger) {
      growth.same(term.shape, larger.shape);
      growth.count(term.times, larger.times);
    });
  });
  growth.each(deep.classes, more.classes, [&](OpClass& own, const OpClass& other) {
    OpClass alike = other;
    for (auto list : {&OpClass::reads, &OpClass::writes, &OpClass::fetched}) {
      alike.*list = own.*list;
    }
    growth.same(own, alike);
    for (auto list : {&OpClass::reads, &OpClass::writes, &OpClass::fetched}) {
      growth.list(own.*list, other.*list);
    }
  });
  growth.each(deep.bodies, more.bodies, [&](Body& body, const Body& other) {
    grow_steps(growth, body.steps, other.steps);
    growth.list(body.events, other.events);
  });
  growth.each(deep.cycles, more.cycles, [&](BodyCycle& cycle, const BodyCycle& other) {
    growth.same(cycle.repeats, other.repeats);
    growth.same(cycle.micro_batch, other.micro_batch);
    growth.same(cycle.period, other.period);
    growth.list(cycle.runs, other.runs, [&](BodyRun& run, const BodyRun& longer) {
      growth.same(run.body, longer.body);
      growth.same(run.part, longer.part);
      growth.count(run.repeats, longer.repeats);
    });
  });
  grow_counts(growth, deep.persistent, more.persistent);
  grow_counts(growth, deep.on_host, more.on_host);
  if (!growth.even()) return {};
  return deep;
}

}  // namespace fourfold::inline schedule::inline fold
