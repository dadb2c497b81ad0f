// Puts together what stages gave; see mailboxes.hpp.
#include "engine/reference/mailboxes.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/reference/lockstep_collectives.hpp"

namespace fourfold::inline engine::inline reference {

template <typename T>
typename Mailboxes<T>::Key Mailboxes<T>::key(const Post& post) const {
  return {name(post.channel), std::ranges::min(members(post)), post.number};
}

template <typename T>
void Mailboxes<T>::give(const Post& post, const Op& op, Blocks<T> blocks, Owed owed,
                        Precision wire) {
  Mailbox& meeting = meetings_[key(post)];
  if (is_collective(op.kind)) meeting.kind = op.kind;
  meeting.owed = owed;
  meeting.wire = wire;
  if (!meeting.given.emplace(post.stage, std::move(blocks)).second) {
    throw std::logic_error("lockstep: stage " + std::to_string(post.stage) +
                           " posts twice where one post is due");
  }
}

template <typename T>
bool Mailboxes<T>::complete(const Post& post) const {
  const auto found = meetings_.find(key(post));
  return found != meetings_.end() && found->second.given.size() == members(post).size();
}

template <typename T>
Blocks<T> Mailboxes<T>::result(const Post& post, const Op& op) const {
  const Mailbox& meeting = meetings_.at(key(post));
  const std::vector<std::int64_t> stages = members(post);
  if (op.kind == OpKind::send) return {};
  if (op.kind == OpKind::receive) {
    const Blocks<T>& sent = meeting.given.at(stages.front());
    if (sent.empty()) throw std::logic_error("lockstep: both stages of a message receive it");
    return sent;
  }
  Blocks<T> result = meeting.given.at(post.stage);
  const ProcessGrid line(static_cast<std::int64_t>(stages.size()), 1, 1, 1);
  for (std::size_t rank = 0; rank < result.size(); ++rank) {
    Blocks<T> parts;
    for (std::int64_t stage : stages) parts.push_back(meeting.given.at(stage)[rank]);
    Blocks<T> sums = parts;
    LineCollective<T>{&line, Axis::x, &parts, &sums, meeting.wire}.all_reduce(meeting.owed);
    result[rank] = std::move(sums.front());
  }
  return result;
}

template class Mailboxes<float>;
template class Mailboxes<double>;

}  // namespace fourfold::inline engine::inline reference
