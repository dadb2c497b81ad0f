// Whether what training has made of the weights can be trained on: only that is worth a checkpoint.
#pragma once

#include <string>

#include "engine/executor.hpp"
#include "engine/weights.hpp"

namespace fourfold::inline engine::inline train::inline run {

// A weight, master or moment of this rank that holds infinities or what is no number; empty if none
// does.
std::string unsound_block(const Weights& weights);

// A rank's share of so many sequences of words that are made up: their loss is a number, if weights
// are sound. No file can keep anybody from reading them.
LocalBatch made_up_words(const Model& model, const ProcessGrid& grid, std::int64_t sequences);

// "nan", whatever its sign.
std::string number_text(double number);

}  // namespace fourfold::inline engine::inline train::inline run
