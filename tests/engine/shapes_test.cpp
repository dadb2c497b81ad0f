// Blocks of GPT's and of other shapes: gradients of every parameter equal finite differences of the
// loss, a plainly written Llama has the same loss, and every grid, order and kind of attention
// trains what one rank trains.
#include "tests/shapes.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numbers>

#include "engine/reference/rotary.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/models/layer_pattern.hpp"
#include "tests/engine/tiny.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

// Without a learning rate a step leaves the weights as they are.
AdamW standing_still() {
  AdamW optimizer;
  optimizer.learning_rate = 0.0;
  return optimizer;
}

// (f(-2h) - 8 f(-h) + 8 f(h) - f(2h)) / 12h, wrong by h^4/30 of the fifth derivative.
double finite_difference(Lockstep<double>& run, const std::string& parameter, std::size_t element,
                         const Batch& batch) {
  constexpr double h = 4e-4;
  const Matrix<double> weight = run.weight(parameter);
  const auto loss = [&](double distance) {
    Matrix<double> moved = weight;
    moved.values[element] += distance;
    run.set_weight(parameter, moved);
    return run.step(batch, standing_still()).loss;
  };
  const double slope = (loss(-2 * h) - 8 * loss(-h) + 8 * loss(h) - loss(2 * h)) / (12 * h);
  run.set_weight(parameter, weight);
  return slope;
}

// Of every element, or of each of so many; elements far below their parameter's largest are held to
// that one's digits.
void expect_gradients_equal_finite_differences(const Model& model, const StepOptions& options,
                                               std::size_t each = 1) {
  Lockstep<double> run(model, options, {1, 1, 1, 1}, tiny_seed);
  roughen(run);
  const Batch batch = random_batch(model, 2, tiny_seed);
  run.step(batch, standing_still());
  std::map<std::string, Matrix<double>> gradients;
  for (const std::string& parameter : run.parameters()) {
    gradients[parameter] = run.gradient(parameter);
  }

  for (const auto& [parameter, gradient] : gradients) {
    double largest = 0.0;
    for (double g : gradient.values) largest = std::max(largest, std::abs(g));
    ASSERT_GT(largest, 1e-5) << parameter << " has no gradient to check";
    for (std::size_t i = 0; i < gradient.values.size(); i += each) {
      const double slope = finite_difference(run, parameter, i, batch);
      const double tolerance = 2e-6 * std::max(std::abs(gradient.values[i]), 1e-2 * largest);
      ASSERT_NEAR(gradient.values[i], slope, tolerance)
          << model.name << ": " << parameter << " element " << i;
    }
  }
}

const Model small{"tiny", 2, 8, 2, 4, 11};

TEST(Gradient, EqualsFiniteDifferences) {
  StepOptions micro_batches, unfused;
  micro_batches.micro_batches = 2;
  micro_batches.recompute = Recompute::none;
  unfused.attention = AttentionKernel::unfused;
  unfused.recompute = Recompute::selective;
  for (const StepOptions& options : {StepOptions{}, micro_batches, unfused}) {
    expect_gradients_equal_finite_differences(small, options);
  }
}

TEST(Gradient, OfEveryShapeEqualsFiniteDifferences) {
  for (const Model& model : shapes_of(small)) {
    expect_gradients_equal_finite_differences(model, {}, 3);
  }
}

// The forward pass of a Llama as its papers have it, one token after the other; with windows and
// norms after (Gemma Team, arXiv:2408.00118, section 2), and norms of queries and keys (OLMo Team,
// arXiv:2501.00656, section 2.1; of each head Qwen Team, arXiv:2505.09388, section 2).
class PlainLlama {
 public:
  PlainLlama(const Model& model, Lockstep<double>& run) : model_(model) {
    for (const std::string& name : run.parameters()) weights_[name] = run.weight(name);
  }

