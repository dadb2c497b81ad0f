// Reads /proc/self/status; see memory_growth.hpp.
#include "engine/train/memory_growth.hpp"

#include <malloc.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace fourfold {

namespace {

std::int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  throw std::runtime_error("/proc/self/status does not say how much memory is used (VmHWM)");
}

}  // namespace

void give_back_free_memory() {
  malloc_trim(0);
}

MemoryGrowth::MemoryGrowth() {
  // "5" sets the peak back to what is resident now (proc(5)), so that a peak during start-up does
  // not hide growth. Where that is not allowed, the older peak counts.
  std::ofstream("/proc/self/clear_refs") << "5" << std::flush;
  before_ = peak_bytes();
}

std::int64_t MemoryGrowth::bytes() const {
  return peak_bytes() - before_;
}

}  // namespace fourfold
