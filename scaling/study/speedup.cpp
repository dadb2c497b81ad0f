// Compares rows of one series; see speedup.hpp.
#include "scaling/study/speedup.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "scaling/study/repetitions.hpp"
#include "scaling/words/percents.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

// The fewest devices of a curve, and the most.
struct Base {
  std::int64_t devices = 0, most = 0;
  FlopsPerSecond rate;
};

}  // namespace

std::vector<Speedup> speedups(const Study& study) {
  const std::vector<std::string> series = series_of(study);
  const std::vector<Runs> points = runs_of(study);
  const auto place = [&](const StudyRow* row) {
    return static_cast<std::size_t>(row - study.rows.data());
  };
  std::map<std::string, Base> bases;
  for (const Runs& runs : points) {
    const Base own{runs.front()->record.devices(), runs.front()->record.devices(),
                   median_rate(runs)};
    Base& base = bases.try_emplace(series[place(runs.front())], own).first->second;
    base.most = std::max(base.most, own.most);
    if (std::pair(own.devices, -own.rate.value) >= std::pair(base.devices, -base.rate.value)) {
      continue;
    }
    base.devices = own.devices;
    base.rate = own.rate;
  }
  std::vector<Speedup> all(study.rows.size());
  for (const Runs& runs : points) {
    const Record& record = runs.front()->record;
    Speedup one;
    one.series = series[place(runs.front())];
    const Base& base = bases.at(one.series);
    const double more = static_cast<double>(record.devices()) / static_cast<double>(base.devices);
    one.speedup = median_rate(runs) / base.rate;
    one.efficiency = one.speedup / more;
    one.ideal_rate = base.rate * more;
    one.ideal = record.model_flops / one.ideal_rate;
    one.compared = base.most > base.devices;
    for (const StudyRow* row : runs) all[place(row)] = one;
  }
  return all;
}

std::string efficiency_cell(const Speedup& speedup) {
  return speedup.compared ? percent(speedup.efficiency) : "-";
}

}  // namespace fourfold::inline scaling::inline study
