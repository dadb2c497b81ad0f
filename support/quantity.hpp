// Quantities carry their unit in their type, so that bytes are never added to seconds and a
// bandwidth is what bytes divided by seconds give. The stored number is in the base unit: s, B,
// flop.
#pragma once

#include <compare>

namespace fourfold::inline support {

// Exponents of second, byte and flop: BytesPerSecond is Quantity<-1, 1, 0>.
template <int Time, int Data, int Work>
struct Quantity {
  double value = 0.0;

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value -= other.value;
    return *this;
  }
  constexpr Quantity& operator*=(double factor) {
    value *= factor;
    return *this;
  }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend constexpr Quantity operator*(Quantity a, double factor) { return {a.value * factor}; }
  friend constexpr Quantity operator*(double factor, Quantity a) { return {a.value * factor}; }
  friend constexpr Quantity operator/(Quantity a, double divisor) { return {a.value / divisor}; }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
};

using Seconds = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;
using BytesPerSecond = Quantity<-1, 1, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1>;

constexpr Seconds operator/(Bytes data, BytesPerSecond bandwidth) {
  return {data.value / bandwidth.value};
}
constexpr Seconds operator/(Flops work, FlopsPerSecond rate) {
  return {work.value / rate.value};
}
constexpr BytesPerSecond operator/(Bytes data, Seconds time) {
  return {data.value / time.value};
}
constexpr FlopsPerSecond operator/(Flops work, Seconds time) {
  return {work.value / time.value};
}
constexpr Bytes operator*(BytesPerSecond bandwidth, Seconds time) {
  return {bandwidth.value * time.value};
}
constexpr Flops operator*(FlopsPerSecond rate, Seconds time) {
  return {rate.value * time.value};
}

}  // namespace fourfold::inline support
