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
// A pattern of these kinds.
std::string pattern_of(const std::vector<LayerKind>& kinds);

// A layer of each kind that a model has, and how many of its layers are of that kind: what is
// counted by layers is recorded of these alone.
struct ShortStack {
  Model model;
  std::vector<std::int64_t> times;  // by layer of `model`

  // What has no layer (-1) is there once.
  std::int64_t times_of(std::int64_t layer) const {
    return layer == -1 ? 1 : times[static_cast<std::size_t>(layer)];
  }
};
ShortStack short_stack(const Model& model);

}  // namespace fourfold::inline schedule::inline models
