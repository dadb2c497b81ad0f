// Binds a stream to addresses; see executor_plan.hpp.
#include "engine/plan/executor_plan.hpp"

#include <stdexcept>

#include "engine/adamw.hpp"
#include "engine/plan/block_place.hpp"

namespace fourfold::inline engine::inline plan::work {

namespace {

class Binder {
 public:
  Binder(const Schedule& schedule, std::int64_t micro_batch_tokens, const Weights& weights,
         const BufferPlan& buffers, const Addresses& addresses)
      : schedule_(schedule),
        program_(schedule.program),
        tokens_(micro_batch_tokens),
        weights_(weights),
        collective_number_(program_.ops.size(), 0) {
    for (std::size_t id = 0; id < program_.values.size(); ++id) {
      tensors_.push_back(tensor(static_cast<Id>(id), buffers.slots[id], addresses));
    }
    for (std::size_t id = 0; id < tensors_.size(); ++id) {
      const Id source = buffers.slots[id].persistent;
      if (source != -1) tensors_[id].data = tensors_[static_cast<std::size_t>(source)].data;
    }
  }

  ExecutorPlan run() {
    std::vector<std::size_t> first_item;  // by step of the stream
    for (const Issue& issue : schedule_.stream) {
      first_item.push_back(plan_.items.size());
      switch (issue.kind) {
        case IssueKind::compute:
          compute(issue.id);
          break;
        case IssueKind::start:
          start(issue.id);
          break;
        case IssueKind::wait:
          wait(issue.id);
          break;
        case IssueKind::choose:
          choose(issue.id);
          break;
        default:
          break;
      }
    }
    first_item.push_back(plan_.items.size());
    const CutStream cut = cut_at_turns(schedule_);
    plan_.before = stretch(cut.before, first_item);
    plan_.behind = stretch(cut.behind, first_item);
    for (const auto& turn : cut.forwards) plan_.forwards.push_back(stretch(turn, first_item));
    for (const auto& turn : cut.backwards) plan_.backwards.push_back(stretch(turn, first_item));
    if (program_.logits != -1) plan_.logits = at(program_.logits);
    if (program_.logits != -1 && program_.loss != -1) plan_.token_losses = at(token_losses());
    return std::move(plan_);
  }

 private:
  const Op& op_at(std::int32_t i) const { return program_.ops[static_cast<std::size_t>(i)]; }
  const Tensor& at(Id id) const { return tensors_[static_cast<std::size_t>(id)]; }
  bool is_words(Id id) const { return program_[id].words(); }

  Id token_losses() const {
    for (const Op& op : program_.ops) {
      if (op.is(functions::softmax_loss)) return op.outputs[0];
    }
    throw std::logic_error("executor: a schedule that keeps logits and a loss has no losses");
  }

  Tensor tensor(Id id, const Slot& slot, const Addresses& addresses) const {
    const Value& value = program_[id];
    const ProcessGrid& grid = weights_.grid();
    Tensor result;
    result.precision = value.precision;
    if (!value.members.empty() || !value.shape.sharding.pieces.empty()) {
      result.rows = 1;
      result.cols = program_.local_elements(id, grid, {tokens_});
    } else {
      result.rows = value.shape.local_rows(grid, {tokens_});
      result.cols = value.shape.local_cols(grid, {tokens_});
    }
    if (slot.buffer != -1) {
      const std::vector<std::byte*>& there = slot.on_host ? addresses.on_host : addresses.buffers;
      result.data = there[static_cast<std::size_t>(slot.buffer)] + slot.offset;
    } else if (value.role == Role::cache) {
      result.data = cached(value, result, addresses.caches).data;
    } else if (value.persistent && !is_words(id)) {
      result.data = stored(value, result).data;
    }
    return result;
  }

  static Tensor cached(const Value& value, const Tensor& like, Caches* caches) {
    if (caches == nullptr) {
      throw std::invalid_argument("executor: " + value.label.full() + " has no caches to lie in");
    }
    return caches->block(value.label.full(), like);
  }

  const Tensor& stored(const Value& value, const Tensor& expected) const {
    const Stored& stored = weights_[value.label.full()];
    if (stored.block.precision != expected.precision || stored.block.rows != expected.rows ||
        stored.block.cols != expected.cols) {
      throw std::invalid_argument("executor: the block of " + value.label.full() +
                                  " does not fit the schedule; weights and schedule must be of one "
                                  "model, grid and precision");
    }
    return stored.block;
  }

