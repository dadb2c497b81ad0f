// The estimate of stages that run what has arrived: events over stages, turn by turn, until all
// queues are done.
#pragma once

#include <cstdint>

#include "sim/cost/timed_program.hpp"
#include "sim/explain/device_log.hpp"
#include "sim/question/outcome.hpp"

namespace fourfold::inline sim::inline estimate {

// Of a program with queues. A stage chooses when it is free: of the turns whose message has
// arrived a backward before a forward, and if there is none, the first that arrives. As on the
// whole estimated rung, the devices of a stage are alike.
Outcome queued_estimate(const TimedProgram& program);

// The same walk as `stage` saw it, with the turns that it chose.
DeviceLog queued_log(const TimedProgram& program, std::int64_t stage);

}  // namespace fourfold::inline sim::inline estimate
