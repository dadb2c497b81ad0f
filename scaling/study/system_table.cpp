// One row a system and point; see system_table.hpp.
#include "scaling/study/system_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "platforms/device_memory.hpp"
#include "scaling/find/granted.hpp"
#include "scaling/records/time_parts.hpp"
#include "scaling/words/percents.hpp"
#include "scaling/words/text_table.hpp"
#include "scaling/words/throughput_text.hpp"
#include "schedule/models/fit.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

// "x=3,pipe=16": the axes that there are; "-" on one device.
std::string extents(const ProcessGrid& grid) {
  std::string text;
  for (Axis axis : all_axes) {
    if (grid.extent(axis) == 1) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name(axis), grid.extent(axis));
  }
  return text.empty() ? "-" : text;
}

// What the step does besides, of what differs between systems.
std::string options_word(const Point& point) {
  const StepOptions& options = point.options;
  std::vector<std::string> words;
  if (point.grid.extent(Axis::pipe) > 1) {
    words.push_back(options.chunks > 1 ? fmt::format("{} v={}", name(options.order), options.chunks)
                                       : name(options.order));
  }
  if (options.zero > 0) words.push_back(fmt::format("ZeRO-{}", options.zero));
  if (options.sequence_parallel) words.emplace_back("seq. par.");
  words.push_back(fmt::format("recompute {}", name(options.recompute)));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string same_point(const StudyRow& row) {
  return fmt::format("{} {} {} {}", row.machine, row.record.devices(), row.record.point.model.name,
                     row.given);
}

// "best" of the point's systems, "tie" where the bar of comparisons cannot tell it from the best.
std::string standing(const StudyRow& row, const Study& study) {
  const Record* best = &row.record;
  std::int64_t rivals = 0;
  for (const StudyRow& other : study.rows) {
    if (same_point(other) != same_point(row)) continue;
    ++rivals;
    if (other.record.seconds() < best->seconds()) best = &other.record;
  }
  if (rivals < 2) return "";
  if (best == &row.record) return "best";
  return ties(best->bar, best->seconds(), row.record.seconds()) ? "tie" : "";
}

// The same of all rows, but for their systems.
bool one_point(const Study& study) {
  const StudyRow& first = study.rows.front();
  const auto as_first = [&](const std::string& machine, std::int64_t devices,
                            const std::string& model) {
    return machine == first.machine && devices == first.record.devices() &&
           model == first.record.point.model.name;
  };
  return std::ranges::all_of(study.rows,
                             [&](const StudyRow& row) {
                               return as_first(row.machine, row.record.devices(),
                                               row.record.point.model.name);
                             }) &&
         std::ranges::all_of(study.unfit, [&](const UnfitPoint& point) {
           return as_first(point.machine, point.devices, point.model);
         });
}

// Above the table, unless the title says it.
std::string point_of_all(const Study& study) {
  if (!one_point(study)) return "";
  const StudyRow& first = study.rows.front();
  const std::string text = fmt::format("{} on {} of {}", first.record.point.model.name,
                                       counted(first.record.devices(), "device"), first.machine);
  return study.title == text ? "" : text + ":\n";
}

std::string ties_text(const Study& study) {
  for (const StudyRow& row : study.rows) {
    if (standing(row, study) != "tie") continue;
    return tie_text(*row.record.bar);
  }
  return "";
}

}  // namespace

bool compares_systems(const Study& study) {
  const auto other = [&](const StudyRow& row) {
    return system_label(row.record) != system_label(study.rows.front().record);
  };
  const auto unfit = [&](const UnfitPoint& point) {
    return point.system != study.rows.front().record.system;
  };
  return std::ranges::any_of(study.rows, other) ||
         (!study.rows.front().record.system.empty() && std::ranges::any_of(study.unfit, unfit));
}

std::string system_label(const Record& record) {
  std::string text = record.system.empty() ? "-" : record.system;
  const std::vector<FieldFacts>& fields = step_fields().facts();
  const FieldValues values = step_fields().values(record.point.options);
  for (const std::string& flag : flags_of(fields)) {
    const bool typed = std::ranges::any_of(fields, [&](const FieldFacts& field) {
      const auto who = record.set_by.find(field.key);
      return field.flag == flag && who != record.set_by.end() && who->second != "default" &&
             who->second != "system" && who->second != "search";
    });
    if (!typed) continue;
    std::string word = flag_word(fields, flag, values);
    std::ranges::replace(word, ',', '/');  // cells of a CSV are between commas
    text += fmt::format(" + {} {}", flag.substr(2), word);
  }
  return text;
}

