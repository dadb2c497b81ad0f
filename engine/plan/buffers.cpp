// Follows every value through the stream; see buffers.hpp.
#include "engine/plan/buffers.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "schedule/order/liveness.hpp"

namespace fourfold::inline engine::inline plan {

namespace {

// Where a value lies while the plan is made: buffers may still become parts of larger ones.
struct Place {
  std::int32_t block = -1;
  std::int64_t offset = 0;
  Id persistent = -1;
};

struct Block {
  PlannedBuffer buffer;
  std::int32_t parent = -1;  // the pack's block that this one became a part of
  std::int64_t offset = 0;   // there
  bool on_host = false;
};

class Planner {
 public:
  Planner(const Schedule& schedule, const ProcessGrid& grid, std::int64_t tokens)
      : schedule_(schedule),
        program_(schedule.program),
        grid_(grid),
        tokens_(tokens),
        places_(program_.values.size()),
        released_at_(program_.values.size(), -1) {
    for (std::size_t id = 0; id < places_.size(); ++id) {
      const Value& value = program_.values[id];
      const bool outlives = value.persistent || value.role == Role::cache;
      if (outlives) places_[id].persistent = static_cast<Id>(id);
    }
    for (const Op& op : program_.ops) {
      // What is gathered into what persists is that itself where nothing is cut.
      if (op.kind != OpKind::all_gather || !program_[op.outputs[0]].persistent) continue;
      if (grid_.extent(op.axis) > 1) continue;
      for (std::size_t k = 0; k < op.inputs.size(); ++k) {
        place(op.inputs[k]).persistent = op.outputs[k];
      }
    }
    std::int32_t step = 0;
    for (std::size_t i = 0; i < schedule_.stream.size(); ++i) {
      const Issue& issue = schedule_.stream[i];
      if (issue.kind == IssueKind::release) {
        released_at_[static_cast<std::size_t>(issue.id)] = step;
      } else if (issue.kind != IssueKind::allocate) {
        step = static_cast<std::int32_t>(i);
      }
    }
  }

  BufferPlan run() {
    for (std::size_t i = 0; i < schedule_.stream.size(); ++i) {
      const Issue& issue = schedule_.stream[i];
      now_ = static_cast<std::int32_t>(i);
      if (issue.kind == IssueKind::allocate || issue.kind == IssueKind::release) continue;
      const Op& op = program_.ops[static_cast<std::size_t>(issue.id)];
      switch (issue.kind) {
        case IssueKind::compute:
        case IssueKind::choose:
          compute(op);
          break;
        case IssueKind::start:
          start(op);
          break;
        default:
          expect_handed_over(op);
      }
      for (Id id : op.inputs) touch(id);
      for (Id id : op.outputs) touch(id);
    }
    now_ = static_cast<std::int32_t>(schedule_.stream.size());
    for (Id id : program_.kept) touch(id);
    return finish();
  }

 private:
  Place& place(Id id) { return places_[static_cast<std::size_t>(id)]; }
  Block& block(std::int32_t i) { return blocks_[static_cast<std::size_t>(i)]; }
  bool dies_here(Id id) const { return released_at_[static_cast<std::size_t>(id)] == now_; }
  std::int64_t bytes(Id id) const {
    return program_.local_elements(id, grid_, {tokens_}) *
           bytes_per_element(program_[id].precision);
  }

  // The outermost block that `inner` lies in.
  std::int32_t root(std::int32_t inner) {
    while (block(inner).parent != -1) inner = block(inner).parent;
    return inner;
  }

  void touch(Id id) {
    if (place(id).block == -1) return;
    PlannedBuffer& buffer = block(root(place(id).block)).buffer;
    buffer.last = std::max(buffer.last, now_);
  }

  void create(Id id) {
    if (place(id).persistent != -1) return;
    place(id) = {static_cast<std::int32_t>(blocks_.size()), 0, -1};
    blocks_.push_back({{bytes(id), now_, now_}, -1, 0, program_[id].on_host});
  }

  void compute(const Op& op) {
    switch (op.kind) {
      case OpKind::pack:
        return pack(op);
      case OpKind::unpack:
        return unpack(op);
      case OpKind::map:
      case OpKind::add:
        return may_run_in_place(op) ? in_place(op) : create(op.outputs[0]);
      case OpKind::cut:
        return cut(op);
      case OpKind::view:
        return same_block(op, true);
      default:
        for (Id output : op.outputs) create(output);
    }
  }

