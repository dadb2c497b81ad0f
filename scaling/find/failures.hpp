// What failures of nodes cost a long run: how often to write a checkpoint, and how much longer the
// run takes.
#pragma once

#include "support/quantity.hpp"

namespace fourfold::inline scaling::inline find {

struct CheckpointCost {
  Seconds between_failures;  // of the job, on average
  Seconds write;             // a checkpoint, while training waits
  Seconds restart;           // from a failure to the first step after the last checkpoint
};

// Young (1974): sqrt(2 write between_failures).
Seconds young_interval(const CheckpointCost& cost);
// Daly (2006), equation 37, for which failures may come while a checkpoint is written: close to
// Young's where checkpoints are cheap, and between_failures where one takes twice that or more.
Seconds daly_interval(const CheckpointCost& cost);

// Expected seconds of a run over those without failures and checkpoints (Daly, equation 20): with
// failures at random and a checkpoint after each interval of work. Infinite if it cannot end.
double stretch(const CheckpointCost& cost, Seconds interval);

}  // namespace fourfold::inline scaling::inline find
