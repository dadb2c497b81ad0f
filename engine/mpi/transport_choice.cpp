// Names of transports, and what a call is; see transport_choice.hpp.
#include "engine/mpi/transport_choice.hpp"

#include <array>
#include <stdexcept>

namespace fourfold::inline engine::inline mpi {

namespace {

constexpr std::array<const char*, 4> names{"ring", "library", "window", "auto"};

}  // namespace

const char* name(TransportKind transport) {
  return names[static_cast<std::size_t>(transport)];
}

TransportKind parse_transport(const std::string& text) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text == names[i]) return static_cast<TransportKind>(i);
  }
  throw std::invalid_argument("'" + text +
                              "' is no transport; choose ring, library, window or auto");
}

ChosenCollective class_of(const CollectiveCall& call, std::int64_t members) {
  return {call.kind, call.owed, call.send.precision, members, whole_of(call)};
}

}  // namespace fourfold::inline engine::inline mpi
