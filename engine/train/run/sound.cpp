// Looks at exponents, piece by piece; see sound.hpp.
#include "engine/train/run/sound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "schedule/program/sharding.hpp"

namespace fourfold::inline engine::inline train::inline run {

namespace {

// All ones in the exponent: an infinity, or no number.
template <typename Bits>
bool holds_one(const std::byte* bytes, std::int64_t count, Bits exponent) {
  Bits found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Bits bits = 0;
    std::memcpy(&bits, bytes + i * static_cast<std::int64_t>(sizeof bits), sizeof bits);
    found |= static_cast<Bits>((bits & exponent) == exponent ? 1 : 0);
  }
  return found != 0;
}

bool is_sound(const Tensor& block, DeviceMemory& memory) {
  constexpr std::int64_t piece = std::int64_t{1} << 20;
  HostView view(memory);
  for (std::int64_t first = 0; first < block.size(); first += piece) {
    const Tensor part = block.stretch(first, std::min(piece, block.size() - first));
    const std::byte* bytes = view.read(part.data, part.bytes());
    const bool unsound = part.precision == Precision::bf16
                             ? holds_one<std::uint16_t>(bytes, part.size(), 0x7f80U)
                             : holds_one<std::uint32_t>(bytes, part.size(), 0x7f800000U);
    if (unsound) return false;
  }
  return true;
}

}  // namespace

std::string unsound_block(const Weights& weights) {
  for (const Stored& stored : weights.all()) {
    if (!is_sound(stored.block, *stored.memory)) return stored.name;
  }
  return "";
}

std::string number_text(double number) {
  return std::isnan(number) ? "nan" : fmt::format("{}", number);
}

LocalBatch made_up_words(const Model& model, const ProcessGrid& grid, std::int64_t sequences) {
  const std::int64_t copies = token_cuts.parts(grid);
  LocalBatch batch;
  batch.sequences = sequences;
  for (std::int64_t i = 0; i < sequences * model.sequence / copies; ++i) {
    batch.tokens.push_back(static_cast<std::int32_t>(31 * i % model.vocabulary));
    batch.targets.push_back(static_cast<std::int32_t>(31 * (i + 1) % model.vocabulary));
  }
  return batch;
}

}  // namespace fourfold::inline engine::inline train::inline run
