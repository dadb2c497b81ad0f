// The tokens of one training step, the same on every grid, and how devices and micro-batches share
// them: by whole sequences, first by micro-batch, then by data, then by z.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/words.hpp"
#include "schedule/models/model.hpp"
#include "schedule/program/phase.hpp"
#include "schedule/program/process_grid.hpp"

namespace fourfold::inline engine {

struct Batch {
  std::int64_t sequences = 0;
  std::vector<std::int32_t> tokens;   // sequences x those that the phase reads of each
  std::vector<std::int32_t> targets;  // the token that follows each, or ignored_target
  // Tokens that are there of each sequence, with those of this step; without a number: all of them.
  std::optional<std::int64_t> length{};
};

// A device's share of a micro-batch: its first token within the batch, and how many.
struct Share {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Throws std::invalid_argument with one sentence if a step's sequences do not divide.
void check_divides(std::int64_t sequences, const ProcessGrid& grid, std::int64_t micro_batches);

// Throws std::invalid_argument with one sentence if the batch does not divide, or if its lists, its
// words or its length do not fit the model and the phase.
void check(const Batch& batch, const Model& model, const ProcessGrid& grid,
           std::int64_t micro_batches, Phase phase = Phase::training);

// Throws std::invalid_argument with one sentence if a sequence has no room for so many tokens.
void expect_length(std::int64_t length, const Model& model);

// Throws std::invalid_argument with one sentence if a word is outside the vocabulary.
void expect_words(std::span<const std::int32_t> tokens, std::span<const std::int32_t> targets,
                  std::int64_t vocabulary);

// Throws std::invalid_argument if the grid cuts heads or columns that do not divide, or has more
// stages than the model has layers.
void check(const Model& model, const ProcessGrid& grid);

// Tokens of one micro-batch over all devices are micro_batch_tokens.
Share share(const ProcessGrid& grid, std::int64_t rank, std::int64_t micro_batch,
            std::int64_t micro_batch_tokens);

// Sequences that count upwards in steps of their own, modulo the vocabulary: easy to learn.
Batch counting_batch(const Model& model, std::int64_t sequences);
// Words drawn evenly from the vocabulary; the same seed gives the same batch on every machine.
Batch random_batch(const Model& model, std::int64_t sequences, std::uint64_t seed);

}  // namespace fourfold::inline engine