  double loss(const Batch& batch) const {
    double sum = 0.0;
    const auto length = static_cast<std::size_t>(model_.sequence);
    for (std::size_t s = 0; s < batch.tokens.size(); s += length) {
      std::vector<Row> stream;
      for (std::size_t t = 0; t < length; ++t) {
        stream.push_back(row(weights_.at("table"), batch.tokens[s + t]));
      }
      for (std::int64_t layer = 0; layer < model_.layers; ++layer) run_block(layer, stream);
      for (std::size_t t = 0; t < length; ++t) {
        const Row normed = norm(stream[t], weights_.at("final_norm"));
        double all = 0.0, of_target = 0.0;
        for (std::int64_t word = 0; word < model_.vocabulary; ++word) {
          const double logit = dot(normed, row(weights_.at("head"), word));
          all += std::exp(logit);
          if (word == batch.targets[s + t]) of_target = logit;
        }
        sum += std::log(all) - of_target;
      }
    }
    return sum / static_cast<double>(batch.tokens.size());
  }

 private:
  using Row = std::vector<double>;

  static Row row(const Matrix<double>& matrix, std::int64_t number) {
    const auto first = matrix.values.begin() + number * matrix.cols;
    return Row(first, first + matrix.cols);
  }
  static double dot(const Row& a, const Row& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
  Row norm(const Row& x, const Matrix<double>& scales) const {
    const double mean = dot(x, x) / static_cast<double>(x.size());
    Row out = x;
    for (std::size_t i = 0; i < x.size(); ++i) {
      out[i] *= scales.values[i] / std::sqrt(mean + model_.norm_epsilon);
    }
    return out;
  }
  // As it is where the model has no norm there.
  Row normed(bool there, const Row& x, const std::string& name) const {
    return there ? norm(x, weights_.at(name)) : x;
  }
  // Columns of all heads of a block's queries, or of its keys, under their norm.
  Row under_norm(const std::string& block, Row x, bool keys) const {
    if (model_.query_key_norm == QueryKeyNormKind::none) return x;
    const auto d = static_cast<std::size_t>(model_.head_columns());
    const auto group = static_cast<std::size_t>(model_.group());
    const bool all = model_.query_key_norm == QueryKeyNormKind::all;
    const Matrix<double>& scales = weights_.at(block + "query_key_norm");
    const Row plain = x;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t head = i / d, of_group = keys ? head : head / group;
      const std::size_t place = keys ? group : head % group;
      const std::size_t scale = all ? (of_group * (group + 1) + place) * d : keys ? d : 0;
      const auto first = plain.begin() + static_cast<std::ptrdiff_t>(all ? 0 : head * d);
      const Row together(first, all ? plain.end() : first + static_cast<std::ptrdiff_t>(d));
      const double mean = dot(together, together) / static_cast<double>(together.size());
      x[i] *= scales.values[scale + i % d] / std::sqrt(mean + model_.norm_epsilon);
    }
    return x;
  }
  static Row head_of(const Row& x, std::int64_t head, std::int64_t d) {
    return Row(x.begin() + head * d, x.begin() + (head + 1) * d);
  }
  // x W from column `first` on.
  static Row product(const Row& x, const Matrix<double>& w, std::int64_t first,
                     std::int64_t count) {
    Row out(static_cast<std::size_t>(count), 0.0);
    for (std::int64_t c = 0; c < count; ++c) {
      for (std::int64_t k = 0; k < w.rows; ++k) {
        out[static_cast<std::size_t>(c)] += x[static_cast<std::size_t>(k)] * w(k, first + c);
      }
    }
    return out;
  }
  Row turned(Row x, std::size_t position) const {
    const std::size_t half = x.size() / 2;
    for (std::size_t i = 0; i < half; ++i) {
      const double power = 2.0 * static_cast<double>(i) / static_cast<double>(x.size());
      const double angle = static_cast<double>(position) / std::pow(model_.rotary.base, power);
      const double a = x[i], b = x[half + i];
      x[i] = a * std::cos(angle) - b * std::sin(angle);
      x[half + i] = b * std::cos(angle) + a * std::sin(angle);
    }
    return x;
  }

