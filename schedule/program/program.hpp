// The training step as a value: operations on sharded matrices in the order of their parts. It
// names axes, never ranks; hosts, seconds and pointers do not occur in it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedule/collectives/collective.hpp"
#include "schedule/program/channel.hpp"
#include "schedule/program/function.hpp"
#include "schedule/program/sharding.hpp"
#include "schedule/program/step_options.hpp"
#include "schedule/program/turn.hpp"

namespace fourfold::inline schedule::inline program {

using Id = std::int32_t;  // index of a value in its program

// What a value is for: memory is reported by role.
// Keys and values of past tokens are kept from step to step by the last.
enum class Role : std::uint8_t { parameter, optimizer, gradient, activation, gathered, cache };
inline constexpr int training_role_count = 5;  // all but the last
inline constexpr int role_count = 6;
const char* name(Role role);

// What kind of weight a value is, or is the fp32 master of: decides how it starts and whether it
// decays.
enum class WeightKind : std::uint8_t {
  none,
  matrix,           // of a product, or an embedding
  residual_matrix,  // of a product that ends in the residual stream
  bias,
  norm,  // rows: scales, offsets if there are any
};

// What a value is called: "qkv.weight" of layer 17 of the blocks.
struct Label {
  std::string name;
  std::string owner;        // "block": what layers are alike in; empty outside them
  std::int64_t layer = -1;  // -1 where the owner stands once

  Label() = default;
  Label(const char* text) : name(text) {}             // NOLINT: a text is a label
  Label(std::string text) : name(std::move(text)) {}  // NOLINT
  Label(std::string own, std::string of, std::int64_t number)
      : name(std::move(own)), owner(std::move(of)), layer(number) {}

  Label operator+(const std::string& suffix) const { return {name + suffix, owner, layer}; }
  // "block17.qkv.weight": one value's, as in checkpoints.
  std::string full() const;
  // "block.qkv.weight": the same for all layers, as in tables and traces.
  std::string alike() const;
};

struct Value {
  Label label;
  Shape shape;
  Precision precision = Precision::bf16;
  Role role = Role::activation;
  bool persistent = false;  // lives before and after the step: parameters, optimizer state, data
  std::vector<Id> members;  // of a pack: its local block is theirs, one after the other
  WeightKind weight = WeightKind::none;
  // Lives in the memory of the device's host: offloaded optimizer state and activations.
  bool on_host = false;

