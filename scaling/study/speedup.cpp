// Compares rows of one series; see speedup.hpp.
#include "scaling/study/speedup.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "scaling/study/system_table.hpp"

namespace fourfold::inline scaling::inline study {

Speedup speedup_of(const StudyRow& row, const Study& study) {
  const std::vector<std::string> series = series_of(study);
  const std::string& own = series[static_cast<std::size_t>(&row - study.rows.data())];
  const Record* first = &row.record;
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    const Record& other = study.rows[i].record;
    if (series[i] != own || system_label(other) != system_label(row.record)) continue;
    const std::pair here(other.devices(), -other.rate().value);
    if (here < std::pair(first->devices(), -first->rate().value)) first = &other;
  }
  const double ratio =
      static_cast<double>(row.record.devices()) / static_cast<double>(first->devices());
  const double speedup = row.record.rate() / first->rate();
  return {speedup, speedup / ratio, row.record.seconds() * (speedup / ratio)};
}

std::string efficiency_cell(const StudyRow& row, const Study& study) {
  const std::vector<std::string> series = series_of(study);
  const std::string& own = series[static_cast<std::size_t>(&row - study.rows.data())];
  for (std::size_t i = 0; i < series.size(); ++i) {
    const bool other = study.rows[i].record.devices() != row.record.devices();
    if (series[i] == own && other) {
      return fmt::format("{:.1f}", 100.0 * speedup_of(row, study).efficiency);
    }
  }
  return "-";
}

std::string series_name(const StudyRow& row, const Study& study) {
  const std::vector<std::string> series = series_of(study);
  const std::string& own = series[static_cast<std::size_t>(&row - study.rows.data())];
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    const bool grows = study.rows[i].record.point.model.name != row.record.point.model.name;
    if (series[i] == own && grows) return own;
  }
  return model_on_machine(row);
}

}  // namespace fourfold::inline scaling::inline study
