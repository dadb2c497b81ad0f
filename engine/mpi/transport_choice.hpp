// Which transport each collective of a run goes by, and how fast each candidate was: a value that
// is printed and saved with checkpoints.
#pragma once

#include <string>
#include <vector>

#include "engine/communicator.hpp"

namespace fourfold::inline engine::inline mpi {

// Who moves the bytes: our rings over point-to-point messages (sums in a fixed order), the MPI
// library's own non-blocking collectives, a window of memory shared within a node, or of these
// whichever was the fastest that gives the ring's bits.
enum class TransportKind : std::uint8_t { ring, library, window, automatic };
const char* name(TransportKind transport);
// Throws std::invalid_argument that lists the known names.
TransportKind parse_transport(const std::string& text);

// A collective up to its addresses; of `elements`, the whole.
struct ChosenCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Owed owed = Owed::sum;
  Precision precision = Precision::fp32;
  std::int64_t members = 1, elements = 0;

  auto operator<=>(const ChosenCollective&) const = default;
  std::int64_t bytes() const { return elements * bytes_per_element(precision); }
};
ChosenCollective class_of(const CollectiveCall& call, std::int64_t members);

struct TransportTiming {
  TransportKind transport = TransportKind::ring;
  double seconds = 0.0;  // the best of some rounds, of the member that took longest
};

struct TransportChoice {
  std::string channel;
  ChosenCollective collective;
  TransportKind transport = TransportKind::ring;  // the fastest
  std::vector<TransportTiming> timings;           // of all that are right
};

}  // namespace fourfold::inline engine::inline mpi
