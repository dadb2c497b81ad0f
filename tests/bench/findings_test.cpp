// What the doctor finds at each edge of each fact, word for word in a golden text.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/doctor/diagnosis.hpp"
#include "tests/bench/healthy.hpp"
#include "tests/golden.hpp"

namespace fourfold::tests {
namespace {

using Change = std::function<void(Facts&)>;

std::string text_of(const Symptom& finding) {
  return fmt::format("  {} {}: {}{}\n", name(finding.verdict), finding.subject, finding.found,
                     finding.cure.empty() ? "" : " | " + finding.cure);
}

// What a healthy machine does not hear.
std::string heard(const Change& change) {
  Facts facts = healthy();
  change(facts);
  const std::vector<Symptom> usual = diagnosis(healthy()), now = diagnosis(facts);
  std::string text;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (text_of(now[i]) != text_of(usual[i])) text += text_of(now[i]);
  }
  return text.empty() ? ": nothing else\n" : '\n' + text;
}

TEST(Findings, AreTheGoldenOnesAtEachEdge) {
  std::vector<std::pair<std::string, Change>> changes;
  const auto add = [&](const std::string& words, const Change& change) {
    changes.emplace_back(words, change);
  };
  add("better kernels, timed", [](Facts& f) {
    f.blas.better = "HASWELL";
    f.blas.better_gflops = 171;
  });
  add("better kernels, not timed", [](Facts& f) { f.blas.better = "HASWELL"; });
  add("no ranks", [](Facts& f) { f.mpi.failure = "cannot start mpirun"; });
  for (const char* transports :
       {"tcp,self", "vader", "sm", "self,sm,tcp", "^vader", "^sm", "^tcp,vader", "^tcp"}) {
    add(std::string("transports ") + transports, [=](Facts& f) { f.only_transports = transports; });
  }
  add("two nodes", [](Facts& f) { f.mpi.one_node = false; });
  for (const double latency : {20.0, 20.5}) {
    for (const double bandwidth : {1.5, 2.0}) {
      add(fmt::format("{} us, {} GB/s", latency, bandwidth), [=](Facts& f) {
        f.mpi.latency_us = latency;
        f.mpi.bandwidth_GBps = bandwidth;
      });
    }
  }
  add("no reading of others", [](Facts& f) { f.may_read_other_memory = false; });
  const std::vector<std::vector<std::string>> bindings{
      {}, {"3"}, {"3", "3"}, {"0-1", "0-1"}, {"0,2", "0,2"}, {"1", "2"}, {"3", "3", "4"}};
  for (const auto& cores : bindings) {
    add(fmt::format("ranks on {}", fmt::join(cores, " and ")),
        [=](Facts& f) { f.mpi.cores = cores; });
  }
  for (const double quota : {0.5, 3.75, 7.9, 8.0, 9.0}) {
    add(fmt::format("a quota of {}", quota), [=](Facts& f) { f.core_quota = quota; });
  }
  add("a quota above those that may be used", [](Facts& f) {
    f.core_quota = 5.0;
    f.usable_cores = 4;
  });
  add("a quota between those that may be used and all", [](Facts& f) {
    f.core_quota = 3.0;
    f.usable_cores = 4;
  });
  add("some cores", [](Facts& f) { f.usable_cores = 3; });
  add("one core", [](Facts& f) { f.cores = f.usable_cores = 1; });
  for (const double load : {0.0, 1.0, 2.9, 3.0, 6.9, 7.0, 12.0}) {
    add(fmt::format("a load of {}", load), [=](Facts& f) { f.load = load; });
  }
  add("a load on few usable cores", [](Facts& f) {
    f.load = 3.0;
    f.usable_cores = 2;
  });
  const std::vector<std::vector<std::string>> governors{
      {}, {"powersave"}, {"performance", "powersave"}};
  for (const auto& several : governors) {
    add(fmt::format("governors {}", fmt::join(several, ", ")),
        [=](Facts& f) { f.governors = several; });
  }
  for (const char* clock : {"hpet", "acpi_pm", "kvm-clock"}) {
    add(std::string("clock ") + clock, [=](Facts& f) { f.clock = clock; });
  }
  for (const std::int64_t size : {32'767, 32'768}) {
    add(fmt::format("an address space of {} MiB", size),
        [=](Facts& f) { f.address_space = size * mebi; });
  }
  for (const std::int64_t files : {1023, 1024}) {
    add(fmt::format("{} files", files), [=](Facts& f) { f.open_files = files; });
  }
  add("files without a limit", [](Facts& f) { f.open_files.reset(); });
  for (const std::int64_t processes : {511, 512}) {
    add(fmt::format("{} processes", processes), [=](Facts& f) { f.processes = processes; });
  }
  add("locked memory", [](Facts& f) { f.locked_memory = 8 * mebi; });
  add("an adapter", [](Facts& f) { f.network_adapter = true; });
  add("locked memory and an adapter", [](Facts& f) {
    f.locked_memory = 8 * mebi;
    f.network_adapter = true;
  });
  add("all limits at once", [](Facts& f) { f.address_space = f.open_files = f.processes = 1; });
  for (const std::int64_t size : {1, 64, 127, 128, 511, 512, 513}) {
    add(fmt::format("{} MiB of shared memory", size),
        [=](Facts& f) { f.shared_memory_bytes = size * mebi; });
  }
  add("512 MiB of shared memory for 3 cores", [](Facts& f) {
    f.shared_memory_bytes = 512 * mebi;
    f.usable_cores = 3;
  });
  add("150 MiB of shared memory for 16 cores, 2 of them usable", [](Facts& f) {
    f.shared_memory_bytes = 150 * mebi;
    f.cores = 16;
    f.usable_cores = 2;
  });
  for (const std::int64_t size : {2047, 2048}) {
    add(fmt::format("{} MiB of memory", size), [=](Facts& f) { f.memory_bytes = size * mebi; });
  }
  const std::vector<std::vector<std::string>> missing{
      {"gnuplot"}, {"mpirun"}, {"mpirun", "gnuplot"}};
  for (const auto& tools : missing) {
    add(fmt::format("without {}", fmt::join(tools, ", ")),
        [=](Facts& f) { f.missing_tools = tools; });
  }
  add("a debug build of the timing library", [](Facts& f) {
    f.timing_library_debug = true;
    f.timing_turn_seconds = 3.5e-7;
  });
  std::string text = "healthy\n";
  for (const Symptom& finding : diagnosis(healthy())) text += text_of(finding);
  for (const auto& [words, change] : changes) text += words + heard(change);
  expect_golden("findings.txt", text);
}

// The load is a part of the cores that may be used, and one process of it is the doctor's own.
TEST(Findings, OfOtherWorkGoByTheCoresThatMayBeUsed) {
  for (std::int64_t cores = 1; cores <= 16; ++cores) {
    for (int quarters = 0; quarters <= 5; ++quarters) {
      Facts facts = healthy();
      facts.cores = 16;
      facts.usable_cores = cores;
      facts.load = 1.0 + 0.25 * quarters * static_cast<double>(cores);
      const Health expected = quarters < 1   ? Health::fine
                              : quarters < 3 ? Health::note
                                             : Health::wrong;
      for (const Symptom& finding : diagnosis(facts)) {
        if (finding.subject == "other work") {
          EXPECT_EQ(finding.verdict, expected) << facts.load << " on " << cores;
        }
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
