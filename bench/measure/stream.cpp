// STREAM's four loops; see stream.hpp.
#include "bench/measure/stream.hpp"

#include <unistd.h>

#include <algorithm>

#include "bench/measure/turns.hpp"

namespace fourfold::inline bench::inline measure {

const char* name(StreamLoop loop) {
  constexpr std::array names{"copy", "scale", "add", "triad"};
  return names[static_cast<std::size_t>(loop)];
}

namespace {

constexpr double factor = 0.5;  // exact, so that what the arrays must hold is known exactly

void step(StreamLoop loop, double& a, double& b, double& c) {
  if (loop == StreamLoop::copy) c = a;
  if (loop == StreamLoop::scale) b = factor * c;
  if (loop == StreamLoop::add) c = a + b;
  if (loop == StreamLoop::triad) a = b + factor * c;
}

}  // namespace

Stream::Stream(std::int64_t array_bytes)
    : a_(static_cast<std::size_t>(array_bytes) / sizeof(double), first_a_),
      b_(a_.size(), first_b_),
      c_(a_.size(), first_c_) {}

double Stream::bytes(StreamLoop loop) const {
  const bool two = loop == StreamLoop::copy || loop == StreamLoop::scale;
  return (two ? 2.0 : 3.0) * static_cast<double>(array_bytes());
}

double Stream::seconds(StreamLoop loop, double repeated) {
  const auto more = static_cast<std::size_t>(repeated * static_cast<double>(a_.size()));
  const double seconds = cpu_seconds([&] {
    pass(loop, a_.size());
    if (more > 0) pass(loop, std::min(more, a_.size()));
  });
  step(loop, first_a_, first_b_, first_c_);  // no loop reads what it writes: twice is once
  return seconds;
}

void Stream::pass(StreamLoop loop, std::size_t elements) {
  double* const a = a_.data();
  double* const b = b_.data();
  double* const c = c_.data();
  switch (loop) {
    case StreamLoop::copy:
      for (std::size_t i = 0; i < elements; ++i) c[i] = a[i];
      break;
    case StreamLoop::scale:
      for (std::size_t i = 0; i < elements; ++i) b[i] = factor * c[i];
      break;
    case StreamLoop::add:
      for (std::size_t i = 0; i < elements; ++i) c[i] = a[i] + b[i];
      break;
    case StreamLoop::triad:
      for (std::size_t i = 0; i < elements; ++i) a[i] = b[i] + factor * c[i];
      break;
  }
}

bool Stream::right() const {
  const auto all = [](const std::vector<double>& array, double value) {
    return std::all_of(array.begin(), array.end(), [&](double x) { return x == value; });
  };
  return all(a_, first_a_) && all(b_, first_b_) && all(c_, first_c_);
}

std::int64_t stream_array_bytes(std::int64_t ranks) {
  constexpr std::int64_t least = 16 << 20, most = 256 << 20;
  const std::int64_t wanted = 4 * last_cache_bytes() / (3 * std::max<std::int64_t>(1, ranks));
  return std::clamp(wanted, least, most) / 64 * 64;
}

std::int64_t last_cache_bytes() {
  for (int cache : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    const long bytes = sysconf(cache);
    if (bytes > 0) return bytes;
  }
  return 0;
}

}  // namespace fourfold::inline bench::inline measure
