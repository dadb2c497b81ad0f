// The names of the kinds of link.
#include "platforms/link.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>

namespace fourfold {

const char* name(LinkKind kind) {
  constexpr std::array names{"inner", "nic out", "nic in", "local", "global",
                             "leaf",  "spine",   "core",   "torus", "port"};
  const auto index = static_cast<std::size_t>(kind);
  if (index >= names.size()) throw std::invalid_argument("this link kind has no name");
  return names[index];
}

}  // namespace fourfold
