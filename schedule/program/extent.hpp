// How many rows or columns a matrix has: a constant, or a rational times a quantity that is known
// only when the step is laid out, such as the tokens of a micro-batch. One program serves all.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>

namespace fourfold::inline schedule::inline program {

// What an extent may count besides constants.
enum class Counting : std::uint8_t { ones, tokens };

// The values of the counted quantities in one layout.
struct Quantities {
  std::int64_t tokens = 0;  // of one micro-batch over all devices

  constexpr std::int64_t operator[](Counting counted) const {
    return counted == Counting::ones ? 1 : tokens;
  }
};

class Extent {
 public:
  constexpr Extent() = default;
  constexpr Extent(std::int64_t constant) : times_(constant) {}  // NOLINT: 64 is an extent

  // times / over of the counted quantity. Example: tokens x 2 of 8 experts: of(tokens, 2, 8).
  static constexpr Extent of(Counting counted, std::int64_t times = 1, std::int64_t over = 1) {
    Extent extent;
    const std::int64_t common = std::gcd(times, over);
    extent.times_ = times / common;
    extent.over_ = over / common;
    extent.counted_ = counted;
    return extent;
  }

  constexpr bool constant() const { return counted_ == Counting::ones; }
  // Rounded up.
  constexpr std::int64_t value(const Quantities& quantities) const {
    return (times_ * quantities[counted_] + over_ - 1) / over_;
  }
  // One that is cut only into parts of whole units: a device has room for what fills its last one.
  constexpr Extent in_units(std::int64_t unit) const {
    Extent extent = *this;
    extent.unit_ = unit;
    return extent;
  }
  // So many in each part, however many parts there are: rows at the edges of what is cut.
  static constexpr Extent each(std::int64_t constant) {
    return Extent(constant).in_units(constant);
  }
  // Of one of so many parts, rounded up. Example: 50'257 in units of 128 over 4 are 12'672 each.
  constexpr std::int64_t part(const Quantities& quantities, std::int64_t parts) const {
    const std::int64_t each = (value(quantities) + parts - 1) / parts;
    return (each + unit_ - 1) / unit_ * unit_;
  }
  constexpr Extent operator*(std::int64_t factor) const {
    return of(counted_, times_ * factor, over_);
  }
  constexpr Extent operator/(std::int64_t divisor) const {
    return of(counted_, times_, over_ * divisor);
  }

  constexpr bool operator==(const Extent&) const = default;

  // "64", "tokens", "2/8 tokens", "50257 in units of 128".
  std::string str() const;

 private:
  std::int64_t times_ = 0;
  std::int64_t over_ = 1;
  std::int64_t unit_ = 1;
  Counting counted_ = Counting::ones;
};

// The tokens of a micro-batch.
inline constexpr Extent all_tokens = Extent::of(Counting::tokens);

}  // namespace fourfold::inline schedule::inline program
