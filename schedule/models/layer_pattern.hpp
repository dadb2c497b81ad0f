// Kinds of layers that repeat through a model's stack: "attention window_tokens=4096, attention"
// has a window in every other layer, the first included. Commas part layers; behind a kind's name
// stand its own fields.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/models/model.hpp"

namespace fourfold::inline schedule::inline models {

// What one layer has of its own.
struct LayerKind {
  std::int64_t window = 0;  // tokens that one looks at, itself and those before; 0: all

  bool operator==(const LayerKind&) const = default;
};

// Why it is no pattern, as a sentence without its end; empty if it is one.
std::string pattern_fault(const std::string& pattern);
// The kinds that repeat: one that has nothing of its own, where there is no pattern.
std::vector<LayerKind> kinds_in(const std::string& pattern);
// The kind of a model's layers that begin with `first`, one after the other.
std::vector<LayerKind> layer_kinds(const Model& model, std::int64_t first, std::int64_t count);
// Of all layers, the tokens of a sequence that fit their windows in the mean.
double mean_window(const Model& model);

// A pattern of attention with windows.
std::string pattern_of_windows(const std::vector<std::int64_t>& windows);

}  // namespace fourfold::inline schedule::inline models
