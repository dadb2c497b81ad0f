// What the stages of a pipeline do when: each turn of their orders from its start to its end, as
// the estimate walks them.
#pragma once

#include <vector>

#include "platforms/platform.hpp"
#include "schedule/program/turn.hpp"
#include "sim/question/point.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline sim::inline explain {

// A turn, or a part of one between waits for other stages.
struct ChartedTurn {
  StepPart part = StepPart::forward;
  std::int64_t micro_batch = 0;
  std::int64_t chunk = 0;
  Seconds start, end;
  bool goes_on = false;  // another part of the same turn follows
};

struct OrderChart {
  std::vector<std::vector<ChartedTurn>> stages;  // in the order of their ends
  Seconds end;                                   // of the last turn

  // Time that stages wait, over the time they work.
  double idle_share() const;
};

// How long the turns of a chunk take where all chunks are alike; a whole backward takes its two
// parts. What is no layer takes none, messages neither.
struct TurnTimes {
  Seconds forward{1.0};
  Seconds input_gradient{1.0};
  Seconds weight_gradient{1.0};
};

// Of so many stages, of one layer a chunk. Throws std::runtime_error with a sentence where the
// order cannot be done.
OrderChart chart_of(const StepOptions& options, std::int64_t stages, const TurnTimes& times);

// Of a point; every micro-batch is written down, so it is for a few.
OrderChart chart_of(const Point& point, const Platform& platform);

}  // namespace fourfold::inline sim::inline explain