  void run_block(std::int64_t layer, std::vector<Row>& stream) const {
    const auto weight = [&](const std::string& name) -> const Matrix<double>& {
      return weights_.at("block" + std::to_string(layer) + "." + name);
    };
    const std::string block = "block" + std::to_string(layer) + ".";
    const bool before = model_.norm_place != NormPlace::after;
    const bool after = model_.norm_place != NormPlace::before;
    const std::int64_t window = layer_kinds(model_, layer, 1).front().window;
    const std::int64_t d = model_.head_columns(), group = model_.group();
    std::vector<Row> contexts(stream.size()), queries_of(stream.size()), keys_of(stream.size()),
        values_of(stream.size());
    for (std::size_t t = 0; t < stream.size(); ++t) {
      const Row input = normed(before, stream[t], block + "norm1");
      for (std::int64_t head = 0; head < model_.heads + 2 * model_.kv_heads(); ++head) {
        const std::int64_t place = head % (group + 2);
        const Row part = product(input, weight("qkv.weight"), head * d, d);
        Row& to = (place < group ? queries_of : place == group ? keys_of : values_of)[t];
        to.insert(to.end(), part.begin(), part.end());
      }
      queries_of[t] = under_norm(block, queries_of[t], false);
      keys_of[t] = under_norm(block, keys_of[t], true);
    }
    for (std::int64_t head = 0; head < model_.heads; ++head) {
      std::vector<Row> keys, values;
      for (std::size_t t = 0; t < stream.size(); ++t) {
        const Row query = turned(head_of(queries_of[t], head, d), t);
        keys.push_back(turned(head_of(keys_of[t], head / group, d), t));
        values.push_back(head_of(values_of[t], head / group, d));
        double all = 0.0;
        Row context(static_cast<std::size_t>(d), 0.0);
        const auto w = static_cast<std::size_t>(window);
        for (std::size_t u = w == 0 || t < w ? 0 : t + 1 - w; u <= t; ++u) {
          const double e = std::exp(dot(query, keys[u]) / std::sqrt(static_cast<double>(d)));
          all += e;
          for (std::size_t c = 0; c < context.size(); ++c) context[c] += e * values[u][c];
        }
        for (double x : context) contexts[t].push_back(x / all);
      }
    }
    for (std::size_t t = 0; t < stream.size(); ++t) {
      const Row projected = product(contexts[t], weight("projection.weight"), 0, model_.hidden);
      add(stream[t], normed(after, projected, block + "after1"));
      const Row up = product(normed(before, stream[t], block + "norm2"), weight("up.weight"), 0,
                             2 * model_.width());
      Row gated;
      for (std::size_t i = 0; i < up.size(); i += 2) {
        gated.push_back(up[i] / (1 + std::exp(-up[i])) * up[i + 1]);
      }
      const Row down = product(gated, weight("down.weight"), 0, model_.hidden);
      add(stream[t], normed(after, down, block + "after2"));
    }
  }
  static void add(Row& to, const Row& what) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += what[i];
  }

  Model model_;
  std::map<std::string, Matrix<double>> weights_;
};

TEST(Llama, HasTheLossOfOneWrittenPlainly) {
  std::vector<Model> models = beyond_llama(tiny_model());
  models.push_back(as_llama(tiny_model()));
  for (const Model& model : models) {
    Lockstep<double> run(model, StepOptions{}, {1, 1, 1, 1}, tiny_seed);
    roughen(run);
    const Batch batch = random_batch(model, 3, tiny_seed);
    const double expected = PlainLlama(model, run).loss(batch);

    EXPECT_NEAR(run.step(batch, {}).loss, expected, 1e-12) << model.name;
  }
}

