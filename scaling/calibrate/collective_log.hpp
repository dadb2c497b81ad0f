// What collectives and links took on somebody's machine, read from what nccl-tests, rccl-tests, the
// OSU micro-benchmarks, IMB-MPI1 and nvbandwidth print, as text or as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scaling/calibrate/log_ranks.hpp"
#include "schedule/collectives/collective.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline scaling::inline calibrate {

// One size of one collective in one group. Where `at_once` is 1 it has its nodes to itself.
struct CollectiveSample {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t nodes = 1, in_each = 1;  // members in each node
  Bytes buffer;                         // as nccl-tests count it
  Seconds time;
  std::int64_t at_once = 1;  // groups like it in its nodes
};

// What one link carried, by nvbandwidth ("host to device", "device to device") or from rank to rank
// ("rank to rank", by so many pairs at once, all together).
struct LinkSample {
  std::string what;
  BytesPerSecond rate;
  std::int64_t pairs = 1;
};

// A title, a list of ranks or a line of columns begins a run, which has a kind, ranks and an end of
// its own.
struct LogRun {
  std::string title;      // "all_reduce_perf", "OSU MPI Allreduce", "IMB-MPI1 Allreduce"
  std::int64_t line = 0;  // at which it begins
  std::vector<CollectiveSample> samples;
  std::vector<LinkSample> links;
  std::vector<std::string> doubts;  // sentences, each with file and line
  std::string left_out;             // why it has neither samples nor links
  bool placed_by_user = false;      // it does not say where its ranks were
};

// Throws std::runtime_error with one sentence that names file and line: no such log, none of its
// runs of a collective or link of a training step, cut off, damaged, with wrong results, or with
// ranks spread unevenly.
std::vector<LogRun> read_collective_log(const std::string& path, const LogRanks& ranks);

std::vector<CollectiveSample> samples_of(const std::vector<LogRun>& runs);

}  // namespace fourfold::inline scaling::inline calibrate
