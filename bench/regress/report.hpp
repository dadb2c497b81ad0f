// What `fourfold regress` says: a table, JSON, and JUnit's XML for continuous integration.
#pragma once

#include <string>
#include <vector>

#include "bench/regress/judge.hpp"

namespace fourfold::inline bench::inline regress {

struct RegressReport {
  Provenance provenance;
  std::string libraries;
  MachineRun run;
  bool compared = false;      // with a baseline
  bool recorded = false;      // as a baseline: nothing is asked but that
  std::string baseline;       // its file
  double baseline_fma = 0.0;  // Gflop/s
  std::vector<std::string> wider;  // quantities that --allow does not hold (allowance.hpp)
  std::vector<Judgement> judgements;
  std::vector<Straggler> stragglers;
  std::int64_t attempts = 1;

  // Something looks slower, and others used the cores while it was measured: nobody knows.
  bool undecided() const;
  // 0 fine, or recorded; 1 something is slower, changed or behind its peers; 2 something was not
  // measured; 3 it could not be judged.
  int status() const;
};

std::string regress_text(const RegressReport& report);   // at most 120 columns
std::string regress_json(const RegressReport& report);   // one line
std::string regress_junit(const RegressReport& report);  // a test a quantity

}  // namespace fourfold::inline bench::inline regress
