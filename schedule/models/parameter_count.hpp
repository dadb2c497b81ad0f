// How many numbers a model trains, counted from what the program of its only stage declares.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/models/model.hpp"

namespace fourfold::inline schedule::inline models {

// All that is trained, at the true vocabulary.
double parameter_count(const Model& model);

// Elements of the weights of a layer that are in products: QKV, projection, up, down.
std::vector<std::int64_t> product_weights(const Model& model);

}  // namespace fourfold::inline schedule::inline models
