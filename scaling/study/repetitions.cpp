// Gathers rows that differ in their repetition alone; see repetitions.hpp.
#include "scaling/study/repetitions.hpp"

#include <map>
#include <tuple>

#include "scaling/bars/deviations.hpp"

namespace fourfold::inline scaling::inline study {

std::vector<Runs> runs_of(const Study& study) {
  std::vector<Runs> points;
  const auto name_of = [](const StudyRow& row) {
    const Record& record = row.record;
    return std::tuple(row.machine, record.devices(), record.point.model.name, record.system,
                      row.stated, row.label, row.value);
  };
  std::map<decltype(name_of(study.rows.front())), std::size_t> newest;
  for (const StudyRow& row : study.rows) {
    const auto [known, is_new] = newest.try_emplace(name_of(row), points.size());
    if (!is_new && points[known->second].back()->repetition < row.repetition) {
      points[known->second].push_back(&row);
      continue;
    }
    known->second = points.size();
    points.push_back({&row});
  }
  return points;
}

double median_of(const Runs& runs, const std::function<double(const StudyRow&)>& number) {
  std::vector<double> values;
  for (const StudyRow* row : runs) values.push_back(number(*row));
  return quantile(values, 0.5);
}

Seconds median_seconds(const Runs& runs) {
  return {median_of(runs, [](const StudyRow& row) { return row.record.seconds().value; })};
}

FlopsPerSecond median_rate(const Runs& runs) {
  return runs.front()->record.model_flops / median_seconds(runs);
}

}  // namespace fourfold::inline scaling::inline study
