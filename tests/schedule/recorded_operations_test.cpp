// Every operation of the recorder on values that lie in every way, alone and in pairs: what comes
// out, or why it is refused.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "schedule/program/recorder.hpp"
#include "tests/golden.hpp"
#include "tests/refusal.hpp"

namespace fourfold {
namespace {

constexpr Axis x = Axis::x, y = Axis::y, z = Axis::z;

// A recorder with values that lie in every way, by name.
class Values {
 public:
  Values() {
    const Cuts rows{Axis::data, z};
    add("tokens", {all_tokens, 6, {rows, {y}, {}, {}, Owed::sum}});
    add("tokens of x", {all_tokens, 6, {rows, {x}, {}, {}, Owed::sum}});
    add("narrow tokens", {all_tokens, 3, {rows, {y}, {}, {}, Owed::sum}});
    add("tokens by rows of x", {all_tokens, 6, {{Axis::data, z, x}, {y}, {}, {}, Owed::sum}});
    add("tokens in pieces", {all_tokens, 6, {rows, {y}, {x}, {}, Owed::sum}});
    add("owing tokens", {all_tokens, 6, {rows, {y}, {}, {x}, Owed::sum}});
    add("maxima", {all_tokens, 6, {rows, {y}, {}, {x}, Owed::max}});
    add("words", {12, 6, {rows, {y}, {}, {}, Owed::sum}});
    add("statistics", {all_tokens, 1, {rows, {}, {}, {}, Owed::sum}});
    add("column", {1, 6, {{}, {y}, {}, {}, Owed::sum}});
    add("whole column", {1, 6, {}});
    add("number", {1, 1, {}});
    add("weight", {6, 4, {{y}, {x}, {}, {}, Owed::sum}});
    add("turned weight", {4, 6, {{x}, {y}, {}, {}, Owed::sum}});
    add("square", {6, 6, {{y}, {x}, {}, {}, Owed::sum}});
    add("twice cut", {6, 6, {{y}, {y}, {}, {}, Owed::sum}});
    add("pieces", {6, 4, {{y}, {x}, {z}, {}, Owed::sum}});
    add("fine pieces", {6, 4, {{y}, {x}, {z, Axis::data}, {}, Owed::sum}});
    add("owing pieces", {6, 4, {{y}, {}, {z}, {x}, Owed::sum}});
    add("gradient", {6, 4, {{y}, {x}, {}, {z, Axis::data}, Owed::sum}}, Precision::fp32);
    const Shape kept{6, 4, {{y}, {x}, {z}, {}, Owed::sum}};
    add("parameter", recorder.parameter("parameter", kept, WeightKind::matrix).weight);
    add("pack", recorder.pack("pack", {of("weight"), of("square")}));
    const std::vector<Id> three{of("weight"), of("square"), of("square")};
    add("larger pack", recorder.pack("larger pack", three));
    add("lone pack", recorder.pack("lone pack", {of("pieces")}));
    add("owing pack", recorder.pack("owing pack", {of("gradient"), of("gradient")}));
  }

  Id of(const std::string& name) const {
    for (const auto& [own, id] : all) {
      if (own == name) return id;
    }
    return -1;
  }

  Recorder recorder;
  std::vector<std::pair<std::string, Id>> all;

 private:
  void add(const std::string& name, const Shape& shape, Precision precision = Precision::bf16) {
    add(name, recorder.data(name, shape, precision));
  }
  void add(const std::string& name, Id id) { all.emplace_back(name, id); }
};

std::string in_words(const Value& value) {
  return value.shape.rows.str() + " x " + value.shape.cols.str() + " " +
         value.shape.sharding.str() + " " + name(value.precision) + " " + name(value.role) +
         (value.members.empty() ? "" : " of " + std::to_string(value.members.size())) +
         (value.persistent ? " persistent" : "");
}

// What is recorded, or the reason without the names of its operands.
std::string outcome(Values& values, const std::function<Id(Recorder&)>& record) {
  Id id = -1;
  const std::string why = refusal([&] { id = record(values.recorder); });
  if (why == "accepted") return id == -1 ? "recorded" : in_words(values.recorder.value(id));
  const std::size_t reason = why.find(": ");
  return "no: " + why.substr(reason + 2, why.find(": ", reason + 2) - reason - 2);
}

// "tokens, weight: tokens x 4 ...", outcomes that are the same for several operands said once.
std::string lines_of(const std::string& operation,
                     const std::vector<std::pair<std::string, std::string>>& outcomes) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& [operands, said] : outcomes) {
    bool known = false;
    for (auto& [other, all] : lines) {
      if (other != said) continue;
      all += ", " + operands;
      known = true;
    }
    if (!known) lines.emplace_back(said, operands);
  }
  std::string text = operation + '\n';
  if (lines.size() == 1) return text + "  " + lines.front().first + " <- all\n";
  for (const auto& [said, operands] : lines) text += "  " + said + " <- " + operands + '\n';
  return text;
}

