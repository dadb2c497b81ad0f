// The life of every buffer of a schedule: allocated by the step that fills it, released by the last
// step that reads it.
#pragma once

#include "schedule/order/issue.hpp"

namespace fourfold::inline schedule::inline order {

// Whether a result may be written over an operand that is read for the last time.
bool may_run_in_place(const Op& op);

// Puts allocate and release steps into the stream. A collective's buffers live from start to wait;
// element-wise results and all-reduces take over the buffer of an operand that dies there; views
// (pack, unpack) take over their members; persistent values are never allocated, and
// kept ones never released.
void insert_lifetimes(Schedule& schedule);

}  // namespace fourfold::inline schedule::inline order
