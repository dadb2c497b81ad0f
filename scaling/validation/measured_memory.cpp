// Names of what is measured, as the cells of a set have them; see measured_memory.hpp.
#include "scaling/validation/measured_memory.hpp"

namespace fourfold::inline scaling::inline validation {

const char* name(PeakIs is) {
  constexpr const char* names[]{"allocated", "reserved", "device"};
  return names[static_cast<int>(is)];
}

const char* name(PeakOf of) {
  constexpr const char* names[]{"first", "last", "fullest"};
  return names[static_cast<int>(of)];
}

const char* name(MemoryOutcome outcome) {
  constexpr const char* names[]{"ran", "out-of-memory"};
  return names[static_cast<int>(outcome)];
}

}  // namespace fourfold::inline scaling::inline validation
