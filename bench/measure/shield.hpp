// Keeps other processes off this core for some milliseconds, so that they do not measure.
#pragma once

namespace fourfold::inline bench::inline measure {

// While it lives this thread has real-time priority (sched(7), SCHED_FIFO), where the system grants
// it: to root, and where `ulimit -r` is above 0. A thread that has it already keeps it.
class Shield {
 public:
  Shield();
  ~Shield();
  Shield(const Shield&) = delete;
  Shield& operator=(const Shield&) = delete;

  bool holds() const { return holds_; }

 private:
  bool holds_ = false;
  int before_ = 0;  // the policy to return to
};

}  // namespace fourfold::inline bench::inline measure
