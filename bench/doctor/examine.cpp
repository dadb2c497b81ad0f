// Reads /proc and /sys, and starts what has to be tried; see examine.hpp.
#include "bench/doctor/examine.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <thread>

#include "bench/measure/messages.hpp"
#include "bench/measure/product.hpp"
#include "bench/measure/turns.hpp"
#include "engine/cpu/openblas_core.hpp"
#include "engine/train/run/world.hpp"
#include "scaling/jobs/engine_job.hpp"
#include "scaling/jobs/launch.hpp"
#include "support/json_object.hpp"
#include "support/on_path.hpp"

namespace fourfold::inline bench::inline doctor {

namespace {

namespace files = std::filesystem;
using nlohmann::json;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// A soft limit.
std::optional<std::int64_t> limit(decltype(RLIMIT_AS) resource) {
  rlimit value{};
  if (getrlimit(resource, &value) != 0 || value.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(value.rlim_cur);
}

// Of version 2 of control groups ("max 100000" or "150000 100000"), else of version 1.
std::optional<double> core_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0.0;
  if (file >> quota >> period && quota != "max")
    return std::strtod(quota.c_str(), nullptr) / period;
  const double old_quota =
      std::strtod(first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").c_str(), nullptr);
  const double old_period =
      std::strtod(first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us").c_str(), nullptr);
  if (old_quota > 0 && old_period > 0) return old_quota / old_period;
  return std::nullopt;
}

std::vector<std::string> governors() {
  std::set<std::string> found;
  std::error_code missing;
  for (const auto& cpu : files::directory_iterator("/sys/devices/system/cpu", missing)) {
    const std::string governor = first_line(cpu.path().string() + "/cpufreq/scaling_governor");
    if (!governor.empty()) found.insert(governor);
  }
  return {found.begin(), found.end()};
}

std::int64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  for (std::int64_t kibi = 0; file >> key >> kibi; file.ignore(80, '\n')) {
    if (key == "MemAvailable:") return kibi << 10;
  }
  return 0;
}

std::int64_t free_bytes(const char* folder) {
  struct statvfs space {};
  if (statvfs(folder, &space) != 0) return 0;
  return static_cast<std::int64_t>(space.f_bavail) * static_cast<std::int64_t>(space.f_frsize);
}

std::vector<std::string> missing_tools(const std::string& executable) {
  std::vector<std::string> missing;
  for (const char* program : {"mpirun", "gnuplot"}) {
    if (!on_path(program)) missing.emplace_back(program);
  }
  const files::path folder = files::path(executable).parent_path();
  for (const char* program : {"fourfold-engine", "fourfold-replay"}) {
    if (access((folder / program).c_str(), X_OK) != 0) missing.emplace_back(program);
  }
  return missing;
}

json answer_of(const std::vector<std::string>& command) {
  const JobResult result = run_side_by_side({{command, ""}}).front();
  if (result.status != 0) {
    throw std::runtime_error(fmt::format("{} ends with status {}: {}", command.front(),
                                         result.status,
                                         result.complaint.substr(0, result.complaint.find('\n'))));
  }
  return parse_json(result.output.substr(std::min(result.output.find('{'), result.output.size())),
                    "the answer of " + command.front());
}

BlasFacts blas_facts(const std::string& executable) {
  const json now = answer_of({executable, "probe-blas"});
  BlasFacts facts;
  facts.libraries = now.at("libraries");
  facts.core = now.at("core");
  facts.gflops = now.at("openblas_gflops");
  facts.onednn_gflops = now.at("onednn_gflops");
  facts.better = better_core_type(facts.core, vector_unit());
  if (facts.better) {
    const json better =
        answer_of({"/usr/bin/env", "OPENBLAS_CORETYPE=" + *facts.better, executable, "probe-blas"});
    facts.better_gflops = better.at("openblas_gflops");
  }
  return facts;
}

// With the binding and the transports that mpirun has here by itself.
MpiFacts mpi_facts(const std::string& executable) {
  MpiFacts facts;
  std::vector<std::string> command{"mpirun", "-n", "2", "--oversubscribe"};
  if (geteuid() == 0) command.emplace_back("--allow-run-as-root");
  for (const char* word : {"--mca", "mpi_yield_when_idle", "1"}) command.emplace_back(word);
  if (!may_read_other_memory()) {
    for (const char* word : {"--mca", "btl_vader_single_copy_mechanism", "none"}) {
      command.emplace_back(word);
    }
  }
  command.push_back(executable);
  command.emplace_back("probe-ranks");
  try {
    const json answer = answer_of(command);
    facts.latency_us = answer.at("latency_us");
    facts.bandwidth_GBps = answer.at("bandwidth_GBps");
    facts.one_node = answer.at("one_node");
    facts.cores = answer.at("cores").get<std::vector<std::string>>();
  } catch (const std::exception& error) {
    facts.failure = error.what();
  }
  return facts;
}

// Gflop/s of a product that fits into a cache, the best of a few.
double speed_of(Library library) {
  constexpr std::int64_t n = 384;
  ProductRun run({GemmForm::nn, n, n, n}, {library, GemmForm::nn, Precision::fp32});
  const std::int64_t times = run.times_in(2e-3);
  const Sample seconds =
      take_turns({[&] { return run.seconds(times); }}, {.rounds = 10, .warm_ups = 1}).front();
  return run.flops() / summary(seconds).min * 1e-9;
}

}  // namespace

std::string own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return "?";
  std::string text;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &set)) continue;
    int last = core;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    if (!text.empty()) text.append(",");
    text.append(std::to_string(core));
    if (last > core) text.append("-").append(std::to_string(last));
    core = last;
  }
  return text;
}

