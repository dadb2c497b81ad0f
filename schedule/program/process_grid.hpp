// The process grid Gx x Gy x Gz x Gdata x Gpipe: extents, and the map between a rank and its
// coordinates. x is innermost (ranks that differ only in x have numbers next to each other), then
// y, z, data, as in AxoNN; the stages of a pipeline are outermost, as in Megatron-LM. Where ranks
// lie on a machine is RankOrder's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fourfold::inline schedule::inline program {

// The grid's own, then those of a second factoring of a stage's ranks.
enum class Axis : std::uint8_t { x, y, z, data, pipe, expert_tensor, expert, expert_data };

inline constexpr std::array all_axes{Axis::x, Axis::y, Axis::z, Axis::data, Axis::pipe};
inline constexpr std::size_t axis_count = all_axes.size();
inline constexpr std::array second_axes{Axis::expert_tensor, Axis::expert, Axis::expert_data};
inline constexpr std::array every_axis{Axis::x,      Axis::y,          Axis::z,
                                       Axis::data,   Axis::pipe,       Axis::expert_tensor,
                                       Axis::expert, Axis::expert_data};
constexpr bool is_second(Axis axis) {
  return axis >= Axis::expert_tensor;
}

const char* name(Axis axis);
// One of the grid's own, by its name or as others call it: tp, fsdp, dp and pp.
std::optional<Axis> axis_called(const std::string& word);

// A rank's place along each axis.
using Coordinates = std::array<std::int64_t, axis_count>;

class ProcessGrid {
 public:
  ProcessGrid() = default;
  // Throws std::invalid_argument if an extent is below 1 or the grid beyond all machines.
  ProcessGrid(std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t data,
              std::int64_t pipe = 1)
      : ProcessGrid(Coordinates{x, y, z, data, pipe}) {}
  explicit ProcessGrid(const Coordinates& extents);

  // The ranks of a stage factored once more, for layers that lie otherwise than the rest (as
  // Megatron-LM folds its experts): x y z data = expert tensor x expert x expert data, the first
  // innermost. Throws std::invalid_argument if that does not divide.
  ProcessGrid with_second(std::int64_t expert_tensor, std::int64_t expert) const;
  // Whether it says anything: else its axes have one member each.
  bool has_second() const { return extent(Axis::expert_tensor) > 1 || extent(Axis::expert) > 1; }

  std::int64_t extent(Axis axis) const { return extents_[static_cast<int>(axis)]; }
  std::int64_t size() const { return ranks_of_stage() * extent(Axis::pipe); }
  std::int64_t ranks_of_stage() const { return stride(Axis::pipe); }

  // Distance in ranks between neighbours on `axis`: the product of the inner extents of its
  // factoring.
  std::int64_t stride(Axis axis) const;

  Coordinates coordinates(std::int64_t rank) const;
  std::int64_t coordinate(std::int64_t rank, Axis axis) const {
    return rank / stride(axis) % extent(axis);
  }
  std::int64_t rank(const Coordinates& coordinates) const;

  // The ranks that differ from `rank` only along `axis`, in order of their coordinate.
  // Example: grid 2x2x1x2, line(5, y) = {5, 7}.
  std::vector<std::int64_t> line(std::int64_t rank, Axis axis) const;

  // "8x4x16x64", the form people type and read; with a pipeline "x=8,data=64,pipe=16", with a
  // second factoring "x=8,data=64,expert=16".
  std::string str() const;
  // Reads both forms of str(); what is not named is 1, and tp, fsdp, dp, pp, ep and etp are x, z,
  // data, pipe, expert and expert-tensor. Throws std::invalid_argument with a sentence if the text
  // is no grid.
  static ProcessGrid parse(const std::string& text);

  bool operator==(const ProcessGrid&) const = default;

 private:
  std::array<std::int64_t, every_axis.size()> extents_{1, 1, 1, 1, 1, 1, 1, 1};
};

}  // namespace fourfold::inline schedule::inline program
