// What other processes, and other machines of the same host, took of this machine's cores during a
// measurement.
#pragma once

namespace fourfold::inline support {

// CPU seconds of all processes since the machine started; 0 where the system does not say.
double machine_processor_seconds();
// CPU seconds that a hypervisor gave to others while ours wanted to run (steal); 0 where it does
// not say.
double stolen_processor_seconds();
// Of this process and the children it has waited for.
double own_processor_seconds();

// From its making on. A machine that is otherwise idle has a few hundredths of a core.
class ForeignLoad {
 public:
  ForeignLoad();
  // Cores that others kept busy, on average: all processes, less `ours` CPU seconds.
  double cores(double ours) const;
  double cores() const { return cores(own_processor_seconds() - own_); }
  // Cores that the hypervisor kept for other machines, on average.
  double stolen_cores() const;

 private:
  double machine_, stolen_, own_, began_;
};

}  // namespace fourfold::inline support
