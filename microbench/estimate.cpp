// How fast points are estimated, and what a new option set costs before its first point. Questions
// and answers: README.md.
#include "sim/estimate/estimate.hpp"

#include <benchmark/benchmark.h>

#include "schedule/fold/deep_folds.hpp"
#include "schedule/fold/short_folds.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/order/step.hpp"
#include "sim/estimate/search.hpp"

namespace fourfold::inline microbench {
namespace {

constexpr std::int64_t devices = 8192;

Point question() {
  Point point;
  point.platform = "frontier";
  point.model = read_model("gpt-80b");
  return point;
}

// As published; without overlap; with recompute's products kept; weights kept and gradients summed.
std::vector<StepOptions> option_sets() {
  std::vector<StepOptions> sets(4);
  sets[1].overlap = {false, false, false, false};
  sets[2].recompute = Recompute::none;
  sets[3].weight_gather = WeightGather::keep;
  sets[3].gradient_reduction = GradientReduction::accumulated;
  return sets;
}

struct Case {
  ProcessGrid grid;
  std::int64_t micro_batches;
};

// Every grid of 8,192 devices with every number of micro-batches that divides its batch.
std::vector<Case> cases(const Point& point) {
  std::vector<Case> result;
  for (std::int64_t x = 1; x <= devices; x *= 2) {
    for (std::int64_t y = 1; x * y <= devices; y *= 2) {
      for (std::int64_t z = 1; x * y * z <= devices; z *= 2) {
        const ProcessGrid grid(x, y, z, devices / (x * y * z));
        for (std::int64_t m = 1; m <= point.global_batch; m *= 2) {
          StepOptions options = point.options;
          options.micro_batches = m;
          if (find_misfit(point.model, grid, point.global_batch, options) == Misfit::none) {
            result.push_back({grid, m});
          }
        }
      }
    }
  }
  return result;
}

// The folded steps of one option set by micro-batches: long ones are short ones with a count
// changed.
class Steps {
 public:
  explicit Steps(const Point& question)
      : question_(question), recorded_(recorded_micro_batches(question.model, question.options)) {}

  const std::vector<Folded>& of(std::int64_t micro_batches) {
    const auto [slot, fresh] = steps_.try_emplace(micro_batches);
    if (!fresh) return slot->second;
    if (micro_batches > recorded_) {
      slot->second = of(recorded_);
      stretch(slot->second.front(), micro_batches);
    } else {
      question_.options.micro_batches = micro_batches;
      slot->second = folded_stages(question_.model, question_.options, 1);
    }
    return slot->second;
  }