Facts examine(const std::string& executable) {
  Facts facts;
  std::array<double, 1> load{};
  if (getloadavg(load.data(), 1) == 1) facts.load = load[0];  // before the rest adds to it
  facts.cores = std::max<std::int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
  facts.usable_cores = std::max(1U, std::thread::hardware_concurrency());
  facts.blas = blas_facts(executable);
  facts.mpi = mpi_facts(executable);
  if (const char* const transports = std::getenv("OMPI_MCA_btl"))
    facts.only_transports = transports;
  facts.may_read_other_memory = may_read_other_memory();
  facts.core_quota = core_quota();
  facts.governors = governors();
  facts.clock = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  facts.address_space = limit(RLIMIT_AS);
  facts.open_files = limit(RLIMIT_NOFILE);
  facts.processes = limit(RLIMIT_NPROC);
  facts.locked_memory = limit(RLIMIT_MEMLOCK);
  facts.shared_memory_bytes = free_bytes("/dev/shm");
  facts.memory_bytes = available_memory();
  facts.network_adapter = files::exists("/sys/class/infiniband");
  facts.missing_tools = missing_tools(executable);
  const TimingLibrary library = timing_library();
  facts.timing_library_debug = library.debug;
  facts.timing_turn_seconds = library.turn_seconds;
  return facts;
}

std::string blas_probe() {
  return json{{"libraries", blas_report()},
              {"core", openblas_core()},
              {"openblas_gflops", speed_of(Library::openblas)},
              {"onednn_gflops", speed_of(Library::onednn)}}
      .dump();
}

std::string rank_probe() {
  World world;
  PingPong small(8), large(4 << 20);
  Sample latency =
      take_turns({[&] { return small.seconds(); }}, {.rounds = 500, .warm_ups = 50})[0];
  Sample bulk = take_turns({[&] { return large.seconds(); }}, {.rounds = 20, .warm_ups = 2})[0];
  const std::int64_t on_this_node = world.ranks_on_this_node();
  std::array<char, 64> cores{};
  own_cores().copy(cores.data(), cores.size() - 1);
  std::vector<std::string> of_all;
  for (const auto& one : world.all(cores)) of_all.emplace_back(one.data());
  return json{{"latency_us", 1e6 * summary(latency).min},
              {"bandwidth_GBps", (4 << 20) / summary(bulk).min * 1e-9},
              {"one_node", on_this_node == world.size()},
              {"cores", of_all}}
      .dump();
}

}  // namespace fourfold::inline bench::inline doctor
