// A benchmark of Google's library a call, with manual times; see turns.hpp.
#include "bench/measure/turns.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <ctime>
#include <optional>
#include <sstream>
#include <thread>

#include "bench/measure/messages.hpp"
#include "bench/measure/shield.hpp"

namespace fourfold::inline bench::inline measure {

namespace {

// After a round that held others off: what they get of the core.
constexpr std::chrono::milliseconds for_others{5};

class Silence : public benchmark::BenchmarkReporter {
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& /*runs*/) override {}
};

void run_under_google_benchmark(std::int64_t rounds, const Take& round) {
  benchmark::ClearRegisteredBenchmarks();
  benchmark::RegisterBenchmark("turns",
                               [&round](benchmark::State& state) {
                                 for ([[maybe_unused]] auto turn : state) {
                                   state.SetIterationTime(round());
                                 }
                               })
      ->Iterations(rounds)
      ->UseManualTime();
  Silence silence;
  benchmark::RunSpecifiedBenchmarks(&silence, "turns");
  benchmark::ClearRegisteredBenchmarks();
}

// Its JSON reporter is the only one that tells how the library was built.
bool library_is_debug() {
  std::ostringstream text;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&text);
  reporter.SetErrorStream(&text);
  reporter.ReportContext(benchmark::BenchmarkReporter::Context());
  return text.str().find("\"library_build_type\": \"debug\"") != std::string::npos;
}

}  // namespace

std::vector<Sample> take_turns(const std::vector<Take>& takes, const Turns& turns) {
  std::vector<Sample> samples(takes.size());
  std::optional<Shield> shield;
  const Take round = [&] {
    if (turns.company == Company::held_off) {
      shield.emplace();
      wait_for_all_ranks();
    }
    double seconds = 0.0;
    for (std::size_t i = 0; i < takes.size(); ++i) {
      samples[i].push_back(takes[i]());
      seconds += samples[i].back();
    }
    if (shield) {
      shield.reset();
      std::this_thread::sleep_for(for_others);
    }
    return seconds;
  };
  for (std::int64_t i = 0; i < turns.warm_ups; ++i) round();
  for (Sample& sample : samples) sample.clear();
  if (turns.rounds > 0) run_under_google_benchmark(turns.rounds, round);
  return samples;
}

double wall_seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double cpu_seconds(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

TimingLibrary timing_library() {
  constexpr std::int64_t turns = 10'000;
  TimingLibrary library;
  library.debug = library_is_debug();
  const double seconds =
      wall_seconds([] { run_under_google_benchmark(turns, [] { return 1e-9; }); });
  library.turn_seconds = seconds / static_cast<double>(turns);
  return library;
}

}  // namespace fourfold::inline bench::inline measure
