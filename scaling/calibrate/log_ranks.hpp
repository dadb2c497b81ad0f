// Who took part in a run: the lines of its ranks, checked, and what they say about its groups.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fourfold::inline scaling::inline calibrate {

// Where a log does not say where its ranks were: those of MPI benchmarks never do.
struct LogRanks {
  std::int64_t nodes = 0, in_each = 0;  // 0: not known
};

// A group that does a collective: members in each of its nodes, and how many like it are in them
// at once.
struct LogGroup {
  std::int64_t nodes = 1, in_each = 1, at_once = 1;
  std::int64_t members() const { return nodes * in_each; }
};

// "#  Rank  3 Group  0 Pid   1887 on   worker-1 device  3 [0x8d] NVIDIA H100"
struct RankLine {
  std::int64_t line = 0, rank = 0, group = 0;
  std::string host, device;  // the device with its address on the bus, where the log has it
};

// The rank that a line of a log is about, if it is: `line` is its number.
bool read_rank_line(const std::string& text, std::int64_t line, std::vector<RankLine>& ranks);

// All groups of a run, which are alike. Throws std::runtime_error with a sentence that begins with
// `path`: ranks that are missing or there twice, a device twice (two hosts of one name look like
// that), nodes or groups that differ.
LogGroup group_of(const std::vector<RankLine>& ranks, const std::string& path);

}  // namespace fourfold::inline scaling::inline calibrate
