// All ranks as one line, what its members bring to a collective and what they must hold after it,
// by plain loops in the order that engine/plan/ring_order.hpp documents.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/bf16.hpp"
#include "engine/communicator.hpp"
#include "engine/mpi/channels.hpp"
#include "engine/mpi/handles.hpp"
#include "engine/plan/ring_order.hpp"
#include "tests/channels.hpp"
#include "tests/host.hpp"

namespace fourfold::tests {

// A member's element: of either sign and of very different sizes, so that another order of sums
// gives other bits.
inline float contribution(std::int64_t member, std::int64_t element, Precision precision) {
  std::uint32_t x = static_cast<std::uint32_t>(member * 7919 + element * 104729 + 12345);
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  // Sign, exponent from -8 to 7, mantissa.
  const std::uint32_t exponent = 119U + ((x >> 23) & 15U);
  const float of_sign = std::bit_cast<float>((x & 0x80000000U) | exponent << 23 | (x & 0x7fffffU));
  return precision == Precision::bf16 ? rounded_to_bf16(of_sign) : of_sign;
}

// Memory for a tensor of one row.
struct Buffer {
  std::vector<std::byte> bytes;
  Precision precision;

  // Filled with what no result contains.
  Buffer(std::int64_t elements, Precision p)
      : bytes(static_cast<std::size_t>(elements * bytes_per_element(p)), std::byte{0x5a}),
        precision(p) {}

  std::int64_t size() const {
    return static_cast<std::int64_t>(bytes.size()) / bytes_per_element(precision);
  }
  Tensor tensor() { return {bytes.data(), 1, size(), precision}; }
  float at(std::int64_t i) const {
    std::uint32_t bits = 0;
    if (precision == Precision::bf16) {
      std::uint16_t half = 0;
      std::memcpy(&half, bytes.data() + 2 * i, 2);
      bits = static_cast<std::uint32_t>(half) << 16;
    } else {
      std::memcpy(&bits, bytes.data() + 4 * i, 4);
    }
    return std::bit_cast<float>(bits);
  }
  void set(std::int64_t i, float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto half = static_cast<std::uint16_t>(bits >> 16);
    if (precision == Precision::bf16) {
      std::memcpy(bytes.data() + 2 * i, &half, 2);
    } else {
      std::memcpy(bytes.data() + 4 * i, &bits, 4);
    }
  }
};

// Sum or maximum of element i, which lies in `chunk`.
inline float expected_element(const CollectiveCall& call, std::int64_t members, std::int64_t chunk,
                              std::int64_t i) {
  const Precision precision = call.send.precision;
  float so_far = contribution(ring_member(members, chunk, 0), i, precision);
  for (std::int64_t place = 1; place < members; ++place) {
    const float own = contribution(ring_member(members, chunk, place), i, precision);
    so_far = call.owed == Owed::sum ? so_far + own : std::max(so_far, own);
    if (precision == Precision::bf16) so_far = rounded_to_bf16(so_far);
  }
  return so_far;
}

// One collective of `elements` in all: operands filled with the contributions, and the result that
// the member at `position` must hold.
struct Trial {
  CollectiveCall call;
  Buffer send, receive, expected;

  Trial(CollectiveKind kind, Owed owed, Precision precision, std::int64_t elements,
        std::int64_t members, std::int64_t position)
      : send(kind == CollectiveKind::all_gather ? ring_piece(elements, members) : elements,
             precision),
        receive(kind == CollectiveKind::reduce_scatter ? ring_piece(elements, members) : elements,
                precision),
        expected(receive.size(), precision) {
    call = {kind, owed, send.tensor(), receive.tensor()};
    const RingChunk own = ring_chunk(elements, members, position);
    const bool gather = kind == CollectiveKind::all_gather;
    for (std::int64_t i = 0; i < send.size(); ++i) {
      send.set(i, contribution(position, gather ? own.first + i : i, precision));
    }
    if (kind == CollectiveKind::reduce_scatter) {
      std::fill(expected.bytes.begin(), expected.bytes.end(), std::byte{0});
    }
    for (std::int64_t chunk = 0; chunk < members; ++chunk) {
      const RingChunk part = ring_chunk(elements, members, chunk);
      if (kind == CollectiveKind::reduce_scatter && chunk != position) continue;
      const std::int64_t to = kind == CollectiveKind::reduce_scatter ? 0 : part.first;
      for (std::int64_t i = 0; i < part.elements; ++i) {
        const std::int64_t element = part.first + i;
        expected.set(to + i, gather ? contribution(chunk, element, precision)
                                    : expected_element(call, members, chunk, element));
      }
    }
  }
  // The tensors point into the buffers.
  Trial(Trial&&) = default;
  double greatest_difference() const {
    double greatest = 0;
    for (std::int64_t i = 0; i < receive.size(); ++i) {
      const double distance = std::abs(double(receive.at(i)) - double(expected.at(i)));
      greatest = distance <= greatest ? greatest : distance;  // what is not a number is greatest
    }
    return greatest;
  }
  bool equal() const { return receive.bytes == expected.bytes; }
};

inline constexpr std::array<CollectiveKind, 3> reducing_kinds{
    CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce};

inline constexpr std::array<TransportKind, 3> all_transports{
    TransportKind::ring, TransportKind::library, TransportKind::window};

// All ranks in one line along x.
struct OneLine {
  explicit OneLine(TransportKind transport, ProgressMode mode = ProgressMode::none,
                   DeviceMemory& memory = host_memory())
      : channels({size_of(MPI_COMM_WORLD), 1, 1, 1}, made_up_channels(), transport, mode, memory) {}
  Channels channels;
  Communicator& channel = channels[{Axis::x, ""}];
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
};

}  // namespace fourfold::tests
