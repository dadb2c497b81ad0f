// What collectives of one group cost by size and algorithm, for people: the table behind
// `fourfold collectives`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "sim/cost/protocol.hpp"

namespace fourfold::inline scaling::inline text {

// One collective by one algorithm, or why the group cannot do it.
struct CollectiveCell {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  std::string refusal;
  CollectiveChoice choice;
  BytesPerSecond bus_bandwidth;  // as nccl-tests define it: part_sent() of the buffer / t
  // Whether it is what the library would choose.
  bool automatic = false;
};

struct CollectiveRow {
  CollectiveKind kind = CollectiveKind::all_gather;
  Bytes buffer;
  BytesPerSecond link_rate;           // that links give the busiest member
  std::vector<CollectiveCell> cells;  // ring, tree, recursive, hierarchical; or what moves by
};

struct CollectiveTable {
  std::string platform;
  std::string library;
  GroupShape shape;
  BytesPerSecond link_rate;         // of rings
  std::vector<CollectiveRow> rows;  // by kind, then by size
};

// `devices` members, `stride` apart on packed nodes, while the stride - 1 groups between them do
// the same. `parts`: how much all send to each member in an all-to-all of unequal parts, of any
// unit; none: without it. Throws std::runtime_error with a sentence if there are fewer than two
// members or more devices than the machine has, std::invalid_argument as skew() does.
CollectiveTable collective_table(const Platform& platform, std::int64_t devices,
                                 std::int64_t stride, const std::vector<double>& parts = {});

std::string collective_text(const CollectiveTable& table);
std::string collective_json(const CollectiveTable& table);  // one line

}  // namespace fourfold::inline scaling::inline text
