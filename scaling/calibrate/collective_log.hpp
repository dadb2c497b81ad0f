// What collectives took on somebody's machine, read from what nccl-tests, rccl-tests and the OSU
// micro-benchmarks print.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/collectives/collective.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline scaling::inline calibrate {

// One size of one collective in one group that has its nodes to itself.
struct CollectiveSample {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t nodes = 1, in_each = 1;  // members in each node
  Bytes buffer;                         // as nccl-tests count it
  Seconds time;
};

// Where a log does not say where its ranks were: OSU's never do.
struct LogRanks {
  std::int64_t nodes = 0, in_each = 0;  // 0: not known
};

// Throws std::runtime_error with one sentence that names file and line: not such a log, a log of
// another collective, cut off, damaged, with wrong results, or with ranks spread unevenly.
std::vector<CollectiveSample> read_collective_log(const std::string& path, const LogRanks& ranks);

}  // namespace fourfold::inline scaling::inline calibrate
