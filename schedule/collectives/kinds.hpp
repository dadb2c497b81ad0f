// Collectives as rows of one table: what members bring and get, how their bytes are counted, and
// which algorithms do them. Whoever treats kinds differently asks the row.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace fourfold::inline schedule::inline collectives {

// A send joins two members: the first one's buffer goes to the second.
enum class CollectiveKind : std::uint8_t { all_gather, reduce_scatter, all_reduce, send };
// ring                member i sends to i + 1, one chunk a round.
// tree                two halves of the buffer over two complementary binary trees of nodes.
// recursive           pairs at doubling or halving distance exchange ever more or fewer chunks.
// recursive_doubling  pairs at doubling distance exchange and add their whole buffers.
// hierarchical        rings inside every node, and across nodes among members of equal place.
enum class CollectiveAlgorithm : std::uint8_t {
  ring,
  tree,
  recursive,
  recursive_doubling,
  hierarchical
};
inline constexpr int algorithm_count = 5;

class AlgorithmSet {
 public:
  constexpr AlgorithmSet(std::initializer_list<CollectiveAlgorithm> algorithms) {
    for (CollectiveAlgorithm algorithm : algorithms) bits_ |= 1U << static_cast<int>(algorithm);
  }
  constexpr bool contains(CollectiveAlgorithm algorithm) const {
    return (bits_ >> static_cast<int>(algorithm) & 1U) != 0;
  }

 private:
  unsigned bits_ = 0;
};

// What a member has of the whole buffer, before or after.
enum class Portion : std::uint8_t { part, whole };

struct KindRow {
  CollectiveKind kind;
  const char* name;  // "all-gather", as people type it
  const char* word;  // "all_gather", as nccl-tests and programs write it
  Portion brings, gets;
  // Goes around: sums every part at its member, and brings every part to all.
  bool reduces, spreads;
  // Its members send all of the buffer; else all but their own part, once a pass.
  bool sends_whole;
  std::int64_t most_members;  // 0: any number
  AlgorithmSet algorithms;

  constexpr bool goes_around() const { return reduces || spreads; }
  constexpr int passes() const { return reduces && spreads ? 2 : 1; }
};

namespace rows {
using enum CollectiveAlgorithm;
inline constexpr auto part = Portion::part, whole = Portion::whole;
inline constexpr AlgorithmSet around{ring, recursive, hierarchical};
inline constexpr AlgorithmSet all{ring, tree, recursive, recursive_doubling, hierarchical};

inline constexpr std::array table{
    KindRow{CollectiveKind::all_gather, "all-gather", "all_gather", part, whole, false, true, false,
            0, around},
    KindRow{CollectiveKind::reduce_scatter, "reduce-scatter", "reduce_scatter", whole, part, true,
            false, false, 0, around},
    KindRow{CollectiveKind::all_reduce, "all-reduce", "all_reduce", whole, whole, true, true, false,
            0, all},
    KindRow{CollectiveKind::send, "send", "send", whole, whole, false, false, true, 2, {ring}},
};
}  // namespace rows

inline constexpr std::span<const KindRow> collective_rows{rows::table};
// Those that go around, which libraries are measured by and tuned for.
inline constexpr std::span<const KindRow> around_rows = collective_rows.first(3);

constexpr const KindRow& row_of(CollectiveKind kind) {
  return rows::table[static_cast<std::size_t>(kind)];
}
constexpr const char* name(CollectiveKind kind) {
  return row_of(kind).name;
}
const char* name(CollectiveAlgorithm algorithm);
// Of these rows the one that is called so.
std::optional<CollectiveKind> kind_named(const std::string& name, std::span<const KindRow> among);
// "an all-gather".
std::string with_article(const std::string& name);

// Elements of a member's operand, of a whole that is cut into parts for all members.
constexpr std::int64_t elements_of(Portion portion, std::int64_t whole, std::int64_t members) {
  return portion == Portion::whole ? whole : (whole + members - 1) / members;
}

// Of its buffer, the part that a member sends: of a ring each of them, else the busiest. What a bus
// bandwidth counts.
constexpr double part_sent(CollectiveKind kind, std::int64_t members) {
  if (row_of(kind).sends_whole) return 1;
  const auto n = static_cast<double>(members);
  return row_of(kind).passes() * (n - 1) / n;
}
// The part of the members that sends as much: of what is handed on whole all but one.
constexpr double senders(CollectiveKind kind, std::int64_t members) {
  const auto n = static_cast<double>(members);
  return row_of(kind).sends_whole ? (n - 1) / n : 1.0;
}

}  // namespace fourfold::inline schedule::inline collectives
