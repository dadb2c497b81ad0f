// Counts of a collective by walking every transfer; see collective.hpp.
#include <algorithm>

#include "schedule/collective.hpp"

namespace fourfold {
namespace {

struct Hops {
  std::int64_t across = 0;
  std::int64_t in_node = 0;

  std::int64_t total() const { return across + in_node; }
};

// Longer chains first; of equally long ones, the one that crosses less.
bool exceeds(Hops a, Hops b) {
  return a.total() != b.total() ? a.total() > b.total() : a.across < b.across;
}

Hops longest_chain(const Pass& pass, GroupShape shape, std::int32_t chunks) {
  std::vector<Hops> reached(static_cast<std::size_t>(shape.members * chunks));
  Hops longest;
  for (const Round& round : pass) {
    const std::vector<Hops> before = reached;
    for (const Transfer& transfer : round) {
      Hops hops = before[static_cast<std::size_t>(transfer.from) * chunks + transfer.chunk];
      ++(node_of(shape, transfer.from) == node_of(shape, transfer.to) ? hops.in_node : hops.across);
      Hops& at = reached[static_cast<std::size_t>(transfer.to) * chunks + transfer.chunk];
      if (exceeds(hops, at)) at = hops;
      if (exceeds(hops, longest)) longest = hops;
    }
  }
  return longest;
}

}  // namespace

CollectiveCounts fold(const CollectiveProgram& program) {
  CollectiveCounts result;
  result.chunks = program.chunks;
  std::vector<std::int64_t> by_node(static_cast<std::size_t>(program.shape.nodes), 0);
  std::vector<std::int64_t> by_member(static_cast<std::size_t>(program.shape.members), 0);
  std::vector<std::int64_t> across_by_member = by_member;
  for (const Pass& pass : program.passes) {
    const Hops hops = longest_chain(pass, program.shape, program.chunks);
    result.hops_across += hops.across;
    result.hops_in_node += hops.in_node;
    for (const Round& round : pass) {
      for (const Transfer& transfer : round) {
        const std::int64_t from = node_of(program.shape, transfer.from);
        ++by_member[transfer.from];
        if (from == node_of(program.shape, transfer.to)) {
          ++result.transfers_in_node;
        } else {
          ++result.transfers_across;
          ++by_node[from];
          ++across_by_member[transfer.from];
        }
      }
    }
  }
  result.sent_by_node = *std::max_element(by_node.begin(), by_node.end());
  result.sent_by_member = *std::max_element(by_member.begin(), by_member.end());
  result.sent_across_by_member =
      *std::max_element(across_by_member.begin(), across_by_member.end());
  return result;
}

}  // namespace fourfold
