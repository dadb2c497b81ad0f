// Copies, and sums compiled for several vector widths; see host_memory.hpp.
#include "engine/host_memory.hpp"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/vector_widths.hpp"

namespace fourfold::inline engine {

namespace {

inline float widened(std::uint16_t x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16);
}

// As rounded_to_bf16(), without a branch. A sum that is not a number is quiet, so its upper half is
// not a number either.
inline std::uint16_t narrowed(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  return static_cast<std::uint16_t>((x == x ? rounded : bits) >> 16);
}

FOURFOLD_CLONES
void add_fp32(float* result, const float* so_far, const float* own, std::int64_t elements) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < elements; ++i) result[i] = so_far[i] + own[i];
}

FOURFOLD_CLONES
void max_fp32(float* result, const float* so_far, const float* own, std::int64_t elements) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < elements; ++i) result[i] = so_far[i] < own[i] ? own[i] : so_far[i];
}

FOURFOLD_CLONES
void add_bf16(std::uint16_t* result, const std::uint16_t* so_far, const std::uint16_t* own,
              std::int64_t elements) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < elements; ++i) {
    result[i] = narrowed(widened(so_far[i]) + widened(own[i]));
  }
}

FOURFOLD_CLONES
void max_bf16(std::uint16_t* result, const std::uint16_t* so_far, const std::uint16_t* own,
              std::int64_t elements) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < elements; ++i) {
    result[i] = widened(so_far[i]) < widened(own[i]) ? own[i] : so_far[i];
  }
}

}  // namespace

void combine(Combination combination, std::byte* result, const std::byte* so_far,
             const std::byte* own, std::int64_t elements) {
  const bool sum = combination.owed == Owed::sum;
  if (combination.precision == Precision::bf16) {
    (sum ? add_bf16 : max_bf16)(reinterpret_cast<std::uint16_t*>(result),
                                reinterpret_cast<const std::uint16_t*>(so_far),
                                reinterpret_cast<const std::uint16_t*>(own), elements);
  } else {
    (sum ? add_fp32 : max_fp32)(reinterpret_cast<float*>(result),
                                reinterpret_cast<const float*>(so_far),
                                reinterpret_cast<const float*>(own), elements);
  }
}

std::byte* HostMemory::take(std::int64_t bytes) {
  constexpr std::size_t alignment = 64;
  const std::size_t lines = static_cast<std::size_t>(bytes) / alignment + 1;
  void* const memory = std::aligned_alloc(alignment, lines * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

void HostMemory::give_back(std::byte* data) noexcept {
  std::free(data);
}

void HostMemory::copy_in(std::byte* to, const std::byte* host, std::int64_t bytes) {
  copy(to, host, bytes);
}

void HostMemory::copy_out(std::byte* host, const std::byte* from, std::int64_t bytes) {
  copy(host, from, bytes);
}

void HostMemory::copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0) std::memmove(to, from, static_cast<std::size_t>(bytes));
}

void HostMemory::fill_zeros(std::byte* at, std::int64_t bytes) {
  if (bytes > 0) std::memset(at, 0, static_cast<std::size_t>(bytes));
}

void HostMemory::reduce(Combination combination, std::byte* result, const std::byte* so_far,
                        const std::byte* own, std::int64_t elements) {
  combine(combination, result, so_far, own, elements);
}

}  // namespace fourfold::inline engine
