// The recorder writes a program down, operation by operation, deriving each result's sharding from
// its operands'. It refuses unsound programs in words: a forgotten all-reduce cannot be recorded.
#pragma once

#include <string>
#include <vector>

#include "schedule/program/program.hpp"

namespace fourfold::inline schedule::inline program {

// What a map, reduce, lookup or another function produces.
struct Result {
  const Function& function;
  Label label;
  Precision precision = Precision::bf16;
  Attributes attributes{};
  Role role = Role::activation;  // of a function with a shape of its own
};

// Whether collectives of several values are one each, or one that sends all of them.
enum class Sending : std::uint8_t { one_by_one, together };

// Whether the program trains what it records, or only reads its weights.
enum class OptimizerState : std::uint8_t { kept, none };

// Every method throws std::invalid_argument with one sentence if its operands do not fit.
class Recorder {
 public:
  // `offload_bucket`: elements of the optimizer's state that are on the device at a time, all
  // others on its host; 0 keeps all on the device.
  explicit Recorder(Precision storage = Precision::bf16,
                    OptimizerState state = OptimizerState::kept, std::int64_t offload_bucket = 0)
      : storage_(storage), state_(state), offload_bucket_(offload_bucket) {}

  // Of weights and activations.
  Precision storage() const { return storage_; }

  // A channel of its own for one purpose along an axis: "gather" carries the gathers, "reduce" the
  // reductions and reduce-scatters, "" whatever has none of its own. An axis that nobody spoke of
  // gets a channel for everything when it is first used.
  ChannelNumber declare(Axis axis, const std::string& purpose) {
    return declare(Channel{axis, purpose});
  }
  ChannelNumber declare(const Channel& channel);

  void begin_stage(const Stage& stage) { program_.stage = stage; }
  const Stage& stage() const { return program_.stage; }
  // What follows is recorded for this turn of the order.
  void begin_turn(const Turn& turn);
  void begin_section(const std::string& name, std::int64_t layer);

  // `state`: how the optimizer's state lies, if not as the weight; cut along data besides.
  Parameter parameter(const Label& label, const Shape& shape, WeightKind kind) {
    return parameter(label, shape, kind, shape);
  }
  Parameter parameter(const Label& label, const Shape& shape, WeightKind kind, const Shape& state);
  // What is there before the step.
  Id data(const Label& label, const Shape& shape, Precision precision,
          Role role = Role::activation);

  // op(A) op(B): op(A).cols = op(B).rows in extent and axes; gives rows of op(A), cols of op(B),
  // owed (sum) along the contracted axes.
  Id gemm(GemmForm form, Id a, Id b, const Result& result);
  // Flat pieces, or rows, along `axis` are put together: axis, which must be the innermost cut,
  // leaves.
  Id all_gather(Id value, Axis axis, Hiding hiding, Direction direction = Direction::pieces);
  // The sum owed along `axis` is done and kept in pieces, or by rows: axis moves from partial to
  // the innermost cut.
  Id reduce_scatter(Id value, Axis axis, Hiding hiding, Direction direction = Direction::pieces);
  // The same of several values that are sent as one, each kept in pieces of its own.
  std::vector<Id> reduce_scatter(const std::vector<Id>& values, Axis axis, Hiding hiding);
  // The sum or maximum owed along `axis` is done everywhere: axis leaves partial.
  Id all_reduce(Id value, Axis axis, Hiding hiding);