  // Words of the text, which the host has; other whole numbers are blocks that the device computes.
  bool words() const { return persistent && precision == Precision::int32; }
};

// A trained matrix: its value and the fp32 state AdamW keeps for it, sharded alike; no state where
// a program only reads its weights. An fp32 weight is its own master.
struct Parameter {
  Id weight = -1;
  Id master = -1;
  Id first_moment = -1;
  Id second_moment = -1;
};

enum class OpKind : std::uint8_t {
  gemm,    // op(A) op(B), op by GemmForm
  apply,   // a function of rows, each of all operands, whose own rule shapes the result
  lookup,  // rows of a table by token, or their gradient
  map,     // element by element
  reduce,  // sums and maxima along rows, columns or everything; owed along the cut axes
  add,     // sum of equally sharded values, owed reductions included
  pack,
  unpack,  // several small values as one flat value, and back: views, no bytes move
  cut,     // a device's own piece of what all along an axis have
  all_gather,
  reduce_scatter,
  all_reduce,
  all_to_all,          // moves a cut from rows to columns, or back
  all_to_all_v,        // the same of those blocks only that are marked
  broadcast,           // what the first along an axis has becomes everybody's
  neighbour_exchange,  // of the devices before and after the rows at their edges
  send,
  receive,  // of a message between stages
  update,   // AdamW on a shard
  choose,   // which turn of a ready-queue comes next: the word of one member
  to_host,
  to_device,  // copies of a value between a device and its host's memory
  view,       // the same blocks, cut by the axes of the other factoring: no bytes move
};
const char* name(OpKind kind);
constexpr bool is_collective(OpKind kind) {
  return kind >= OpKind::all_gather && kind <= OpKind::neighbour_exchange;
}
constexpr bool is_message(OpKind kind) {
  return kind == OpKind::send || kind == OpKind::receive;
}
constexpr bool is_host_copy(OpKind kind) {
  return kind == OpKind::to_host || kind == OpKind::to_device;
}
// Of a collective or a message.
constexpr CollectiveKind collective_of(OpKind kind) {
  switch (kind) {
    case OpKind::all_gather:
      return CollectiveKind::all_gather;
    case OpKind::reduce_scatter:
      return CollectiveKind::reduce_scatter;
    case OpKind::all_reduce:
      return CollectiveKind::all_reduce;
    case OpKind::all_to_all:
      return CollectiveKind::all_to_all;
    case OpKind::all_to_all_v:
      return CollectiveKind::all_to_all_v;
    case OpKind::broadcast:
      return CollectiveKind::broadcast;
    case OpKind::neighbour_exchange:
      return CollectiveKind::neighbour_exchange;
    default:
      return CollectiveKind::send;
  }
}
// Whether a collective leaves its result where its operand was.
constexpr bool works_in_place(OpKind kind) {
  if (!is_collective(kind)) return false;
  const KindRow& row = row_of(collective_of(kind));
  return row.brings == Portion::whole && row.gets == Portion::whole;
}
// Whether it is posted on a channel, and waited for later.
constexpr bool is_posted(OpKind kind) {
  return is_collective(kind) || is_message(kind);
}

// Which overlap, if any, may move a collective's wait away from its start.
enum class Hiding : std::uint8_t {
  never,
  all_reduce,
  reduce_scatter,
  all_gather,
  recompute_gather,
  data_reduce,
  message
};

// Which direction a gather or a reduce-scatter acts on, and which an all-to-all cuts.
enum class Direction : std::uint8_t { pieces, rows, cols };

struct Op {
  OpKind kind = OpKind::map;
  const Function* function = &functions::none;
  GemmForm form = GemmForm::nn;
  ChannelNumber channel = -1;               // collectives, messages
  Axis axis = Axis::x;                      // the channel's, or that of the cut
  Direction direction = Direction::pieces;  // gathers, reduce-scatters, all-to-alls
  Hiding hiding = Hiding::never;            // collectives, messages
  bool deferrable = false;                  // may wait with its operands: gradient book-keeping
  Attributes attributes{};                  // what its function asks for
  // Room on the device, an output besides: of an update for state that comes from the host, of an
  // all-to-all for the parts of its columns, one after the other; of one of marked blocks for those
  // that are sent, and behind them for those that come.
  Id bucket = -1;
  // Of a collective of several values, which are sent as one, the k-th result is of the k-th input.
  // Of an all-to-all of marked blocks the marks stand behind it: its own, and those that come.
  std::vector<Id> inputs{};
  std::vector<Id> outputs{};

  bool is(const Function& other) const { return function == &other; }
  // What it does, in a word: its kind, or its function's family.
  const char* verb() const {
    return function->family == nullptr ? name(kind) : function->family->name;
  }
  CollectiveKind collective_kind() const { return collective_of(kind); }  // collectives, messages
  // Of a collective or a message: the wholes of what is gathered, reduced or sent.
  std::span<const Id> buffers() const;
  std::vector<Parameter> updated() const;  // update: inputs[0] packs their gradients, in this order
};

// A stretch of the program that people have a name for: one block's forward in one micro-batch.
struct Section {
  std::string name;               // "forward", "backward", "head": the same for every layer
  std::int64_t micro_batch = -1;  // -1: outside the micro-batch loop
  std::int64_t layer = -1;
  std::int32_t first_op = 0;
  std::int64_t turn = 0;  // of Program::order
};

// What the devices of one stage do in a step.
struct Program {
  Stage stage;
  Phase phase = Phase::training;
  std::vector<Channel> channels;
  Order order;
  std::vector<Value> values;
  std::vector<Parameter> parameters;
  std::vector<Op> ops;
  std::vector<Section> sections;
  std::vector<Id> kept;  // read after the step: never released
  Id targets = -1;       // the words that follow the tokens
  Id loss = -1;          // completed: the sum over the step's tokens
  Id logits = -1;        // where nothing is trained, on the last stage

  const Value& operator[](Id id) const { return values[static_cast<std::size_t>(id)]; }

  // -1 outside the micro-batch loop.
  std::int64_t micro_batch_of(std::int32_t op) const;
  const Channel& channel_of(const Op& op) const {
    return channels[static_cast<std::size_t>(op.channel)];
  }
  // Elements on one device; a pack's are its members'.
  std::int64_t local_elements(Id id, const ProcessGrid& grid, const Quantities& quantities) const;
};

}  // namespace fourfold::inline schedule::inline program