 private:
  Point question_;
  std::int64_t recorded_;
  std::map<std::int64_t, std::vector<Folded>> steps_;
};

// Points a second on one core, each one memory, counts, lowering and walk from the folded program;
// the folded programs of the four option sets are recorded inside the measured time.
void estimate_every_point(benchmark::State& state) {
  const Platform platform = read_platform("frontier");
  const std::vector<Case> all = cases(question());
  std::int64_t points = 0;
  double sum = 0;
  for (auto _ : state) {
    for (const StepOptions& options : option_sets()) {
      Point point = question();
      point.options = options;
      Estimator estimator(platform, point);
      Steps steps(point);
      for (const Case& c : all) {
        const std::vector<Folded>& stages = steps.of(c.micro_batches);
        sum += estimator.evaluate(stages, c.grid, c.micro_batches).outcome.total.value;
        ++points;
      }
    }
  }
  benchmark::DoNotOptimize(sum);
  state.counters["points"] =
      benchmark::Counter(static_cast<double>(points), benchmark::Counter::kAvgIterations);
  state.counters["points/s"] =
      benchmark::Counter(static_cast<double>(points), benchmark::Counter::kIsRate);
}
BENCHMARK(estimate_every_point)->Unit(benchmark::kMillisecond);

// GPT-3 175B as Megatron-LM runs it: 16 stages of 2 chunks, 128 micro-batches; the stages
// step by step, or with what they have in common found before.
template <typename Stages>
void estimate_a_pipeline(benchmark::State& state, const ProcessGrid& grid) {
  const Platform platform = read_platform("frontier");
  Point point = question();
  point.model = read_model("gpt-175b");
  point.grid = grid;
  point.global_batch = 128 * grid.extent(Axis::z) * grid.extent(Axis::data);  // one sequence each
  point.options.order = PipelineOrder::interleaved;
  point.options.chunks = 2;
  point.options.micro_batches = 128;
  Estimator estimator(platform, point);
  const Stages stages(folded_stages(point.model, point.options, 16));
  std::int64_t points = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(estimator.evaluate(stages, point.grid, 128).outcome.total.value);
    ++points;
  }
  state.counters["points/s"] =
      benchmark::Counter(static_cast<double>(points), benchmark::Counter::kIsRate);
}
void pipeline_step_by_step(benchmark::State& state, const ProcessGrid& grid) {
  estimate_a_pipeline<std::vector<Folded>>(state, grid);
}
void pipeline_by_legs(benchmark::State& state, const ProcessGrid& grid) {
  estimate_a_pipeline<Pipeline>(state, grid);
}
BENCHMARK_CAPTURE(pipeline_step_by_step, x_and_data, ProcessGrid(8, 1, 1, 8, 16))
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(pipeline_by_legs, x_and_data, ProcessGrid(8, 1, 1, 8, 16))
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(pipeline_step_by_step, with_z, ProcessGrid(4, 1, 4, 4, 16))
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(pipeline_by_legs, with_z, ProcessGrid(4, 1, 4, 4, 16))
    ->Unit(benchmark::kMicrosecond);

// What it costs to find what 16 stages have in common and in which order they meet.
void find_a_pipeline(benchmark::State& state) {
  Point point = question();
  point.model = read_model("gpt-175b");
  point.options.order = PipelineOrder::interleaved;
  point.options.chunks = 2;
  point.options.micro_batches = 128;
  const std::vector<Folded> stages = folded_stages(point.model, point.options, 16);
  for (auto _ : state) benchmark::DoNotOptimize(Pipeline(stages).meetings().size());
}
BENCHMARK(find_a_pipeline)->Unit(benchmark::kMillisecond);

// The search as `fourfold search` runs it: memory first, then only what fits.
void search_all(benchmark::State& state) {
  const Platform platform = read_platform("frontier");
  std::int64_t tried = 0;
  for (auto _ : state) tried += search(question(), platform, {devices}).tried;
  state.counters["tried/s"] =
      benchmark::Counter(static_cast<double>(tried), benchmark::Counter::kIsRate);
}
BENCHMARK(search_all)->Unit(benchmark::kMillisecond);

// Pipelines of a model that is far too large, of which one stage says so; and with room for all,
// where each is looked at as a whole.
void search_pipelines(benchmark::State& state, double times_the_memory) {
  Platform platform = read_platform("frontier");
  platform.processor.memory *= times_the_memory;
  Point point = question();
  point.model = read_model("gpt-640b");
  std::int64_t tried = 0;
  for (auto _ : state) tried += search(point, platform, {16, {1, 2, 4, 8, 16}}).tried;
  state.counters["tried/s"] =
      benchmark::Counter(static_cast<double>(tried), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(search_pipelines, nothing_fits, 1.0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_pipelines, all_fit, 1e6)->Unit(benchmark::kMillisecond);

void record_step_of_all_layers(benchmark::State& state) {
  const Model model = read_model("gpt-80b");
  StepOptions options;
  options.micro_batches = recorded_micro_batches(model, options);
  for (auto _ : state) benchmark::DoNotOptimize(record_step(model, options).ops.size());
}
BENCHMARK(record_step_of_all_layers)->Unit(benchmark::kMillisecond);

void issue_and_lifetimes(benchmark::State& state) {
  const Model model = read_model("gpt-80b");
  StepOptions options;
  options.micro_batches = recorded_micro_batches(model, options);
  const Program program = record_step(model, options);
  for (auto _ : state) benchmark::DoNotOptimize(issue(program, options).stream.size());
}
BENCHMARK(issue_and_lifetimes)->Unit(benchmark::kMillisecond);

void fold_of_all_layers(benchmark::State& state) {
  const Model model = read_model("gpt-80b");
  StepOptions options;
  options.micro_batches = recorded_micro_batches(model, options);
  const Schedule schedule = issue(record_step(model, options), options);
  for (auto _ : state) benchmark::DoNotOptimize(fold_schedule(schedule).bodies.size());
}
BENCHMARK(fold_of_all_layers)->Unit(benchmark::kMillisecond);

// A new option set of a deep model before its first point: as recorded whole, and put together from
// two shallow ones.
void step_recorded_whole(benchmark::State& state, const char* name) {
  const Model model = read_model(name);
  for (auto _ : state) benchmark::DoNotOptimize(folded_step(model, {}).bodies.size());
}
void step_from_shallow_ones(benchmark::State& state, const char* name) {
  const Model model = read_model(name);
  const ShallowModels models = shallow_models(model, {}, 1).value();
  for (auto _ : state) {
    const auto deep =
        deepened(folded_step(models.few, {}), folded_step(models.more, {}), models.periods);
    benchmark::DoNotOptimize(deep->bodies.size());
  }
}
BENCHMARK_CAPTURE(step_recorded_whole, gpt_80b, "gpt-80b")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(step_from_shallow_ones, gpt_80b, "gpt-80b")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(step_recorded_whole, gpt_640b, "gpt-640b")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(step_from_shallow_ones, gpt_640b, "gpt-640b")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fourfold::inline microbench

BENCHMARK_MAIN();