  // The same among the first and the last stage of a pipeline only.
  Id all_reduce_ends(Id value, Hiding hiding);
  // The cut along `axis`, the innermost of columns or of rows, moves to be the innermost of the
  // other direction, which is the one that is named.
  Id all_to_all(Id value, Axis axis, Direction to, Hiding hiding);
  // The same of those blocks only that are marked: whole numbers that lie as the value does, each
  // for as many columns, with `arriving` as they lie behind it. Blocks that are not marked are zero
  // before, and behind it.
  Id all_to_all_v(Id value, Id marks, Id arriving, Axis axis, Direction to, Hiding hiding);
  // Of the device before along `axis`, the innermost of rows, the last `edge` rows, and behind them
  // the first ones of the device after: so many on each device; zeros where there is none.
  Id neighbour_exchange(Id value, std::int64_t edge, Axis axis, Hiding hiding);
  // What the first along `axis` has becomes everybody's; nothing where all have the same.
  Id broadcast(Id value, Axis axis, Hiding hiding);
  // Which turn of the ready-queue comes next: a number that the first member along `axes` knows and
  // that all of them get, along one axis after the other.
  void choose(const std::vector<Axis>& axes);
  // A value is this stage's part of a sum that other stages have parts of: owed along pipe.
  Id owe_along_pipe(Id value);
  // What all along `axis` have, in flat pieces: axis becomes the innermost cut. The inverse of a
  // gather; nothing is sent.
  Id cut(Id value, Axis axis);
  // The same blocks on the same ranks, said by the axes of the grid's other factoring. Whether they
  // lie alike is for a grid to say (view_misfit).
  Id view(Id value, const Sharding& as);
  // A value that the host keeps, sharded alike, and that value on the device again. Nothing but
  // to_device, and an update, reads what is on the host.
  Id to_host(Id value);
  Id to_device(Id value);
  // The same matrix, sharded alike, goes to the next stage of the channel, and comes from the one
  // before.
  void send(Id value, const Channel& channel);
  Id receive(const Label& label, const Shape& shape, const Channel& channel);

  // Element by element; the first operand gives the shape. Further operands are equally sharded, or
  // row statistics, column vectors, or per-sequence tables that lie as the first one does; of gated
  // maps also such as lie as the result; or parameters as the function says.
  Id map(const Result& result, const std::vector<Id>& operands);
  // A function of equally cut operands, rows of tokens, whose own rule shapes the result:
  // attention, its products.
  // Operands have equally many rows, or lie as the function says of its parameters.
  Id apply(const Result& result, const std::vector<Id>& operands);
  // Rows of a table (owed along the axes that cut its rows), or the table's gradient.
  Id lookup(const Result& result, Id table_or_gradient, Id tokens, const Shape& table);
  // Row statistics (tokens x cols, owed along column axes), column sums (owed along row axes), and
  // square_sum (1 x 1, owed along every axis that cuts the operand).
  Id reduce(const Result& result, const std::vector<Id>& operands, std::int64_t extent = 1);
  Id add(const Label& label, const std::vector<Id>& operands, Precision precision);
  Id pack(const Label& label, const std::vector<Id>& members);
  std::vector<Id> unpack(Id packed);
  // The gradient lies as the optimizer's state; where that is cut along data and the weight is not,
  // the new weights are gathered afterwards. State on the host comes to the device bucket by
  // bucket, and goes back.
  void update(const std::vector<Parameter>& parameters, Id gradient, Id norm_factor,
              Sending of_weights = Sending::one_by_one);

  // The last operation may be issued later, once its operands have arrived.
  void defer_last();

  const Value& value(Id id) const { return program_[id]; }
  // The axes that cut a value, a pack's members included; refuses members cut by different axes.
  AxisSet cuts(Id id) const;
  // A value that is read after the step: it lives until the stream's end.
  void keep(Id id) { program_.kept.push_back(id); }
  // The program of an order that was recorded turn by turn.
  Program finish(const std::vector<Steady>& steady = {}, const ReadyQueue& ready = {});

 private:
  Id emit(Op op, Value value);
  const Value& complete(Id id, const char* operation) const;
  Value scattered(Id id, Axis axis, Direction direction) const;
  Id collective(Op op, Value value);
  Id reduced_everywhere(Op op);
  Id exchange(Op op, Direction to, std::int64_t rooms);
  void gather_into(const std::vector<Id>& pieces, const std::vector<Id>& weights);
  Id room_for_state(const Parameter& parameter);
  ChannelNumber channel_of(OpKind kind, Axis axis);

  Precision storage_;
  OptimizerState state_;
  std::int64_t offload_bucket_;
  Program program_;
};

}  // namespace fourfold::inline schedule::inline program