  void in_place(const Op& op) {
    const Id output = op.outputs[0];
    const Value& result = program_[output];
    for (Id input : op.inputs) {
      const Value& operand = program_[input];
      if (place(input).block != -1 && dies_here(input) && operand.precision == result.precision &&
          operand.shape == result.shape && bytes(input) == bytes(output)) {
        place(output) = place(input);
        return;
      }
    }
    create(output);
  }

  void cut(const Op& op) { same_block(op, grid_.extent(op.axis) == 1); }

  // The result is the operand's block, if it is `alike` and nobody else reads it.
  void same_block(const Op& op, bool alike) {
    const bool passes_on = alike && dies_here(op.inputs[0]);
    if (!passes_on || place(op.inputs[0]).block == -1) return create(op.outputs[0]);
    place(op.outputs[0]) = place(op.inputs[0]);
  }

  // Members that fill blocks of their own become parts of the pack's block from their birth on.
  void pack(const Op& op) {
    const Id output = op.outputs[0];
    create(output);
    const std::int32_t whole = place(output).block;
    std::vector<PlannedBuffer::Part> parts;
    std::int64_t offset = 0;
    for (Id member : op.inputs) {
      const Place& own = place(member);
      if (own.block != -1 && own.offset == 0 && dies_here(member) &&
          block(own.block).parent == -1 && block(own.block).buffer.bytes == bytes(member)) {
        PlannedBuffer& home = block(own.block).buffer;
        block(whole).buffer.first = std::min(block(whole).buffer.first, home.first);
        for (const PlannedBuffer::Part& part : home.all_parts()) {
          parts.push_back({offset + part.offset, part.bytes, part.first});
        }
        block(own.block).parent = whole;
        block(own.block).offset = offset;
      } else {
        parts.push_back({offset, bytes(member), now_});
      }
      offset += bytes(member);
    }
    block(whole).buffer.parts = std::move(parts);
  }

  void unpack(const Op& op) {
    Place next = place(op.inputs[0]);
    for (Id output : op.outputs) {
      place(output) = next;
      next.offset += bytes(output);
    }
  }

  void start(const Op& op) {
    if (op.kind == OpKind::send) return;
    if (op.kind == OpKind::receive) return create(op.outputs[0]);
    for (std::size_t k = 0; k < op.buffers().size(); ++k) {
      collective(op, op.inputs[k], op.outputs[k]);
    }
    if (op.bucket != -1) create(op.bucket);
  }

  void collective(const Op& op, Id input, Id output) {
    const bool alone = grid_.extent(op.axis) == 1 && op.kind != OpKind::neighbour_exchange;
    const bool in_place = works_in_place(op.kind) || alone;
    if (!in_place) return create(output);
    if (op.kind != OpKind::all_gather && program_[input].persistent) {
      throw std::logic_error("buffers: a collective would overwrite " +
                             program_[input].label.full());
    }
    place(output) = place(input);
  }

  void expect_handed_over(const Op& op) const {
    if (!works_in_place(op.kind)) return;
    const Id input = op.inputs[0];
    if (!dies_here(input)) {
      throw std::logic_error("buffers: " + program_[input].label.full() + " is read after its " +
                             name(op.kind) + ", which works in place");
    }
  }

  BufferPlan finish() {
    BufferPlan plan;
    std::vector<std::int32_t> number(blocks_.size(), -1);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i].parent != -1) continue;
      std::vector<PlannedBuffer>& there = blocks_[i].on_host ? plan.on_host : plan.buffers;
      number[i] = static_cast<std::int32_t>(there.size());
      there.push_back(blocks_[i].buffer);
    }
    for (const Place& place : places_) {
      Slot slot{-1, place.offset, place.persistent, false};
      if (place.block != -1) {
        std::int32_t outer = place.block;
        while (block(outer).parent != -1) {
          slot.offset += block(outer).offset;
          outer = block(outer).parent;
        }
        slot.buffer = number[static_cast<std::size_t>(outer)];
        slot.on_host = block(outer).on_host;
      }
      plan.slots.push_back(slot);
    }
    return plan;
  }

  const Schedule& schedule_;
  const Program& program_;
  ProcessGrid grid_;
  std::int64_t tokens_ = 0;
  std::vector<Place> places_;
  std::vector<std::int32_t> released_at_;  // by value: the step that reads it last
  std::vector<Block> blocks_;
  std::int32_t now_ = 0;
};

}  // namespace

BufferPlan plan_buffers(const Schedule& schedule, const ProcessGrid& grid, std::int64_t tokens) {
  return Planner(schedule, grid, tokens).run();
}

}  // namespace fourfold::inline engine::inline plan