TextTable system_rows(const Study& study) {
  TextTable table;
  table.columns = {{"machine", "", Align::left},
                   {"devices", ""},
                   {"model", "", Align::left},
                   {"system", "", Align::left},
                   {"grid", "", Align::left},
                   {"sequences/", "micro-batch", Align::right, 7},
                   {"step", "", Align::left, 5},
                   {"batch", "s"},
                   {"80 % bar", ""},
                   {"", "", Align::left},
                   {"MFU", "%"},
                   {"HFU", "%", Align::right, 9},
                   {"tokens/s", "a device", Align::right, 3},
                   {"memory/device", "GB of GB", Align::right, 2},
                   {"fits", "%", Align::right, 4},
                   {"largest parts", "% of batch", Align::left, 1}};
  std::string before = study.rows.empty() ? "" : same_point(study.rows.front());
  for (std::size_t i = 0; i < 3 && one_point(study); ++i) {
    table.columns[i].spare = 12 - static_cast<int>(i);  // a line above says it
  }
  for (const StudyRow& row : study.rows) {
    if (same_point(row) != before) table.rows.emplace_back();
    before = same_point(row);
    const Record& record = row.record;
    const Point& point = record.point;
    const Throughput throughput = record.throughput();
    const std::int64_t sequences =
        point.global_batch / batch_unit(point.grid, point.options.micro_batches);
    table.rows.push_back({row.machine, fmt::to_string(record.devices()), point.model.name,
                          system_label(record), extents(point.grid) + (row.given ? " (given)" : ""),
                          fmt::to_string(sequences), options_word(point),
                          fmt::format("{:.2f}", record.seconds().value),
                          record.bar ? percent_text(*record.bar) : "-", standing(row, study),
                          percent(throughput.mfu), percent(throughput.hfu),
                          short_number(throughput.tokens_per_s_per_device),
                          fmt::format("{:.1f} of {:.1f}", record.memory.value / 1e9,
                                      record.memory_limit.value / 1e9),
                          chance_cell(record.chance_to_fit), largest_parts(record.outcome)});
  }
  for (const UnfitPoint& point : study.unfit) {
    std::vector<std::string> row(table.columns.size(), "-");
    row[0] = point.machine, row[1] = fmt::to_string(point.devices), row[2] = point.model;
    row[3] = point.system.empty() ? "-" : point.system, row[4] = fits_nowhere;
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string choices_of_systems(const Study& study) {
  const auto of_first = [&](const StudyRow& row) {
    return !row.given && same_point(row) == same_point(study.rows.front());
  };
  const bool of_systems = !study.rows.empty() && !study.rows.front().record.system.empty();
  if (!of_systems || !std::ranges::all_of(study.rows, of_first)) return "";
  std::vector<std::string> chosen;
  std::map<std::string, std::map<std::string, double>> seconds;  // by other value and system
  for (const StudyRow& row : study.rows) {
    chosen.push_back(fmt::format("{} with {} and software {}", row.record.system,
                                 options_word(row.record.point), row.record.software));
    for (const Granted& one : granted_changes(row.record)) {
      seconds[one.what][row.record.system] = row.record.seconds().value * (1.0 + one.change);
    }
  }
  const auto by_seconds = [](const StudyRow& row) { return row.record.seconds().value; };
  const std::string& best = std::ranges::min_element(study.rows, {}, by_seconds)->record.system;
  std::vector<std::string> changes, others;
  for (const auto& [what, systems] : seconds) {
    if (systems.size() < study.rows.size()) continue;  // some system cannot
    const auto by_value = [](const auto& one) { return one.second; };
    const std::string& other = std::ranges::min_element(systems, {}, by_value)->first;
    if (other == best) others.push_back(what);
    if (other != best) changes.push_back(fmt::format("with {} {} would be the best", what, other));
  }
  const Point& point = study.rows.front().record.point;
  std::string text = fmt::format(
      "Chosen: {}. Taken for granted: sequences of {} tokens, batches of "
      "{} sequences, {}.",
      fmt::join(chosen, "; "), point.model.sequence, point.global_batch,
      name(point.options.precision));
  if (study.rows.size() == 1) return wrapped(text, page_width) + '\n';
  if (!changes.empty()) text += fmt::format(" By estimate, {}.", fmt::join(changes, "; "));
  if (!others.empty()) {
    text += fmt::format(" {} the best with {}, too, by estimate.", best + " is",
                        fmt::join(others, ", "));
  }
  return wrapped(text, page_width) + '\n';
}

std::string system_table(const Study& study, Width width) {
  const bool any_given =
      std::ranges::any_of(study.rows, [](const StudyRow& row) { return row.given; });
  return point_of_all(study) + format(system_rows(study), width) + ties_text(study) +
         "Grids and options are the best of each system's space by estimate" +
         (any_given ? ", but for (given): as the campaign says.\n" : ".\n") +
         choices_of_systems(study);
}

}  // namespace fourfold::inline scaling::inline study