Result result_of(const Function& function) {
  return {function, "result", Precision::bf16};
}

using OfOne = std::function<Id(Recorder&, Id)>;
using OfTwo = std::function<Id(Recorder&, Id, Id)>;

std::vector<std::pair<std::string, OfOne>> operations_of_one() {
  std::vector<std::pair<std::string, OfOne>> all;
  for (Axis axis : {x, y, z, Axis::data}) {
    const std::string along = std::string(" ") + name(axis);
    for (Direction direction : {Direction::pieces, Direction::rows}) {
      const std::string what = direction == Direction::rows ? " of rows" : "";
      all.emplace_back("gather" + along + what, [=](Recorder& r, Id id) {
        return r.all_gather(id, axis, Hiding::never, direction);
      });
      all.emplace_back("scatter" + along + what, [=](Recorder& r, Id id) {
        return r.reduce_scatter(id, axis, Hiding::never, direction);
      });
    }
    all.emplace_back("all-reduce" + along,
                     [=](Recorder& r, Id id) { return r.all_reduce(id, axis, Hiding::never); });
    all.emplace_back("cut" + along, [=](Recorder& r, Id id) { return r.cut(id, axis); });
  }
  for (const Function* function : {&functions::bias_gelu, &functions::cast, &functions::swiglu,
                                   &functions::swiglu_backward, &functions::row_sum}) {
    all.emplace_back(std::string("map ") + function->name,
                     [=](Recorder& r, Id id) { return r.map(result_of(*function), {id}); });
  }
  for (const Function* function : {&functions::row_max, &functions::col_sum, &functions::square_sum,
                                   &functions::layer_norm_sums, &functions::bias_gelu}) {
    all.emplace_back(std::string("reduce ") + function->name,
                     [=](Recorder& r, Id id) { return r.reduce(result_of(*function), {id}, 2); });
  }
  for (const Function* function :
       {&functions::attention, &functions::attention_backward, &functions::scores,
        &functions::causal_softmax, &functions::rotary, &functions::row_sum}) {
    all.emplace_back(std::string("attention ") + function->name, [=](Recorder& r, Id id) {
      return r.attention(result_of(*function), {id}, {5, 4, 2});
    });
  }
  const Channel next{Axis::pipe, "next", Group::after_even};
  all.emplace_back("send", [=](Recorder& r, Id id) {
    r.send(id, next);
    return Id{-1};
  });
  all.emplace_back("receive", [=](Recorder& r, Id id) {
    const Shape shape = r.value(id).shape;
    return r.receive("received", shape, next);
  });
  return all;
}

std::vector<std::pair<std::string, OfTwo>> operations_of_two() {
  std::vector<std::pair<std::string, OfTwo>> all;
  for (GemmForm form : {GemmForm::nn, GemmForm::nt, GemmForm::tn}) {
    all.emplace_back(std::string("gemm ") + name(form), [=](Recorder& r, Id a, Id b) {
      return r.gemm(form, a, b, result_of(functions::none));
    });
  }
  for (const Function* function :
       {&functions::gelu_backward, &functions::swiglu_backward, &functions::cast}) {
    all.emplace_back(std::string("map ") + function->name, [=](Recorder& r, Id a, Id b) {
      return r.map(result_of(*function), {a, b});
    });
  }
  all.emplace_back("attention", [](Recorder& r, Id a, Id b) {
    return r.attention(result_of(functions::context), {a, b}, {5, 4, 2});
  });
  all.emplace_back("add", [](Recorder& r, Id a, Id b) {
    return r.add("sum", {a, b}, Precision::fp32);
  });
  all.emplace_back("pack", [](Recorder& r, Id a, Id b) { return r.pack("both", {a, b}); });
  all.emplace_back("scatter z together", [](Recorder& r, Id a, Id b) {
    return r.reduce_scatter({a, b}, z, Hiding::never).back();
  });
  for (const Function* function : {&functions::lookup, &functions::lookup_backward}) {
    all.emplace_back(std::string("lookup ") + function->name, [=](Recorder& r, Id a, Id b) {
      const Shape table{9, 6, {{x}, {y}, {}, {}, Owed::sum}};
      return r.lookup(result_of(*function), a, b, table);
    });
  }
  return all;
}

TEST(RecordedOperations, OfOneValueAreTheGoldenOnes) {
  std::string text;
  for (const auto& [operation, record] : operations_of_one()) {
    std::vector<std::pair<std::string, std::string>> outcomes;
    Values values;
    for (const auto& [name, id] : values.all) {
      outcomes.emplace_back(name, outcome(values, [&](Recorder& r) { return record(r, id); }));
    }
    text += lines_of(operation, outcomes);
  }

  expect_golden("recorded_operations.txt", text);
}

