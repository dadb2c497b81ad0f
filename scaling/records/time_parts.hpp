// Where the seconds of one batch go, in the few parts that tables and bars show.
#pragma once

#include <string>
#include <vector>

#include "sim/question/outcome.hpp"

namespace fourfold::inline scaling::inline records {

struct TimePart {
  std::string name;  // "compute", "exposed x", "bubble"
  Seconds seconds;
};

// Compute; exposed communication along x, y, z and data; exposed messages between stages; the
// pipeline's bubble; and the rest, in which stages that are done wait for the last one. Their sum
// is the total; always all of them, in this order.
std::vector<TimePart> time_parts(const Outcome& outcome);

// The three largest with their shares of the total: "compute 71 %, bubble 12 %, exposed x 9 %".
std::string largest_parts(const Outcome& outcome);

}  // namespace fourfold::inline scaling::inline records
