// Rank arithmetic of the process grid; see process_grid.hpp.
#include "schedule/program/process_grid.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace fourfold::inline schedule::inline program {

const char* name(Axis axis) {
  constexpr std::array<const char*, every_axis.size()> names{
      "x", "y", "z", "data", "pipe", "expert-tensor", "expert", "expert-data"};
  return names[static_cast<int>(axis)];
}

std::optional<Axis> axis_called(const std::string& word) {
  constexpr std::array<std::pair<const char*, Axis>, 10> others{{{"tp", Axis::x},
                                                                 {"tensor", Axis::x},
                                                                 {"fsdp", Axis::z},
                                                                 {"shard", Axis::z},
                                                                 {"dp", Axis::data},
                                                                 {"ddp", Axis::data},
                                                                 {"replicate", Axis::data},
                                                                 {"pp", Axis::pipe},
                                                                 {"pipeline", Axis::pipe},
                                                                 {"stages", Axis::pipe}}};
  std::string small = word;
  for (char& letter : small) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  for (Axis axis : all_axes) {
    if (small == name(axis)) return axis;
  }
  for (const auto& [other, axis] : others) {
    if (small == other) return axis;
  }
  return std::nullopt;
}

ProcessGrid::ProcessGrid(const Coordinates& extents) {
  std::ranges::copy(extents, extents_.begin());
  constexpr std::int64_t most_ranks = 1'000'000'000;
  std::int64_t ranks = 1;
  for (Axis axis : all_axes) {
    if (extent(axis) < 1) {
      throw std::invalid_argument("process grid: extent of axis " + std::string(name(axis)) +
                                  " is " + std::to_string(extent(axis)) +
                                  "; it must be at least 1");
    }
    if (extent(axis) > most_ranks / ranks) {
      throw std::invalid_argument("process grid: " + str() + " has more than " +
                                  std::to_string(most_ranks) + " ranks; no machine has so many");
    }
    ranks *= extent(axis);
  }
}

ProcessGrid ProcessGrid::with_second(std::int64_t expert_tensor, std::int64_t expert) const {
  const std::int64_t ranks = ranks_of_stage();
  const auto divides = [](std::int64_t part, std::int64_t whole) {
    return part >= 1 && part <= whole && whole % part == 0;
  };
  if (!divides(expert_tensor, ranks) || !divides(expert, ranks / expert_tensor)) {
    throw std::invalid_argument("process grid: expert-tensor " + std::to_string(expert_tensor) +
                                " x expert " + std::to_string(expert) + " does not divide the " +
                                std::to_string(ranks) + " ranks of a stage of " + str());
  }
  ProcessGrid grid = *this;
  const bool says_more = expert_tensor > 1 || expert > 1;
  const auto set = [&grid](Axis axis, std::int64_t extent) {
    grid.extents_[static_cast<std::size_t>(axis)] = extent;
  };
  set(Axis::expert_tensor, expert_tensor);
  set(Axis::expert, expert);
  set(Axis::expert_data, says_more ? ranks / expert_tensor / expert : 1);
  return grid;
}

std::int64_t ProcessGrid::stride(Axis axis) const {
  std::int64_t product = 1;
  const Axis first = is_second(axis) ? Axis::expert_tensor : Axis::x;
  for (int inner = static_cast<int>(first); inner < static_cast<int>(axis); ++inner) {
    product *= extents_[static_cast<std::size_t>(inner)];
  }
  return product;
}

Coordinates ProcessGrid::coordinates(std::int64_t rank) const {
  Coordinates result{};
  for (std::size_t i = 0; i < axis_count; ++i) {
    result[i] = rank % extents_[i];
    rank /= extents_[i];
  }
  return result;
}

std::int64_t ProcessGrid::rank(const Coordinates& coordinates) const {
  std::int64_t result = 0;
  for (std::size_t i = axis_count; i-- > 0;) result = result * extents_[i] + coordinates[i];
  return result;
}

std::vector<std::int64_t> ProcessGrid::line(std::int64_t rank, Axis axis) const {
  const std::int64_t step = stride(axis);
  const std::int64_t first = rank - (rank / step % extent(axis)) * step;
  std::vector<std::int64_t> members(static_cast<std::size_t>(extent(axis)));
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i] = first + static_cast<std::int64_t>(i) * step;
  }
  return members;
}

