// What a rank of a run does at the moment, in a word and a step: written by the thread that
// computes, read by another that watches it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace fourfold::inline engine::inline train::inline run {

enum class Doing : std::uint8_t { starting, training, validating, checkpoint, sampling, ended };

inline const char* name(Doing doing) {
  constexpr std::array names{"starting",     "training",  "validating", "writing a checkpoint",
                             "drawing text", "at its end"};
  return names.at(static_cast<std::size_t>(doing));
}

class Activity {
 public:
  void note(Doing doing, std::int64_t step) {
    step_.store(step, std::memory_order_relaxed);
    doing_.store(doing, std::memory_order_relaxed);
  }
  Doing doing() const { return doing_.load(std::memory_order_relaxed); }
  std::int64_t step() const { return step_.load(std::memory_order_relaxed); }

 private:
  std::atomic<Doing> doing_ = Doing::starting;
  std::atomic<std::int64_t> step_ = 0;
};

}  // namespace fourfold::inline engine::inline train::inline run
