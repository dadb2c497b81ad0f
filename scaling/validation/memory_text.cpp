// Tables about memory; see memory_text.hpp.
#include "scaling/validation/memory_text.hpp"

#include <fmt/format.h>

#include "platforms/device_memory.hpp"
#include "scaling/validation/memory_deviations.hpp"
#include "scaling/words/percents.hpp"
#include "scaling/words/text_table.hpp"

namespace fourfold::inline scaling::inline validation {
namespace {

constexpr double gibi = 1024.0 * 1024.0 * 1024.0;

std::string gibibytes(Bytes bytes) {
  return fmt::format("{:.2f}", bytes.value / gibi);
}

std::string fits_text(const CaseResult& result) {
  const double chance = chance_to_fit(result);
  return fmt::format("{} ({:.0f} %){}", fits_in_words(chance), 100.0 * chance,
                     outcome_is_right(result) ? "" : ", wrong");
}

}  // namespace

std::string memory_rows_text(const SetResult& result) {
  TextTable table;
  table.columns = {{"row", "", Align::left},     {"grid", "", Align::left},
                   {"counted", "", Align::left}, {"measured", "GiB"},
                   {"projected", "GiB"},         {"deviation", "%"},
                   {"ran", "", Align::left},     {"said", "", Align::left}};
  for (const CaseResult& one : result.cases) {
    if (!one.projection || !one.one.memory) continue;
    const MeasuredMemory& memory = *one.one.memory;
    const bool known = memory.has_peak();
    table.rows.push_back({one.one.id, one.projection->grid.str(),
                          std::string(known ? name(memory.is) : "-"),
                          known ? gibibytes(memory.peak) : "-", gibibytes(projected_memory(one)),
                          known ? signed_percent(memory_deviation(one)) : "-",
                          memory.outcome == MemoryOutcome::ran ? "yes" : "no", fits_text(one)});
  }
  return table.rows.empty() ? ""
                            : "Memory of a device, measured and projected:\n\n" + format(table);
}

std::string memory_statistics_text(const SetResult& result) {
  TextTable table;
  table.columns = {{"memory, study", "", Align::left},
                   {"rows", "run"},
                   {"peaks", ""},
                   {"mean |dev.|", "%"},
                   {"bias", "%"},
                   {"worst", "%"},
                   {"worst row", "", Align::left},
                   {"outcomes", "right"},
                   {"certain", "and wrong"}};
  const auto add = [&](const std::string& label, const std::string& study) {
    const MemoryStatistics found = memory_statistics(result, study);
    if (found.rows == 0) return;
    std::vector<std::string> row{label, fmt::format("{} of {}", found.outcomes, found.rows),
                                 fmt::to_string(found.deviations.count)};
    if (found.deviations.count == 0) {
      row.insert(row.end(), {"-", "-", "-", "-"});
    } else {
      row.insert(row.end(),
                 {percent(found.deviations.mean_absolute), signed_percent(found.deviations.bias),
                  signed_percent(found.worst), found.worst_id});
    }
    row.push_back(fmt::format("{} of {}", found.right, found.outcomes));
    row.push_back(fmt::to_string(found.certain_and_wrong));
    table.rows.push_back(row);
  };
  add(result.set.name, "");
  for (const std::string& study : studies(result)) add("  " + study, study);
  return table.rows.empty() ? "" : format(table) + '\n';
}

}  // namespace fourfold::inline scaling::inline validation