std::string ProcessGrid::str() const {
  std::string text;
  const bool named = extent(Axis::pipe) > 1 || has_second();
  for (Axis axis : every_axis) {
    if (named && extent(axis) == 1) continue;
    if (!named && axis >= Axis::pipe) break;
    if (axis == Axis::expert_data) break;  // what is left
    if (!text.empty()) text += named ? ',' : 'x';
    if (named) text += std::string(name(axis)) + '=';
    text += std::to_string(extent(axis));
  }
  return text;
}

namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw std::invalid_argument("'" + text + "' is no process grid: " + why);
}

// The number at `position`, which moves behind it; nothing where there is none.
std::optional<std::int64_t> number_at(const std::string& text, std::size_t& position) {
  if (position >= text.size() || text[position] < '0' || text[position] > '9') return {};
  std::size_t used = 0;
  const std::int64_t number = std::stoll(text.substr(position, 18), &used);
  position += used;
  return number;
}

// What others cut that is whole here, and why it must be.
const char* why_whole(const std::string& called) {
  if (called == "cp") return "there is no context parallelism: sequences stay whole";
  return nullptr;
}

Axis axis_in(const std::string& text, const std::string& called) {
  if (called == "expert" || called == "ep") return Axis::expert;
  if (called == "expert-tensor" || called == "etp") return Axis::expert_tensor;
  if (const std::optional<Axis> axis = axis_called(called)) return *axis;
  refuse(text, "'" + called +
                   "' is no axis; the axes are x (or tp), y, z (or fsdp), data (or dp) and pipe "
                   "(or pp)");
}

// "x=8,pipe=16,data=8"
ProcessGrid named_extents(const std::string& text) {
  std::array<std::int64_t, every_axis.size()> extents{};
  std::size_t position = 0;
  while (true) {
    const std::size_t equals = text.find('=', position);
    if (equals == std::string::npos) {
      refuse(text, "write each extent with its axis, such as x=8,data=8,pipe=16");
    }
    const std::string called = text.substr(position, equals - position);
    position = equals + 1;
    const auto number = number_at(text, position);
    const bool whole = number && (position == text.size() || text[position] == ',');
    if (const char* why = why_whole(called)) {
      if (!whole || *number != 1) refuse(text, called + " must be 1, as " + why);
      if (position++ == text.size()) break;
      continue;
    }
    const Axis axis = axis_in(text, called);
    if (!whole) {
      refuse(text, std::string("the extent of axis ") + name(axis) + " must be a whole number");
    }
    std::int64_t& extent = extents[static_cast<std::size_t>(axis)];
    if (extent != 0) refuse(text, std::string("axis ") + name(axis) + " stands there twice");
    extent = *number;
    if (extent == 0) refuse(text, std::string("the extent of axis ") + name(axis) + " is 0");
    if (position == text.size()) break;
    ++position;
  }
  for (std::int64_t& extent : extents) extent = std::max<std::int64_t>(extent, 1);
  Coordinates own{};
  std::copy_n(extents.begin(), own.size(), own.begin());
  const auto of = [&](Axis axis) { return extents[static_cast<std::size_t>(axis)]; };
  return ProcessGrid(own).with_second(of(Axis::expert_tensor), of(Axis::expert));
}

}  // namespace

ProcessGrid ProcessGrid::parse(const std::string& text) {
  if (text.find('=') != std::string::npos) return named_extents(text);
  Coordinates extents{1, 1, 1, 1, 1};
  constexpr std::size_t unnamed = 4;
  std::size_t position = 0;
  std::size_t count = 0;
  while (count < unnamed) {
    const auto number = number_at(text, position);
    if (!number) break;
    extents[count++] = *number;
    if (position < text.size() && text[position] == 'x' && count < unnamed) ++position;
  }
  if (count != unnamed || position != text.size()) {
    refuse(text,
           "write four extents as XxYxZxDATA, such as 8x4x16x64, or name them, such as "
           "x=8,data=8,pipe=16");
  }
  return ProcessGrid(extents);
}

}  // namespace fourfold::inline schedule::inline program
