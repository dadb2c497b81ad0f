// This machine measured and written down: what `fourfold calibrate` does, and `fourfold validate
// --set here` where there is no file yet.
#pragma once

#include <cstdint>
#include <string>

namespace fourfold::inline scaling::inline calibrate {

struct CalibrationOrder {
  std::string out;  // the platform file; the software file and the measurements stand beside it
  std::string transport = "ring";
  bool again = false;  // forget what was measured before
};

std::int64_t cores_of_this_machine();

// Returns the exit status: that of the engine where it was stopped or failed, and then what was
// measured is kept. Throws std::runtime_error with a sentence.
int calibrate_machine(const CalibrationOrder& order);

}  // namespace fourfold::inline scaling::inline calibrate