// Llama 3.1's scaling: frequencies below trained / low tokens a turn are slowed, those above
// trained / high are left, and the rest blends.
TEST(Rotary, ScalesAsLlama31Does) {
  Rotary rotary{500'000.0, 8.0, 1.0, 4.0, 8192};
  const auto plain = [](std::int64_t i) {
    return std::pow(500'000.0, -2.0 * static_cast<double>(i) / 128);
  };

  EXPECT_DOUBLE_EQ(reference::rotary_frequency(rotary, 128, 0), 1.0);
  EXPECT_DOUBLE_EQ(reference::rotary_frequency(rotary, 128, 63), plain(63) / 8);
  const std::int64_t between = 32;  // 8192 tokens are 1.84 turns
  const double turns = 8192 * plain(between) / (2 * std::numbers::pi);
  ASSERT_GT(turns, 1.0);
  ASSERT_LT(turns, 4.0);
  const double kept = (turns - 1) / 3;
  EXPECT_DOUBLE_EQ(reference::rotary_frequency(rotary, 128, between),
                   (1 - kept) * plain(between) / 8 + kept * plain(between));
  rotary.scaling = 1.0;
  EXPECT_DOUBLE_EQ(reference::rotary_frequency(rotary, 128, 63), plain(63));
}

TEST(Shapes, TrainOnAllGridsOfUpTo8RanksWhatOneRankTrains) {
  for (const Model& model : shapes_of(tiny_model())) {
    const Trained expected = trained(model, {}, {1, 1, 1, 1});
    int tried = 0;
    for (const ProcessGrid& grid :
         {ProcessGrid(2, 1, 1, 1), ProcessGrid(1, 2, 1, 1), ProcessGrid(2, 2, 1, 2),
          ProcessGrid(2, 1, 3, 1), ProcessGrid(4, 1, 1, 1), ProcessGrid(1, 3, 2, 1)}) {
      if (find_misfit(model, grid) != Misfit::none) continue;
      SCOPED_TRACE(model.name + " on " + grid.str());
      expect_equal(trained(model, {}, grid), expected);
      ++tried;
    }
    EXPECT_GE(tried, 5) << model.name;
  }
}

// Every order, ZeRO, sequences cut along x, accumulated gradients, unfused attention.
TEST(Shapes, TrainTheSameUnderEveryOption) {
  for (const Model& model : shapes_of(tiny_model(4))) {
    const Trained expected = trained(model, {}, {1, 1, 1, 1});
    StepOptions plain;
    plain.micro_batches = 2;
    StepOptions options = plain;
    const auto expect = [&](const ProcessGrid& grid) {
      SCOPED_TRACE(model.name + " on " + grid.str());
      expect_equal(trained(model, options, grid), expected);
    };
    options.attention = AttentionKernel::unfused;
    options.recompute = Recompute::selective;
    options.sequence_parallel = true;
    expect({2, 1, 1, 1, 2});
    options = plain;
    options.order = PipelineOrder::zero_bubble;
    expect({2, 1, 1, 1, 2});
    options.gradient_reduction = GradientReduction::accumulated;
    options.order = PipelineOrder::interleaved;
    options.chunks = 2;
    options.sequence_parallel = true;
    expect({2, 1, 1, 1, 2});
    options = plain;
    options.recompute = Recompute::none;
    options.data_bucket = 100;
    options.zero = 3;
    expect({1, 2, 1, 2});
    options.zero = 2;
    options.weight_gather = WeightGather::keep;
    expect({1, 1, 1, 2, 2});
    options = plain;
    options.weight_gather = WeightGather::per_pass;
    options.weight_gather_precision = Precision::fp32;
    expect({1, 2, 3, 1});
  }
}

TEST(Shapes, AreRefusedWhereAGridDoesNotShareThemOut) {
  const auto why = [](const Model& model, const ProcessGrid& grid) {
    return refusal([&] { check(model, grid); });
  };
  Model model = as_llama(tiny_model());
  EXPECT_EQ(why(model, {4, 1, 1, 1}),
            "grid 4x1x1x1 does not fit tiny-llama: 2 heads of keys and values do not divide by x = "
            "4; x must be a divisor of them, as each is on one device along x only; copies of them "
            "are said in a model file with key_value_heads = 4");
  model.key_value_heads = 4;
  model.mlp_width = 10;
  EXPECT_EQ(why(model, {4, 1, 1, 1}),
            "grid 4x1x1x1 does not fit tiny-llama: the MLP's 10 columns do not divide by x = 4; x "
            "must be a divisor of them");
  model.key_value_heads = 3;
  EXPECT_EQ(why(model, {1, 1, 1, 1}),
            "4 heads of queries do not divide among 3 heads of keys and values; key_value_heads "
            "must be a divisor of heads");
}

}  // namespace
}  // namespace fourfold::tests
