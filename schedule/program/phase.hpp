// What a model is run for: a step of training, or forward passes alone. Each is a program of the
// same layers.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace fourfold::inline schedule::inline program {

enum class Phase : std::uint8_t { training, evaluation, prefill, decode };

// Keys and values of the tokens before, which attention looks back at.
enum class Cache : std::uint8_t { none, written, read };

struct PhaseRow {
  Phase phase;
  const char* name;
  bool trains;  // backward passes, an optimizer
  bool loss;    // knows the words that follow, and says how likely they were
  Cache cache;
  bool one_token;  // of each sequence, whose others have been read
};

// A decoding step reads one token of each sequence with those before it in the cache.
inline constexpr std::array phases{
    PhaseRow{Phase::training, "training", true, true, Cache::none, false},
    PhaseRow{Phase::evaluation, "evaluation", false, true, Cache::none, false},
    PhaseRow{Phase::prefill, "prefill", false, false, Cache::written, false},
    PhaseRow{Phase::decode, "decode", false, false, Cache::read, true}};

constexpr const PhaseRow& row_of(Phase phase) {
  return phases[static_cast<std::size_t>(phase)];
}

// Throws std::invalid_argument with a sentence that names those that there are.
Phase phase_named(const std::string& name);

}  // namespace fourfold::inline schedule::inline program
