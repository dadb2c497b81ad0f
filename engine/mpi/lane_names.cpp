// The words for transports and ways to progress, and back; see lanes.hpp.
#include <array>
#include <stdexcept>

#include "engine/mpi/lanes.hpp"

namespace fourfold {

namespace {

constexpr std::array<const char*, 3> transport_names{"ring", "library", "window"};
constexpr std::array<const char*, 3> progress_names{"tiles", "thread", "none"};

template <typename Choice>
Choice parsed(const std::string& text, const std::array<const char*, 3>& names, const char* what) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text == names[i]) return static_cast<Choice>(i);
  }
  throw std::invalid_argument("'" + text + "' is no " + what + "; choose " + names[0] + ", " +
                              names[1] + " or " + names[2]);
}

}  // namespace

const char* name(Transport transport) {
  return transport_names[static_cast<std::size_t>(transport)];
}

const char* name(ProgressMode mode) {
  return progress_names[static_cast<std::size_t>(mode)];
}

Transport parse_transport(const std::string& text) {
  return parsed<Transport>(text, transport_names, "transport");
}

ProgressMode parse_progress_mode(const std::string& text) {
  return parsed<ProgressMode>(text, progress_names, "way to progress");
}

}  // namespace fourfold