  void compute(std::int32_t i) {
    const Op& op = op_at(i);
    if (op.is(functions::norm_factor)) {
      ReadNorm norm;
      for (Id squares : op.inputs) norm.squares.push_back(at(squares));
      plan_.items.push_back(std::move(norm));
    }
    switch (op.kind) {
      case OpKind::pack:
        return pack(i);
      case OpKind::unpack:
        return;
      case OpKind::cut:
        return cut(i);
      case OpKind::view:
        return view(i);
      case OpKind::update:
        return update(i);
      case OpKind::to_host:
      case OpKind::to_device:
        return add_with_span(
            HostCopy{i, at(op.inputs[0]), at(op.outputs[0]), op.kind == OpKind::to_host});
      default:
        kernel(i);
    }
  }

  ItemStretch stretch(const CutStream::Stretch& of_stream,
                      const std::vector<std::size_t>& first_item) const {
    ItemStretch result{first_item[of_stream.first], first_item[of_stream.last], -1, 0};
    if (of_stream.receive == -1) return result;
    result.channel = op_at(of_stream.receive).channel;
    result.message = collective_number_[static_cast<std::size_t>(of_stream.receive)];
    return result;
  }

  void choose(std::int32_t i) {
    const Id word = op_at(i).outputs[0];
    const AxisSet owed = program_[word].shape.sharding.partial;
    add_with_span(Choose{i, at(word), is_first(weights_.grid(), weights_.rank(), owed)});
  }

  void kernel(std::int32_t i) {
    const Op& op = op_at(i);
    KernelItem kernel;
    kernel.op = i;
    kernel.operands.output = at(op.outputs[0]);
    for (Id input : op.inputs) {
      kernel.operands.inputs.push_back(is_words(input) ? Tensor{} : at(input));
      if (!is_words(input)) continue;
      const Cuts& rows = program_[input].shape.sharding.rows;
      const std::int64_t count = part_of(tokens_, weights_.grid(), weights_.rank(), rows).extent;
      kernel.words = input == program_.targets ? Words::targets : Words::tokens;
      kernel.first_word = static_cast<std::size_t>(program_.micro_batch_of(i) * count);
      kernel.word_count = static_cast<std::size_t>(count);
    }
    add_with_span(std::move(kernel));
  }

  // The part of a one-row tensor from byte `offset` on that has the extents of `like`.
  static Tensor part(const Tensor& whole, std::int64_t offset, const Tensor& like) {
    return {whole.data + offset, like.rows, like.cols, whole.precision};
  }

  void pack(std::int32_t i) {
    const Op& op = op_at(i);
    Copy copy{i, {}};
    std::int64_t offset = 0;
    for (Id member : op.inputs) {
      const Tensor home = part(at(op.outputs[0]), offset, at(member));
      if (home.data != at(member).data) copy.members.emplace_back(at(member), home);
      offset += home.bytes();
    }
    if (!copy.members.empty()) add_with_span(std::move(copy));
  }

  void view(std::int32_t i) {
    const Tensor &from = at(op_at(i).inputs[0]), &to = at(op_at(i).outputs[0]);
    if (from.data != to.data) add_with_span(Copy{i, {{from, to}}});
  }

  // What lies beyond the whole is padding, which nobody reads.
  void cut(std::int32_t i) {
    const Op& op = op_at(i);
    const Tensor& whole = at(op.inputs[0]);
    const Tensor& piece = at(op.outputs[0]);
    const Part part = part_of(whole.size(), weights_.grid(), weights_.rank(), {op.axis});
    if (piece.data == whole.data || part.valid == 0) return;
    add_with_span(Copy{i, {{whole.stretch(part.first, part.valid), piece.stretch(0, part.valid)}}});
  }

  void update(std::int32_t i) {
    const Op& op = op_at(i);
    Update update{i, at(op.inputs[1]), {}, op.bucket == -1 ? Tensor{} : at(op.bucket)};
    std::int64_t first = 0;
    for (const Parameter& parameter : op.updated()) {
      UpdateOperands operands;
      operands.weight = at(parameter.weight);
      operands.master = at(parameter.master);
      operands.first_moment = at(parameter.first_moment);
      operands.second_moment = at(parameter.second_moment);
      operands.gradient = at(op.inputs[0]).stretch(first, operands.weight.size());
      first += operands.weight.size();
      update.shards.push_back({operands, decays(program_[parameter.weight].weight),
                               program_[parameter.master].on_host});
    }
    add_with_span(std::move(update));
  }

  bool does_something(const Op& op) const { return weights_.grid().extent(op.axis) > 1; }

