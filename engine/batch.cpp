// Sharing and checking of a step's tokens, and made-up ones; see batch.hpp.
#include "engine/batch.hpp"

#include <random>
#include <stdexcept>
#include <string>

#include "engine/plan/block_place.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/program/sharding.hpp"

namespace fourfold::inline engine {

void check_divides(std::int64_t sequences, const ProcessGrid& grid, std::int64_t micro_batches) {
  const std::int64_t parts = batch_unit(grid, micro_batches);
  if (sequences < 1 || sequences % parts != 0) {
    throw std::invalid_argument(
        "a batch of " + std::to_string(sequences) + " sequences does not divide among " +
        std::to_string(micro_batches) + " micro-batches on grid " + grid.str() +
        "; it must be a multiple of micro-batches x z x data = " + std::to_string(parts));
  }
}

void check(const Batch& batch, const Model& model, const ProcessGrid& grid,
           std::int64_t micro_batches, Phase phase) {
  check_divides(batch.sequences, grid, micro_batches);
  const std::int64_t each = tokens_of_sequence(model, phase);
  const auto count = static_cast<std::size_t>(batch.sequences * each);
  for (const std::vector<std::int32_t>* words : {&batch.tokens, &batch.targets}) {
    if (words->size() != count) {
      throw std::invalid_argument("a batch of " + std::to_string(batch.sequences) +
                                  " sequences of " + std::to_string(each) + " tokens needs " +
                                  std::to_string(count) + " tokens and as many targets, not " +
                                  std::to_string(words->size()));
    }
  }
  expect_words(batch.tokens, batch.targets, model.vocabulary);
  if (batch.length) expect_length(*batch.length, model);
}

void expect_length(std::int64_t length, const Model& model) {
  if (length >= 1 && length <= model.sequence) return;
  throw std::invalid_argument("a batch has " + std::to_string(length) +
                              " tokens of each sequence; it must be 1 to " +
                              std::to_string(model.sequence));
}

void expect_words(std::span<const std::int32_t> tokens, std::span<const std::int32_t> targets,
                  std::int64_t vocabulary) {
  const auto expect = [&](std::int32_t word) {
    if (word >= 0 && word < vocabulary) return;
    throw std::invalid_argument("token " + std::to_string(word) + " is outside the vocabulary of " +
                                std::to_string(vocabulary) + " words");
  };
  for (std::int32_t word : tokens) expect(word);
  for (std::int32_t word : targets) {
    if (word != ignored_target) expect(word);
  }
}

void check(const Model& model, const ProcessGrid& grid) {
  if (const std::string why = contradiction(model); !why.empty()) throw std::invalid_argument(why);
  const Misfit why = find_misfit(model, grid);
  if (why == Misfit::heads) {
    throw std::invalid_argument(std::to_string(model.heads) +
                                " heads do not divide along x on grid " + grid.str() +
                                "; x must divide the number of heads");
  }
  if (why == Misfit::key_value_heads || why == Misfit::mlp) {
    throw std::invalid_argument(misfit(model, grid, replicas(grid), {}));
  }
  if (why == Misfit::divisibility) {
    const std::string axis = name(indivisible_axis(model, grid));
    throw std::invalid_argument("hidden size " + std::to_string(model.hidden) +
                                " does not divide along " + axis + " on grid " + grid.str() + "; " +
                                axis + " must divide the hidden size");
  }
  if (why == Misfit::layers) {
    throw std::invalid_argument(
        "grid " + grid.str() + " has " + std::to_string(grid.extent(Axis::pipe)) + " stages for " +
        std::to_string(model.layers) + " layers; pipe must be at most the layers");
  }
}

Share share(const ProcessGrid& grid, std::int64_t rank, std::int64_t micro_batch,
            std::int64_t micro_batch_tokens) {
  const Part part = part_of(micro_batch_tokens, grid, rank, token_cuts);
  return {micro_batch * micro_batch_tokens + part.first, part.extent};
}

Batch counting_batch(const Model& model, std::int64_t sequences) {
  Batch batch;
  batch.sequences = sequences;
  for (std::int64_t s = 0; s < sequences; ++s) {
    for (std::int64_t t = 0; t < model.sequence; ++t) {
      const auto word = [&](std::int64_t position) {
        return static_cast<std::int32_t>((s + position * (1 + s % 3)) % model.vocabulary);
      };
      batch.tokens.push_back(word(t));
      batch.targets.push_back(word(t + 1));
    }
  }
  return batch;
}

Batch random_batch(const Model& model, std::int64_t sequences, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto word = [&] {
    return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(model.vocabulary));
  };
  Batch batch;
  batch.sequences = sequences;
  for (std::int64_t i = 0; i < sequences * model.sequence; ++i) {
    batch.tokens.push_back(word());
    batch.targets.push_back(word());
  }
  return batch;
}

}  // namespace fourfold::inline engine
