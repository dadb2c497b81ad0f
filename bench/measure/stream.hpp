// Memory bandwidth as STREAM measures it (McCalpin): loops over three arrays that no cache holds.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fourfold::inline bench::inline measure {

enum class StreamLoop : std::uint8_t { copy, scale, add, triad };
inline constexpr std::array all_stream_loops{StreamLoop::copy, StreamLoop::scale, StreamLoop::add,
                                             StreamLoop::triad};
const char* name(StreamLoop loop);

class Stream {
 public:
  // Three arrays of as many bytes.
  explicit Stream(std::int64_t array_bytes);

  std::int64_t array_bytes() const { return static_cast<std::int64_t>(a_.size() * sizeof(double)); }
  // What a loop reads and writes, as STREAM counts: without what a store reads beforehand.
  double bytes(StreamLoop loop) const;
  // CPU seconds of one pass over the arrays; of the repeated share of one more, too
  // (slow_down.hpp).
  double seconds(StreamLoop loop, double repeated = 0.0);
  // Whether the arrays hold what the passes so far must have left.
  bool right() const;

 private:
  void pass(StreamLoop loop, std::size_t elements);

  double first_a_ = 1.0, first_b_ = 2.0, first_c_ = 0.0;  // what every element must be
  std::vector<double> a_, b_, c_;
};

// Bytes of an array with which `ranks` on a node, three arrays each, outgrow its last cache four
// times over, as STREAM's rules ask; from 16 MiB to 256 MiB.
std::int64_t stream_array_bytes(std::int64_t ranks);
// The last cache of a processor, in bytes; 0 where the system does not tell.
std::int64_t last_cache_bytes();

}  // namespace fourfold::inline bench::inline measure
