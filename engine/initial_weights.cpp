// Counter-based normal numbers and GPT-2's rules; see initial_weights.hpp.
#include "engine/initial_weights.hpp"

#include <cmath>
#include <numbers>

#include "support/random.hpp"

namespace fourfold::inline engine {

namespace {

// In (0, 1]: its logarithm is finite.
double uniform(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 1.0) / 9007199254740992.0;
}

}  // namespace

NormalNumbers::NormalNumbers(std::uint64_t seed, const std::string& name) : key_(scattered(seed)) {
  for (char c : name) key_ = scattered(key_ ^ static_cast<unsigned char>(c));
}

double NormalNumbers::operator[](std::uint64_t index) const {
  const std::uint64_t bits = scattered(key_ ^ scattered(index));
  const double radius = std::sqrt(-2.0 * std::log(uniform(bits)));
  return radius * std::cos(2.0 * std::numbers::pi * uniform(scattered(bits)));
}

InitialWeights::InitialWeights(WeightKind kind, const std::string& parameter, std::int64_t layers,
                               std::uint64_t seed)
    : kind_(kind), numbers_(seed, parameter), deviation_(0.02) {
  if (kind == WeightKind::residual_matrix) {
    deviation_ /= std::sqrt(2.0 * static_cast<double>(layers));
  }
}

double InitialWeights::operator()(std::int64_t row, std::int64_t col) const {
  if (kind_ == WeightKind::bias) return 0.0;
  if (kind_ == WeightKind::norm) return row == 0 ? 1.0 : 0.0;
  // Rows are counted in strides that no matrix reaches, so that padding changes no number.
  return deviation_ *
         numbers_[(static_cast<std::uint64_t>(row) << 32) + static_cast<std::uint64_t>(col)];
}

}  // namespace fourfold::inline engine