  void start(std::int32_t i) {
    const Op& op = op_at(i);
    if (op.kind == OpKind::neighbour_exchange) add_with_span(Clear{i, at(op.outputs[0])});
    if (!does_something(op)) return;
    collective_number_[static_cast<std::size_t>(i)] = plan_.collectives;
    const std::vector<Id>& from = op.inputs.empty() ? op.outputs : op.inputs;
    const std::vector<Id>& to = op.outputs.empty() ? from : op.outputs;
    if (op.kind == OpKind::all_to_all) return start_exchange(i);
    if (op.kind == OpKind::all_to_all_v) return start_marked(i);
    StartItem start{i, op.channel, {}, plan_.collectives++};
    for (std::size_t k = 0; k < from.size(); ++k) {
      start.calls.push_back(
          {op.collective_kind(), program_[from[k]].shape.sharding.owed, at(from[k]), at(to[k])});
    }
    add_with_span(std::move(start));
  }

  // Members send and receive parts one after the other: of rows they lie so, of columns they are
  // brought so into the operation's room, before or behind it.
  void start_exchange(std::int32_t i) {
    const Op& op = op_at(i);
    const auto in_a_row = [this](Id id) { return at(id).stretch(0, at(id).size()); };
    const bool packs = op.direction == Direction::cols;
    const Tensor send = in_a_row(packs ? op.bucket : op.inputs[0]);
    const Tensor receive = in_a_row(packs ? op.outputs[0] : op.bucket);
    StartItem start{
        i, op.channel, {{op.collective_kind(), Owed::sum, send, receive}}, plan_.collectives++};
    if (packs) start.packed = regrouped(op, at(op.inputs[0]), true);
    add_with_span(std::move(start));
  }

  void start_marked(std::int32_t i) {
    const Op& op = op_at(i);
    const MarkedExchange exchange = marked(op);
    StartItem start{i,
                    op.channel,
                    {{op.collective_kind(), Owed::sum, exchange.sent_room, exchange.received_room}},
                    plan_.collectives++};
    const auto members = static_cast<std::size_t>(exchange.members);
    start.calls[0].to.assign(members, exchange.from.size() / exchange.members);
    start.calls[0].from = start.calls[0].to;
    start.marked = exchange;
    add_with_span(std::move(start));
  }

  MarkedExchange marked(const Op& op) const {
    const Tensor &from = at(op.inputs[0]), &room = at(op.bucket);
    MarkedExchange exchange;
    exchange.from = from;
    exchange.marks = at(op.inputs[1]);
    exchange.sent_room = room.stretch(0, from.size());
    exchange.to = at(op.outputs[0]);
    exchange.arriving = at(op.inputs[2]);
    exchange.received_room = room.stretch(from.size(), exchange.to.size());
    exchange.members = weights_.grid().extent(op.axis);
    exchange.from_rows = op.direction == Direction::rows;
    return exchange;
  }

  // Between a matrix and the parts of its columns, row by row.
  Copies regrouped(const Op& op, const Tensor& matrix, bool into_room) const {
    const std::int64_t parts = weights_.grid().extent(op.axis);
    const std::int64_t cols = matrix.cols / parts;
    Copies copies;
    for (std::int64_t part = 0; part < parts; ++part) {
      for (std::int64_t row = 0; row < matrix.rows; ++row) {
        const Tensor there = matrix.stretch(row * matrix.cols + part * cols, cols);
        const Tensor here = at(op.bucket).stretch((part * matrix.rows + row) * cols, cols);
        copies.push_back(into_room ? std::pair{there, here} : std::pair{here, there});
      }
    }
    return copies;
  }

  void wait(std::int32_t i) {
    const Op& op = op_at(i);
    if (does_something(op)) {
      plan_.items.push_back(Finish{op.channel, collective_number_[static_cast<std::size_t>(i)]});
      const bool unpacks = op.kind == OpKind::all_to_all && op.direction == Direction::rows;
      if (unpacks) {
        std::get<Finish>(plan_.items.back()).unpacked = regrouped(op, at(op.outputs[0]), false);
      }
      if (op.kind == OpKind::all_to_all_v) {
        std::get<Finish>(plan_.items.back()).marked = marked(op);
      }
    }
    if (!op.outputs.empty() && op.outputs[0] == program_.loss)
      plan_.items.push_back(ReadLoss{at(program_.loss)});
  }

  void add_with_span(Item item) {
    plan_.items.push_back(std::move(item));
    ++plan_.spans;
  }

  const Schedule& schedule_;
  const Program& program_;
  std::int64_t tokens_ = 0;
  const Weights& weights_;
  std::vector<Tensor> tensors_;                 // by value
  std::vector<std::size_t> collective_number_;  // by operation
  ExecutorPlan plan_;
};

}  // namespace

ExecutorPlan bind(const Schedule& schedule, std::int64_t micro_batch_tokens, const Weights& weights,
                  const BufferPlan& buffers, const Addresses& addresses) {
  return Binder(schedule, micro_batch_tokens, weights, buffers, addresses).run();
}

}  // namespace fourfold::inline engine::inline plan::work
