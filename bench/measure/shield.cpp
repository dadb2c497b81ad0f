// Asks for the lowest real-time priority; see shield.hpp.
#include "bench/measure/shield.hpp"

#include <sched.h>

namespace fourfold::inline bench::inline measure {

Shield::Shield() : before_(sched_getscheduler(0)) {
  const sched_param lowest{sched_get_priority_min(SCHED_FIFO)};
  holds_ = before_ == SCHED_FIFO || sched_setscheduler(0, SCHED_FIFO, &lowest) == 0;
}

Shield::~Shield() {
  const sched_param none{0};
  if (holds_ && before_ != SCHED_FIFO) sched_setscheduler(0, before_, &none);
}

}  // namespace fourfold::inline bench::inline measure
