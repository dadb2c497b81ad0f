// Which collectives a product can go beside; see pieces.hpp.
#include "schedule/fold/pieces.hpp"

namespace fourfold::inline schedule::inline fold {

bool PieceOrder::awaited(std::size_t start, CollectiveKind kind) const {
  if (start + 1 >= steps_.size() || steps_[start].kind != IssueKind::start) return false;
  const FoldedStep& wait = steps_[start + 1];
  const bool at_once =
      wait.kind == IssueKind::wait && wait.channel == steps_[start].channel && wait.back == 0;
  const Channel& channel = folded_.channels[static_cast<std::size_t>(steps_[start].channel)];
  const auto number = static_cast<std::size_t>(steps_[start].index);
  return at_once && channel.group == Group::line && channel.axis == Axis::x &&
         folded_.collectives[number].kind == kind;
}

std::size_t PieceOrder::product_after_gather(std::size_t start) const {
  if (!awaited(start, CollectiveKind::all_gather)) return start;
  std::size_t next = start + 2;
  while (next < steps_.size() && steps_[next].kind == IssueKind::start) ++next;
  const bool product = next < steps_.size() && steps_[next].kind == IssueKind::compute &&
                       is_product(bundle(next).front());
  return product ? next : start;
}

bool PieceOrder::drains(std::size_t compute) const {
  return is_product(bundle(compute).back()) && awaited(compute + 1, CollectiveKind::reduce_scatter);
}

}  // namespace fourfold::inline schedule::inline fold
