// What stages of the referee hand to each other: blocks of all ranks of a stage, by channel and in
// the order of their posts. A message or a sum is there when the last member has posted its part.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "engine/reference/packs.hpp"
#include "schedule/program/program.hpp"

namespace fourfold::inline engine::inline reference {

template <typename T>
class Mailboxes {
 public:
  explicit Mailboxes(std::int64_t stages) : stages_(stages) {}

  // The k-th post of `stage` on a channel: what it gives, of which a receive gives nothing.
  struct Post {
    Channel channel;
    std::int64_t stage = 0;
    std::int32_t number = 0;
  };
  // `wire`: bf16 where every hop of a sum receives one rounded to it.
  void give(const Post& post, const Op& op, Blocks<T> blocks, Owed owed, Precision wire);
  bool complete(const Post& post) const;
  // What `stage` gets. Throws std::logic_error if members posted unlike operations.
  Blocks<T> result(const Post& post, const Op& op) const;
  void clear() { meetings_.clear(); }

 private:
  using Key = std::tuple<std::string, std::int64_t, std::int32_t>;  // channel, first stage, number
  struct Mailbox {
    std::map<std::int64_t, Blocks<T>> given;  // by stage
    OpKind kind = OpKind::send;
    Owed owed = Owed::sum;
    Precision wire = Precision::fp32;
  };
  std::vector<std::int64_t> members(const Post& post) const {
    return group(post.channel, stages_, post.stage);
  }
  Key key(const Post& post) const;

  std::int64_t stages_;
  std::map<Key, Mailbox> meetings_;
};

}  // namespace fourfold::inline engine::inline reference
