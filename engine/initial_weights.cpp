// Counter-based normal numbers and GPT-2's rules; see initial_weights.hpp.
#include "engine/initial_weights.hpp"

#include <cmath>
#include <numbers>

#include "engine/adamw.hpp"
#include "engine/scattered.hpp"

namespace fourfold {

namespace {

// In (0, 1]: its logarithm is finite.
double uniform(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 1.0) / 9007199254740992.0;
}

}  // namespace

double normal_number(std::uint64_t seed, const std::string& stream, std::uint64_t index) {
  std::uint64_t key = scattered(seed);
  for (char c : stream) key = scattered(key ^ static_cast<unsigned char>(c));
  const std::uint64_t bits = scattered(key ^ scattered(index));
  const double radius = std::sqrt(-2.0 * std::log(uniform(bits)));
  return radius * std::cos(2.0 * std::numbers::pi * uniform(scattered(bits)));
}

double initial_weight(const Model& model, const std::string& parameter, std::int64_t row,
                      std::int64_t col, std::uint64_t seed) {
  if (parameter.ends_with(".bias")) return 0.0;
  if (!decays(parameter)) return row == 0 ? 1.0 : 0.0;  // layer norm: scale, then offset
  double deviation = 0.02;
  if (parameter.ends_with(".projection.weight") || parameter.ends_with(".down.weight")) {
    deviation /= std::sqrt(2.0 * static_cast<double>(model.layers));
  }
  // Rows are counted in strides that no matrix reaches, so that padding changes no number.
  const std::uint64_t index =
      (static_cast<std::uint64_t>(row) << 32) + static_cast<std::uint64_t>(col);
  return deviation * normal_number(seed, parameter, index);
}

}  // namespace fourfold
