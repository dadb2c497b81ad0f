// Are error bars as wide as they say? Each source, machine or system in turn is left out, and its
// runs are held against bars made of the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scaling/bars/residuals.hpp"

namespace fourfold::inline scaling::inline validation {

// What is left out whole.
enum class LeftOut : std::uint8_t { source, machine, system };
const char* name(LeftOut what);

struct SourceLeftOut {
  std::string source;  // or machine, or system
  std::int64_t runs = 0;
  std::string like{};  // and how many sources the bars were made of, of its first run
  std::int64_t from_sources = 0;
  double low = 0.0, high = 0.0;  // medians over its runs, as ErrorBar's
  double width = 0.0;            // the median, high - low
  double covered = 0.0;          // share of its runs that the bars hold
  // Mean interval score, lower is better: the width and, for a run outside, 2 / (1 - level) times
  // what it lies beside (Gneiting and Raftery 2007); in units of the projected seconds.
  double score = 0.0;
  double fixed_score = 0.0;  // of a bar of -25 to +25 %
};

struct LeaveOut {
  LeftOut what = LeftOut::source;
  std::vector<SourceLeftOut> sources;  // in the order of the residuals
  // Means over the sources, each weighing the same.
  double covered = 0.0, score = 0.0, fixed_score = 0.0;
  double width = 0.0;  // the median over all runs
};

// Empty with too few sources.
LeaveOut leave_out(const std::vector<Residual>& residuals, LeftOut what = LeftOut::source);

// What is wrong with the bars, as a sentence; empty if 65 to 95 % of the runs are covered, 40 % of
// each that is left out, and the score beats the fixed one. Empty without sources.
std::string wrong_with(const LeaveOut& result);

// A table and what its columns mean.
std::string leave_out_text(const LeaveOut& result);

}  // namespace fourfold::inline scaling::inline validation
