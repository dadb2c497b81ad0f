// The error bar of an answer: where a run would lie, by the runs that somebody measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scaling/bars/residuals.hpp"
#include "scaling/bars/sensitivity.hpp"

namespace fourfold::inline scaling::inline bars {

inline constexpr double error_bar_level = 0.8;  // the share of runs that a bar is to hold
// Fewer sources give no bar of that level: 0.8 of 3 + 1 is more than 3.
inline constexpr std::int64_t least_sources = 4;

// Shares are real / projected seconds - 1: 0.31 is a run that takes 31 % longer.
struct ErrorBar {
  double low = 0.0, high = 0.0;
  // "frontier with gpt-neox, whole": what the nearest runs share with it; "no run on H200".
  std::string like;
  std::int64_t runs = 0, sources = 0;        // that the bar is made of
  double runs_least = 0.0, runs_most = 0.0;  // where those runs lay
  std::vector<std::string> widened_by;       // unconfirmed numbers, the largest effect first
  // Of two answers to one question: a lead below this share is a tie. 0 without pairs to tell.
  double tie = 0.0;
  std::int64_t pairs = 0;

  bool operator==(const ErrorBar&) const = default;
};

// The middle is the median of log(published / projected) as if two more sources had been met
// exactly, the reach the distance from it that holds the level times (1 + 1 / (2 sources)) of the
// runs, at least 5 %, and a quarter more where no run is on that processor. All runs count, each
// source the same but for how near its runs are in processor, parallelism, machine, system and
// devices; of sources of unequal weights there are (sum)^2 / (sum of squares). Absent below
// least_sources. Example: four equal sources at 1, 1.1, 1.2 and 1.44: middle 1.10, up to 1.44.
std::optional<ErrorBar> error_bar(const Likeness& like, const std::vector<Residual>& residuals);

// Each unconfirmed number may be anything from half to double, evenly on a logarithmic scale; what
// that makes of the seconds joins the reach as independent errors do, in squares.
void widen(ErrorBar& bar, const Sensitivity& sensitivity);

// Of pairs of configurations among which one would choose: the change of their ratio that 0.8 of
// them stay below, each source weighing the same.
struct ComparisonBar {
  double tie = 0.0;
  std::int64_t pairs = 0;
};
ComparisonBar comparison_bar(const std::vector<Residual>& residuals);

// That of a point, from the kept residuals, with all of this.
std::optional<ErrorBar> error_bar(const Point& point);

// "80 % bar 24.05 to 38.31 s (-6 to +47 %): ..." as a paragraph, wrapped.
std::string error_bar_text(const ErrorBar& bar, Seconds projected);
// What "tie" means in a table of answers; empty without pairs.
std::string tie_text(const ErrorBar& bar);
// The part of it in brackets: "-6 to +47 %".
std::string percent_text(const ErrorBar& bar);

}  // namespace fourfold::inline scaling::inline bars
