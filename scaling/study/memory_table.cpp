// One line a row, a column a role; see memory_table.hpp.
#include "scaling/study/memory_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "scaling/study/figure.hpp"
#include "scaling/study/system_table.hpp"

namespace fourfold::inline scaling::inline study {

std::string memory_table(const Study& study, Width width) {
  const bool systems = compares_systems(study);
  const bool stages = std::ranges::any_of(
      study.rows, [](const StudyRow& row) { return !row.record.memory_by_stage.empty(); });
  TextTable table;
  table.columns = {{"machine", "", Align::left, 1},
                   {"devices", "", Align::right, 2},
                   {"model", "", Align::left},
                   {"system", "", Align::left},
                   {"", "", Align::left}};
  for (int role = 0; role < training_role_count; ++role) {
    const std::string word = name(static_cast<Role>(role));  // "optimizer state"
    const std::size_t end = std::min(word.find(' '), word.size());
    table.columns.push_back({word.substr(0, end), word.substr(std::min(end + 1, word.size()))});
  }
  table.columns.push_back({"sum", ""});
  if (stages) table.columns.push_back({"fullest", "stage"});
  for (const StudyRow& row : study.rows) {
    const Record& record = row.record;
    std::vector<std::string> cells{row.machine, fmt::to_string(record.devices()),
                                   record.point.model.name, systems ? system_label(record) : "",
                                   label_with_value(row)};
    for (int role = 0; role < training_role_count; ++role) {
      cells.push_back(fmt::format("{:.1f}", record.memory_by_role[role].value / 1e9));
    }
    cells.push_back(fmt::format("{:.1f}", record.memory.value / 1e9));
    const std::vector<Bytes>& all = record.memory_by_stage;
    if (stages) {
      cells.push_back(
          all.empty()
              ? "-"
              : fmt::format("{} of {}", std::ranges::max_element(all) - all.begin(), all.size()));
    }
    table.rows.push_back(std::move(cells));
  }
  return "GB of a device at its peak, by role:\n" + format(table, width) + '\n';
}

}  // namespace fourfold::inline scaling::inline study
