// Bars without a source against its runs; see leave_out.hpp.
#include "scaling/validation/leave_out.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scaling/bars/deviations.hpp"
#include "scaling/bars/error_bar.hpp"
#include "scaling/words/percents.hpp"
#include "scaling/words/text_table.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline validation {
namespace {

constexpr double fixed_bar = 0.25;
constexpr double least_covered = 0.65, most_covered = 0.95, least_of_each = 0.4;

double interval_score(double low, double high, double at) {
  constexpr double penalty = 2.0 / (1.0 - error_bar_level);
  return high - low + penalty * (std::max(low - at, 0.0) + std::max(at - high, 0.0));
}

const std::string& of(const Residual& one, LeftOut what) {
  if (what == LeftOut::source) return one.source;
  return what == LeftOut::machine ? one.like.machine : one.like.system;
}

std::vector<std::string> all_of(const std::vector<Residual>& residuals, LeftOut what) {
  std::vector<std::string> names;
  for (const Residual& one : residuals) {
    if (std::find(names.begin(), names.end(), of(one, what)) == names.end()) {
      names.push_back(of(one, what));
    }
  }
  return names;
}

SourceLeftOut left_out(const std::string& source, const std::vector<Residual>& residuals,
                       LeftOut what, std::vector<double>& widths) {
  std::vector<Residual> others, own;
  for (const Residual& one : residuals) (of(one, what) == source ? own : others).push_back(one);
  SourceLeftOut result;
  result.source = source;
  std::vector<double> lows, highs, own_widths;
  for (const Residual& one : own) {
    const std::optional<ErrorBar> bar = error_bar(one.like, others);
    if (!bar) continue;
    if (result.runs == 0) {
      result.like = bar->like;
      result.from_sources = bar->sources;
    }
    ++result.runs;
    const double at = one.ratio - 1.0;
    lows.push_back(bar->low);
    highs.push_back(bar->high);
    own_widths.push_back(bar->high - bar->low);
    result.covered += at >= bar->low && at <= bar->high ? 1.0 : 0.0;
    result.score += interval_score(bar->low, bar->high, at);
    result.fixed_score += interval_score(-fixed_bar, fixed_bar, at);
  }
  if (result.runs == 0) return result;
  const auto runs = static_cast<double>(result.runs);
  result.low = quantile(lows, 0.5);
  result.high = quantile(highs, 0.5);
  result.width = quantile(own_widths, 0.5);
  widths.insert(widths.end(), own_widths.begin(), own_widths.end());
  result.covered /= runs;
  result.score /= runs;
  result.fixed_score /= runs;
  return result;
}

std::string whole_percent(double share) {
  return fmt::format("{:.0f}", 100.0 * share);
}

}  // namespace

const char* name(LeftOut what) {
  constexpr const char* names[]{"source", "machine", "system"};
  return names[static_cast<int>(what)];
}

LeaveOut leave_out(const std::vector<Residual>& residuals, LeftOut what) {
  LeaveOut result;
  result.what = what;
  std::vector<double> widths;
  for (const std::string& source : all_of(residuals, what)) {
    const SourceLeftOut one = left_out(source, residuals, what, widths);
    if (one.runs == 0) continue;
    result.sources.push_back(one);
    result.covered += one.covered;
    result.score += one.score;
    result.fixed_score += one.fixed_score;
  }
  if (result.sources.empty()) return result;
  const auto count = static_cast<double>(result.sources.size());
  result.covered /= count;
  result.score /= count;
  result.fixed_score /= count;
  result.width = quantile(widths, 0.5);
  return result;
}

std::string wrong_with(const LeaveOut& result) {
  if (result.sources.empty()) return "";
  if (result.covered < least_covered || result.covered > most_covered) {
    return fmt::format(
        "{:.0f} % bars cover {:.1f} % of runs left out, which is not {:.0f} to "
        "{:.0f} %",
        100.0 * error_bar_level, 100.0 * result.covered, 100.0 * least_covered,
        100.0 * most_covered);
  }
  for (const SourceLeftOut& one : result.sources) {
    if (one.covered >= least_of_each) continue;
    return fmt::format(
        "{:.0f} % bars cover {:.0f} % of the runs of the {} {} when it is left out, "
        "less than {:.0f} %",
        100.0 * error_bar_level, 100.0 * one.covered, name(result.what), one.source,
        100.0 * least_of_each);
  }
  if (result.score < result.fixed_score) return "";
  return fmt::format("error bars score {:.3f}, bars of +-{:.0f} % {:.3f}: lower would be better",
                     result.score, 100.0 * fixed_bar, result.fixed_score);
}

std::string leave_out_text(const LeaveOut& result) {
  if (result.sources.empty()) {
    return fmt::format("Too few sources for error bars: one is left out of at least {}.\n",
                       least_sources + 1);
  }
  TextTable table;
  table.columns = {{std::string(name(result.what)) + " left out", "", Align::left},
                   {"runs", ""},
                   {"the nearest on", "", Align::left},
                   {"of", "sources"},
                   {"median bar", "%"},
                   {"width", "points"},
                   {"covered", "%"},
                   {"score", ""},
                   {"score of", "+-25 %"}};
  for (const SourceLeftOut& one : result.sources) {
    table.rows.push_back(
        {one.source, fmt::to_string(one.runs), one.like, fmt::to_string(one.from_sources),
         fmt::format("{:+.0f} to {:+.0f}", 100.0 * one.low, 100.0 * one.high),
         whole_percent(one.width), whole_percent(one.covered), fmt::format("{:.2f}", one.score),
         fmt::format("{:.2f}", one.fixed_score)});
  }
  table.rows.emplace_back();
  table.rows.push_back({fmt::format("mean over {}s", name(result.what)), "", "", "", "",
                        whole_percent(result.width), percent(result.covered),
                        fmt::format("{:.3f}", result.score),
                        fmt::format("{:.3f}", result.fixed_score)});
  return format(table) +
         wrapped(fmt::format(
             "Bars of {:.0f} % as answers have them, but for the widening by unconfirmed numbers, "
             "each from runs of the other {}s; the width below is the median of all. Score: width "
             "and 10 times what a run lies "
             "beside its bar, in units of the projected seconds; lower is better.",
             100.0 * error_bar_level, name(result.what))) +
         '\n';
}

}  // namespace fourfold::inline scaling::inline validation