TEST(RecordedOperations, OfTwoValuesAreTheGoldenOnes) {
  std::string text;
  for (const auto& [operation, record] : operations_of_two()) {
    Values values;
    for (const auto& [first, a] : values.all) {
      std::vector<std::pair<std::string, std::string>> outcomes;
      for (const auto& [second, b] : values.all) {
        outcomes.emplace_back(second,
                              outcome(values, [&](Recorder& r) { return record(r, a, b); }));
      }
      text += lines_of(operation + ", " + first, outcomes);
    }
  }

  expect_golden("recorded_pairs.txt", text);
}

// How its state may lie: as the weight, or cut along data besides; the gradient as the state.
TEST(RecordedUpdates, TakeAGradientThatLiesAsTheState) {
  const Shape whole{6, 4, {{y}, {x}, {}, {}, Owed::sum}};
  Shape along_z = whole, along_both = whole, along_data = whole, across = whole, taller = whole;
  along_z.sharding.pieces = {z};
  along_both.sharding.pieces = {z, Axis::data};
  along_data.sharding.pieces = {Axis::data};
  across.sharding.pieces = {Axis::data, z};
  taller.rows = 8;
  Shape wider = whole, owing = whole;
  wider.cols = 8;
  owing.sharding.partial = {z};
  const std::vector<std::pair<std::string, Shape>> shapes{
      {"whole", whole},   {"z", along_z},     {"z data", along_both}, {"data", along_data},
      {"data z", across}, {"taller", taller}, {"wider", wider},       {"owing", owing}};
  std::string text;
  for (const auto& [weight, weight_shape] : shapes) {
    for (const auto& [state, state_shape] : shapes) {
      std::vector<std::pair<std::string, std::string>> outcomes;
      for (const auto& [gradient, gradient_shape] : shapes) {
        Recorder r;
        const Parameter parameter =
            r.parameter("weight", weight_shape, WeightKind::matrix, state_shape);
        const Id given = r.data("gradient", gradient_shape, Precision::fp32);
        const Id factor = r.data("factor", {1, 1, {}}, Precision::fp32);
        const std::string why = refusal([&] { r.update({parameter}, given, factor); });
        std::string said = why.substr(0, why.find(": ", 10));
        if (why == "accepted") {
          const Program program = r.finish();
          for (const Op& op : program.ops) {
            said += std::string(" ") + name(op.kind) + " of " + std::to_string(op.inputs.size()) +
                    " to " + std::to_string(op.outputs.size());
          }
        }
        outcomes.emplace_back(gradient, said);
      }
      text += lines_of("weight " + weight + ", state " + state, outcomes);
    }
  }

  expect_golden("recorded_updates.txt", text);
}

TEST(RecordedUpdates, AreRefusedWhereAFactorIsStillOwed) {
  Recorder r;
  const Shape whole{6, 4, {{y}, {x}, {}, {}, Owed::sum}};
  const Parameter weight = r.parameter("weight", whole, WeightKind::matrix);
  const Id gradient = r.data("gradient", whole, Precision::fp32);
  const Id factor = r.data("factor", {1, 1, {{}, {}, {}, {x}, Owed::sum}}, Precision::fp32);

  EXPECT_EQ(refusal([&] { r.update({weight}, gradient, factor); }),
            "update: operand not reduced: factor (1 x 1, owes sum {x})");
}

// Of fp32 weights that are their own masters the host keeps two kinds of state, else three.
TEST(RecordedUpdates, HaveRoomForEachKindOfStateOfTheHost) {
  for (Precision precision : {Precision::bf16, Precision::fp32}) {
    for (bool cut : {false, true}) {
      Recorder r(precision, OptimizerState::kept, 1000);
      const Shape whole{6, 4, {{y}, {x}, {}, {}, Owed::sum}};
      Shape state = whole;
      if (cut) state.sharding.pieces = {Axis::data};
      const Parameter weight = r.parameter("weight", whole, WeightKind::matrix, state);
      const Id gradient = r.data("gradient", state, Precision::fp32);
      r.update({weight}, gradient, r.data("factor", {1, 1, {}}, Precision::fp32));
      const bool own_master = precision == Precision::fp32 && !cut;

      const Program program = r.finish();

      const Op& update = program.ops.front();
      EXPECT_EQ(program[update.bucket].shape.rows, own_master ? 2000 : 3000);
      EXPECT_EQ(weight.master == weight.weight, own_master);
      const std::vector<Parameter> updated = update.updated();
      ASSERT_EQ(updated.size(), 1U);
      EXPECT_EQ(updated[0].weight == weight.weight, !cut);
      EXPECT_EQ(updated[0].master, weight.master);
      EXPECT_EQ(updated[0].first_moment, weight.first_moment);
      EXPECT_EQ(updated[0].second_moment, weight.second_moment);
    }
  }
}

}  // namespace
}  // namespace fourfold
