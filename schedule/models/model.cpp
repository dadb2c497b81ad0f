// The published formulas about a GPT model; see model.hpp.
#include "schedule/models/model.hpp"

namespace fourfold {

std::string excess(const Model& model) {
  struct Extent {
    const char* key;
    std::int64_t value, most;
    const char* reason;
  };
  const char* counted = "so that 64 bits count every byte of a step";
  for (const Extent& one :
       {Extent{"layers", model.layers, most_layers,
               "as every operation of every layer is written down, 0.1 MB a layer"},
        Extent{"hidden", model.hidden, most_hidden, counted},
        Extent{"sequence_tokens", model.sequence, most_sequence, counted},
        Extent{"vocabulary", model.vocabulary, most_vocabulary, counted}}) {
    if (one.value <= one.most) continue;
    return std::string(one.key) + " = " + std::to_string(one.value) + ", but it must be at most " +
           std::to_string(one.most) + ", " + one.reason;
  }
  return "";
}

double parameter_count(const Model& model) {
  const auto l = static_cast<double>(model.layers);
  const auto h = static_cast<double>(model.hidden);
  const auto v = static_cast<double>(model.vocabulary);
  const auto s = static_cast<double>(model.sequence);
  return 12 * l * h * h * (1 + 13 / (12 * h) + (v + s) / (12 * l * h));
}

Flops model_flops(const Model& model, std::int64_t sequences, Recompute recompute) {
  const auto l = static_cast<double>(model.layers);
  const auto h = static_cast<double>(model.hidden);
  const auto v = static_cast<double>(model.vocabulary);
  const auto s = static_cast<double>(model.sequence);
  const auto b = static_cast<double>(sequences);
  const bool full = recompute == Recompute::full;
  const double passes = full ? 96 : 72;
  const double head = v / ((full ? 16 : 12) * l * h);
  return {passes * b * s * l * h * h * (1 + s / (6 * h) + head)};
}

std::string model_flops_convention(Recompute recompute) {
  return recompute == Recompute::full ? "Narayanan et al. SC21 eq. 3, recompute counted"
                                      : "Narayanan et al. SC21 eq. 3, no recompute";
}

}  // namespace fourfold
