// What other processes took of this machine's cores during a measurement.
#pragma once

namespace fourfold {

// CPU seconds of all processes since the machine started; 0 where the system does not say.
double machine_processor_seconds();
// Of this process and the children it has waited for.
double own_processor_seconds();

// From its making on. A machine that is otherwise idle has a few hundredths of a core.
class ForeignLoad {
 public:
  ForeignLoad();
  // Cores that others kept busy, on average: all processes, less `ours` CPU seconds.
  double cores(double ours) const;
  double cores() const { return cores(own_processor_seconds() - own_); }

 private:
  double machine_, own_, began_;
};

}  // namespace fourfold
