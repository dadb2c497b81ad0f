// Collectives as rows of one table: what members bring and get, how their bytes are counted, and
// which algorithms do them. Whoever treats kinds differently asks the row.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace fourfold::inline schedule::inline collectives {

enum class CollectiveKind : std::uint8_t {
  all_gather,
  reduce_scatter,
  all_reduce,
  send,                // joins two members: the first one's buffer goes to the second
  all_to_all,          // part j of every member goes to member j
  all_to_all_v,        // the same with parts of unequal sizes
  broadcast,           // the first member's buffer goes to all
  neighbour_exchange,  // half of a buffer goes to the member before, half to the one after
};
// ring                member i sends to i + 1, one chunk a round.
// tree                two halves of the buffer over two complementary binary trees of nodes.
// recursive           pairs at doubling or halving distance exchange ever more or fewer chunks; a
//                     broadcast reaches twice as many members a round.
// recursive_doubling  pairs at doubling distance exchange and add their whole buffers.
// hierarchical        rings inside every node, and across nodes among members of equal place; of an
//                     all-to-all exchanges there.
// pairwise            member i sends to i + r what is for that one, in round r; neighbours at once.
enum class CollectiveAlgorithm : std::uint8_t {
  ring,
  tree,
  recursive,
  recursive_doubling,
  hierarchical,
  pairwise
};
inline constexpr int algorithm_count = 6;

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

// What a member has of the whole buffer, before or after: a part of its own, all of it, a part for
// (or from) each member, or one for (or from) each neighbour.
enum class Portion : std::uint8_t { part, whole, part_for_each, edges };

// Who sends to whom.
enum class Motion : std::uint8_t {
  around,   // to the next one, what it adds to or passes on: sums to their part's member, or parts
            // to all
  one_way,  // the first to the second
  pairs,    // each to each
  onward,   // the first to all, by way of others
  neighbours  // each to the one before and the one after; the ends have one neighbour
};

// Whether it loads links pair by pair; else as a ring does, or a message.
constexpr bool goes_by_pairs(Motion motion) {
  return motion == Motion::pairs || motion == Motion::neighbours;
}

struct KindRow {
  CollectiveKind kind;
  const char* name;   // "all-gather", as people type it
  const char* word;   // "all_gather", as nccl-tests and programs write it
  const char* title;  // in a sentence
  Portion brings, gets;
  Motion motion;
  AlgorithmSet algorithms;

  constexpr bool goes_around() const { return motion == Motion::around; }
  constexpr bool reduces() const { return goes_around() && brings == Portion::whole; }
  constexpr bool spreads() const { return goes_around() && gets == Portion::whole; }
  constexpr int passes() const { return reduces() && spreads() ? 2 : 1; }
  // Some member sends all of its buffer; else all but their own part, once a pass.
  constexpr bool sends_whole() const { return !goes_around() && motion != Motion::pairs; }
};

namespace rows {
using enum CollectiveAlgorithm;
using enum Portion;
inline constexpr AlgorithmSet circles{ring, recursive, hierarchical};
inline constexpr AlgorithmSet sums{ring, tree, recursive, recursive_doubling, hierarchical};

inline constexpr std::array table{
    KindRow{CollectiveKind::all_gather, "all-gather", "all_gather", "all-gather", part, whole,
            Motion::around, circles},
    KindRow{CollectiveKind::reduce_scatter, "reduce-scatter", "reduce_scatter", "reduce-scatter",
            whole, part, Motion::around, circles},
    KindRow{CollectiveKind::all_reduce, "all-reduce", "all_reduce", "all-reduce", whole, whole,
            Motion::around, sums},
    KindRow{CollectiveKind::send, "send", "send", "message", whole, whole, Motion::one_way, {ring}},
    KindRow{CollectiveKind::all_to_all,
            "all-to-all",
            "all_to_all",
            "all-to-all",
            part_for_each,
            part_for_each,
            Motion::pairs,
            {pairwise, hierarchical}},
    KindRow{CollectiveKind::all_to_all_v,
            "all-to-all-v",
            "all_to_all_v",
            "all-to-all of unequal parts",
            part_for_each,
            part_for_each,
            Motion::pairs,
            {pairwise}},
    KindRow{CollectiveKind::broadcast,
            "broadcast",
            "broadcast",
            "broadcast",
            whole,
            whole,
            Motion::onward,
            {ring, recursive}},
    KindRow{CollectiveKind::neighbour_exchange,
            "neighbour-exchange",
            "neighbour_exchange",
            "exchange with neighbours",
            edges,
            edges,
            Motion::neighbours,
            {pairwise}},
};
// A kind's number is its place, and those that go around come first.
static_assert([] {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].kind != static_cast<CollectiveKind>(i)) return false;
  }
  return true;
}());
static_assert(std::ranges::is_partitioned(table, &KindRow::goes_around));
}  // namespace rows

inline constexpr std::span<const KindRow> collective_rows{rows::table};
// Those that go around, which libraries are measured by and tuned for.
inline constexpr std::span<const KindRow> around_rows = collective_rows.first(
    static_cast<std::size_t>(std::ranges::count_if(rows::table, &KindRow::goes_around)));

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
  return portion == Portion::part ? (whole + members - 1) / members : whole;
}

// Of its buffer, the part that the busiest member sends: what a bus bandwidth counts.
constexpr double part_sent(CollectiveKind kind, std::int64_t members) {
  const bool ends_only = row_of(kind).motion == Motion::neighbours && members == 2;
  if (ends_only) return 0.5;
  if (row_of(kind).sends_whole()) return 1;
  const auto n = static_cast<double>(members);
  return row_of(kind).passes() * (n - 1) / n;
}
// The part of the members that sends as much: of what is handed on all but one. Of neighbours the
// two ends send half.
constexpr double senders(CollectiveKind kind, std::int64_t members) {
  const auto n = static_cast<double>(members);
  return row_of(kind).sends_whole() ? (n - 1) / n / part_sent(kind, members) : 1.0;
}

}  // namespace fourfold::inline schedule::inline collectives
