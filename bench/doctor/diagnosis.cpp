// One function a subject; see diagnosis.hpp.
#include "bench/doctor/diagnosis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "support/prose.hpp"

namespace fourfold::inline bench::inline doctor {

const char* name(Health verdict) {
  if (verdict == Health::fine) return "fine";
  return verdict == Health::note ? "note" : "wrong";
}

namespace {

constexpr double mebi = 1 << 20;

Symptom fine(const std::string& subject, const std::string& found) {
  return {subject, Health::fine, found, ""};
}

Symptom blas(const BlasFacts& facts) {
  const std::string subject = "BLAS kernels";
  const std::string speed = fmt::format("{}: {:.0f} Gflop/s a core, oneDNN's {:.0f}",
                                        facts.libraries, facts.gflops, facts.onednn_gflops);
  if (!facts.better) return fine(subject, speed);
  // Fourfold's own programs start anew with the right kernels; others have to be told.
  const std::string set_to = "OPENBLAS_CORETYPE=" + *facts.better;
  const std::string faster =
      facts.better_gflops > 0 ? fmt::format(", {:.0f} with {}", facts.better_gflops, set_to) : "";
  return {subject, Health::wrong,
          speed + faster + "; these kernels leave the processor's wider vectors idle",
          "export " + set_to + " (fourfold train sets it for itself, other programs do not)"};
}

Symptom mpirun(const MpiFacts& facts) {
  const std::string subject = "mpirun";
  if (facts.failure.empty()) return fine(subject, "starts two ranks");
  return {subject, Health::wrong, facts.failure,
          "install openmpi-bin; without it fourfold trains on one rank only"};
}

// Messages through shared memory take 0.2 to 2 us and 2 to 20 GB/s; through the loopback of TCP 10
// to 30 us and less than 2 GB/s (OSU's benchmarks under Open MPI 4.1 with either transport, here).
Symptom shared_memory_messages(const Facts& facts) {
  const std::string subject = "MPI in shared memory";
  if (!facts.mpi.failure.empty()) {
    return {subject, Health::note, "not looked at, for no ranks could be started", ""};
  }
  const std::string speed = fmt::format("8 bytes take {:.2g} us, 4 MiB go at {:.2g} GB/s",
                                        facts.mpi.latency_us, facts.mpi.bandwidth_GBps);
  if (facts.only_transports && ((facts.only_transports->starts_with("^") &&
                                 facts.only_transports->find("vader") != std::string::npos) ||
                                (!facts.only_transports->starts_with("^") &&
                                 facts.only_transports->find("vader") == std::string::npos &&
                                 facts.only_transports->find("sm") == std::string::npos))) {
    return {
        subject, Health::wrong,
        fmt::format("OMPI_MCA_btl={} leaves shared memory out: {}", *facts.only_transports, speed),
        "unset OMPI_MCA_btl"};
  }
  if (!facts.mpi.one_node) {
    return {subject, Health::wrong, "two ranks of this machine do not see each other's memory",
            "start both in one container, with one /dev/shm"};
  }
  if (facts.mpi.latency_us > 20.0 && facts.mpi.bandwidth_GBps < 2.0) {
    return {subject, Health::wrong, speed + ": as slow as through sockets",
            "check that /dev/shm is writable and that no OMPI_MCA_ variable or "
            "openmpi-mca-params.conf leaves out vader"};
  }
  return fine(subject, speed);
}

Symptom single_copy(const Facts& facts) {
  const std::string subject = "messages in one copy";
  if (facts.may_read_other_memory) return fine(subject, "ranks may read each other's memory");
  return {subject, Health::note,
          "ranks may not read each other's memory, so that messages are copied twice",
          "in a container: --cap-add=SYS_PTRACE; elsewhere: sysctl kernel.yama.ptrace_scope=0"};
}

Symptom binding(const MpiFacts& facts) {
  const std::string subject = "binding of ranks";
  if (!facts.failure.empty()) {
    return {subject, Health::note, "not looked at, for no ranks could be started", ""};
  }
  const bool alone = facts.cores.size() >= 2 && facts.cores[0] == facts.cores[1] &&
                     facts.cores[0].find_first_of(",-") == std::string::npos;
  const std::string cores =
      fmt::format("mpirun puts ranks on cores {}", fmt::join(facts.cores, " and "));
  if (!alone) return fine(subject, cores);
  return {subject, Health::wrong, cores + ": they share one",
          "give the job more than one core, or mpirun --bind-to none"};
}

Symptom cores(const Facts& facts) {
  const std::string subject = "cores";
  const std::string all = counted(facts.cores, "core");
  if (facts.core_quota && *facts.core_quota < static_cast<double>(facts.usable_cores)) {
    return {
        subject, Health::wrong,
        fmt::format("the control group allows {:.3g} of {} that are seen: ranks are stopped "
                    "for part of each period",
                    *facts.core_quota, all),
        fmt::format("raise the quota (docker: --cpus={}), or use {} at most", facts.usable_cores,
                    counted(std::max<std::int64_t>(1, static_cast<std::int64_t>(*facts.core_quota)),
                            "rank"))};
  }
  if (facts.usable_cores < facts.cores) {
    return {subject, Health::note,
            fmt::format("this shell may use {} of {}", facts.usable_cores, all),
            "start from a shell without taskset, or ask the queue for whole nodes"};
  }
  return fine(subject, all);
}

// The load counts this program, too.
Symptom load(const Facts& facts) {
  const std::string subject = "other work";
  const double others = std::max(0.0, facts.load - 1.0);
  const double share = others / static_cast<double>(facts.usable_cores);
  const std::string found =
      fmt::format("load {:.1f} on {}", facts.load, counted(facts.usable_cores, "core"));
  if (share < 0.25) return fine(subject, found);
  return {subject, share < 0.75 ? Health::note : Health::wrong,
          found + ": cores are shared, and what is measured will be slower",
          "wait until they are free, or stop what runs (`top` lists it)"};
}

Symptom governor(const Facts& facts) {
  const std::string subject = "clock rate";
  if (facts.governors.empty()) {
    return fine(subject, "no governor here (a virtual machine, or firmware decides)");
  }
  const std::string found = fmt::format("governor {}", fmt::join(facts.governors, ", "));
  const bool fast = facts.governors == std::vector<std::string>{"performance"};
  if (fast) return fine(subject, found);
  return {subject, Health::wrong, found + ": the first milliseconds of each kernel run slowly",
          "cpupower frequency-set --governor performance"};
}

Symptom clock_source(const Facts& facts) {
  const std::string subject = "timer";
  if (facts.clock != "hpet" && facts.clock != "acpi_pm") return fine(subject, facts.clock);
  return {subject, Health::note,
          facts.clock + ": a look at the clock takes a microsecond, short kernels look longer",
          "boot with tsc=reliable, if the processor's counter is"};
}

Symptom limits(const Facts& facts) {
  const std::string subject = "limits";
  constexpr std::int64_t least_files = 1024, least_processes = 512;
  if (facts.address_space && *facts.address_space < facts.memory_bytes) {
    return {subject, Health::wrong,
            fmt::format("a process may have {:.0f} MiB of address space",
                        static_cast<double>(*facts.address_space) / mebi),
            "ulimit -v unlimited"};
  }
  if (facts.open_files && *facts.open_files < least_files) {
    return {subject, Health::wrong, fmt::format("a process may open {} files", *facts.open_files),
            fmt::format("ulimit -n {}", least_files)};
  }
  if (facts.processes && *facts.processes < least_processes) {
    return {subject, Health::wrong,
            fmt::format("a user may have {} processes and threads", *facts.processes),
            "ulimit -u unlimited, or the container's --pids-limit"};
  }
  if (facts.network_adapter && facts.locked_memory) {
    return {subject, Health::wrong,
            fmt::format("there is an InfiniBand adapter, but a process may lock only {:.0f} MiB",
                        static_cast<double>(*facts.locked_memory) / mebi),
            "ulimit -l unlimited (in /etc/security/limits.conf: memlock)"};
  }
  return fine(subject, "address space, files, processes and locked memory suffice");
}

Symptom shared_memory(const Facts& facts) {
  const std::string subject = "/dev/shm";
  const std::int64_t needed = shared_memory_a_rank * facts.usable_cores;
  const std::string found =
      fmt::format("{:.0f} MiB free", static_cast<double>(facts.shared_memory_bytes) / mebi);
  if (facts.shared_memory_bytes >= needed) return fine(subject, found);
  const std::string enough = fmt::format("{:.0f} MiB", static_cast<double>(needed) / mebi);
  return {
      subject, Health::wrong, fmt::format("{}; a rank on every core needs up to {}", found, enough),
      fmt::format("in a container: --shm-size={}m; elsewhere: mount -o remount,size={}m /dev/shm",
                  needed >> 20, needed >> 20)};
}

Symptom memory(const Facts& facts) {
  const std::string subject = "memory";
  constexpr double least = 2048;  // MiB: gpt2-mini, its checkpoint and what measures it
  const double available = static_cast<double>(facts.memory_bytes) / mebi;
  const std::string found = fmt::format("{:.0f} MiB available", available);
  if (available >= least) return fine(subject, found);
  return {subject, Health::wrong, found + ", which gpt2-mini outgrows",
          "end what holds memory, or use a larger machine"};
}

Symptom tools(const Facts& facts) {
  const std::string subject = "programs";
  if (facts.missing_tools.empty()) return fine(subject, "all are there");
  const bool only_plots = facts.missing_tools == std::vector<std::string>{"gnuplot"};
  return {subject, only_plots ? Health::note : Health::wrong,
          fmt::format("missing: {}", fmt::join(facts.missing_tools, ", ")),
          "./run.sh installs what packages.txt lists and builds the rest"};
}

Symptom timing(const Facts& facts) {
  const std::string subject = "timing library";
  if (!facts.timing_library_debug) return fine(subject, "Google Benchmark, an optimised build");
  return {subject, Health::note,
          fmt::format("Google Benchmark was built for debugging (as Debian's is); a turn of its "
                      "loop takes {:.2g} us, which is in no sample: it does not matter",
                      1e6 * facts.timing_turn_seconds),
          ""};
}

}  // namespace

std::vector<Symptom> diagnosis(const Facts& facts) {
  return {blas(facts.blas),   mpirun(facts.mpi),    shared_memory_messages(facts),
          single_copy(facts), binding(facts.mpi),   cores(facts),
          load(facts),        governor(facts),      clock_source(facts),
          limits(facts),      shared_memory(facts), memory(facts),
          tools(facts),       timing(facts)};
}

}  // namespace fourfold::inline bench::inline doctor
