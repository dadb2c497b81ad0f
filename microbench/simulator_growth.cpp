// How does the cost of a full replay grow with the number of devices, and with that of layers?
//
// No machine has 131,072 devices that we could name: the platform is synthetic, Frontier's nodes
// and groups continued to 128 groups of 128 nodes. Every family of runs ends with a line whose
// counter `exponent` is the slope of the least-squares line through (log size, log CPU seconds).
#include <benchmark/benchmark.h>

#include <cmath>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "schedule/models/model_file.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/replay/replay.hpp"

namespace {

using namespace fourfold;

constexpr std::int64_t most_devices = 131072;
constexpr std::int64_t whole_batch = 8192;  // sequences, on that many devices

Platform synthetic(const Scales& scales) {
  Platform platform = read_platform("frontier", scales);
  platform.name = "synthetic-131072";
  platform.title = "Synthetic: Frontier's nodes in 128 groups";
  std::get<DragonflyNetwork>(platform.network).groups = 128;
  platform.nodes = 128 * std::get<DragonflyNetwork>(platform.network).nodes_per_group;
  return platform;
}

// GPT-320B with fewer layers, in replicas of 512 devices.
Point job(std::int64_t devices, std::int64_t layers, std::int64_t batch) {
  Point point;
  point.platform = "frontier";
  point.model = read_model("gpt-320b");
  point.model.layers = layers;
  point.grid = ProcessGrid(8, 4, 16, devices / 512);
  point.global_batch = batch;
  return point;
}

struct Measured {
  double size = 0.0;
  double seconds = 0.0;
};

double slope(const std::vector<Measured>& all) {
  double x = 0.0, y = 0.0, xx = 0.0, xy = 0.0;
  for (const Measured& one : all) {
    const double log_size = std::log(one.size);
    const double log_seconds = std::log(one.seconds);
    x += log_size;
    y += log_seconds;
    xx += log_size * log_size;
    xy += log_size * log_seconds;
  }
  const auto n = static_cast<double>(all.size());
  return (n * xy - x * y) / (n * xx - x * x);
}

std::map<std::string, std::vector<Measured>> measured_by_family;

struct Family {
  std::string name;
  Scales scales;
  ReplayOptions options;
};

// Nothing but the named condition: ranks that compute at their own pace, or links a quarter as
// wide, so that rates have to be shared. Any other name means none.
Family family(const std::string& name) {
  Family one{name, {}, {}};
  one.options.extent = ReplayExtent::full;
  if (name == "jittered" || name == "jittered_one_batch") one.options.jitter = Jitter(0.02, 1);
  if (name == "contended") one.scales = {{"network.link_bandwidth_GBps", 0.25}};
  return one;
}

void run(benchmark::State& state, const Family& one, const Point& point, std::int64_t size) {
  const Platform platform = synthetic(one.scales);
  const TimedProgram program = lower(point, platform);
  Replay result;
  double seconds = 0.0;
  for (auto _ : state) {
    const std::clock_t begin = std::clock();
    result = replay_step(program, point.grid, platform, one.options);
    seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    state.SetIterationTime(seconds);
  }
  state.counters["collectives"] = static_cast<double>(result.collectives);
  state.counters["solves"] = static_cast<double>(result.solves);
  state.SetLabel(point.grid.str());
  measured_by_family[one.name].push_back({static_cast<double>(size), seconds});
}

// The batch grows with the devices: each does the same, whatever their number.
void devices(benchmark::State& state, const std::string& name) {
  const std::int64_t count = state.range(0);
  run(state, family(name), job(count, 4, whole_batch * count / most_devices), count);
}

// All sizes share one batch. The fewer devices there are, the more each computes, and the less its
// collectives meet: rates have to be shared on the most devices only.
void one_batch(benchmark::State& state, const std::string& name) {
  run(state, family(name), job(state.range(0), 4, whole_batch), state.range(0));
}

void layers(benchmark::State& state, const std::string& name) {
  run(state, family(name), job(4096, state.range(0), whole_batch), state.range(0));
}

void growth(benchmark::State& state, const std::string& name) {
  for (auto _ : state) benchmark::DoNotOptimize(state.iterations());
  state.counters["exponent"] = slope(measured_by_family[name]);
}

#define FOURFOLD_FAMILY(function, name, from, to) \
  BENCHMARK_CAPTURE(function, name, #name)        \
      ->RangeMultiplier(2)                        \
      ->Range(from, to)                           \
      ->Iterations(1)                             \
      ->UseManualTime()                           \
      ->Unit(benchmark::kSecond);                 \
  BENCHMARK_CAPTURE(growth, name, #name)->Iterations(1)

FOURFOLD_FAMILY(devices, quiet, 512, 131072);
FOURFOLD_FAMILY(devices, jittered, 512, 131072);
FOURFOLD_FAMILY(devices, contended, 512, 131072);
FOURFOLD_FAMILY(one_batch, jittered_one_batch, 16384, 131072);
FOURFOLD_FAMILY(layers, by_layer, 12, 96);

}  // namespace

BENCHMARK_MAIN();
