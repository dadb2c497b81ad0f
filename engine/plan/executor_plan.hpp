// All that a rank does in one step, with every address known: the stream of a schedule bound to the
// weights and to an arena, once, so that a step is a walk over a list.
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "engine/backend.hpp"
#include "engine/caches.hpp"
#include "engine/communicator.hpp"
#include "engine/plan/arena.hpp"
#include "engine/weights.hpp"
#include "schedule/order/issue.hpp"
#include "schedule/program/channel.hpp"

namespace fourfold::inline engine::inline plan::work {

enum class Words : std::uint8_t { none, tokens, targets };

struct KernelItem {
  std::int32_t op = 0;
  KernelOperands operands;  // the words are filled in by each step
  Words words = Words::none;
  std::size_t first_word = 0, word_count = 0;  // within this rank's words of the step
};

struct Update {
  struct Shard {
    UpdateOperands operands;  // the factor is filled in by each step
    bool decays = true;
    bool master_on_host = false;
  };
  std::int32_t op = 0;
  Tensor factor;
  std::vector<Shard> shards;
  Tensor bucket;  // no memory where the optimizer's state is on the device
};

// From where, and to where.
using Copies = std::vector<std::pair<Tensor, Tensor>>;

// Members of a pack that could not be born in their place, with that place; a piece of a whole.
struct Copy {
  std::int32_t op = 0;
  Copies members;
};

// What nobody may send to.
struct Clear {
  std::int32_t op = 0;
  Tensor at;
};

// A value's way to the memory of the device's host, or back.
struct HostCopy {
  std::int32_t op = 0;
  Tensor from, to;
  bool to_host = false;
};

// Of an exchange of marked blocks: from which matrix, by way of which room, and into which matrix.
// How many go to whom is known when the marks are read.
struct MarkedExchange {
  Tensor from, marks, sent_room;
  Tensor to, arriving, received_room;
  std::int64_t members = 1;
  bool from_rows = false;  // the parts that are sent are rows, and those that come columns
};

// Of collectives and messages. Those along an axis of extent 1 are not on the list: their operand
// is their result. A collective of several values is a call for each.
struct StartItem {
  std::int32_t op = 0;
  ChannelNumber channel = 0;
  std::vector<CollectiveCall> calls;
  std::size_t number = 0;  // of the step's collectives
  Copies packed = {};      // before it
  std::optional<MarkedExchange> marked = {};
};
struct Finish {
  ChannelNumber channel = 0;
  std::size_t number = 0;
  Copies unpacked = {};  // behind it
  std::optional<MarkedExchange> marked = {};
};

// Which turn of the ready-queue comes next: the first member writes the number of its part, the
// others nothing, and what follows adds the words up.
struct Choose {
  std::int32_t op = 0;
  Tensor word;
  bool says = false;  // this rank is the first
};

struct ReadLoss {
  Tensor sum;  // over the step's tokens
};
struct ReadNorm {
  std::vector<Tensor> squares;  // their sum is that of the whole gradient
};

using Item = std::variant<KernelItem, Update, Copy, Clear, HostCopy, StartItem, Finish, Choose,
                          ReadLoss, ReadNorm>;

// Where the buffers of a plan lie.
struct Addresses {
  std::vector<std::byte*> buffers, on_host;
  Caches* caches = nullptr;  // of a program that has them
};

// What is done from one choice to the next.
struct ItemStretch {
  std::size_t first = 0, last = 0;  // items
  ChannelNumber channel = -1;       // of the message that it begins with; -1: it waits for none
  std::size_t message = 0;          // that message's number among the step's collectives
};

struct ExecutorPlan {
  std::vector<Item> items;
  // Without a ready-queue all is `before`.
  ItemStretch before, behind;
  std::vector<ItemStretch> forwards, backwards;  // turns of the queue, by micro-batch
  std::size_t collectives = 0;
  std::size_t spans = 0;
  Tensor logits;        // no memory where the schedule keeps none
  Tensor token_losses;  // kept where the logits are, if the phase has a loss
};

// Throws std::invalid_argument if the weights or the caches do not fit the program.
ExecutorPlan bind(const Schedule& schedule, std::int64_t micro_batch_tokens, const Weights& weights,
                  const BufferPlan& buffers, const Addresses& addresses);

}  // namespace fourfold::inline engine::inline plan::work
