// One row a system and point; see system_table.hpp.
#include "scaling/study/system_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "platforms/device_memory.hpp"
#include "scaling/find/granted.hpp"
#include "scaling/records/time_parts.hpp"
#include "scaling/study/repetitions.hpp"
#include "scaling/words/percents.hpp"
#include "scaling/words/text_table.hpp"
#include "scaling/words/throughput_text.hpp"
#include "schedule/models/fit.hpp"
#include "sim/conditions/what_ifs_json.hpp"
#include "sim/question/point_json.hpp"
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

// Rows of one are printed together.
std::string block_of(const StudyRow& row) {
  return fmt::format("{} {} {} {}", row.machine, row.record.devices(), row.record.point.model.name,
                     row.given);
}

// What rows must share for their seconds to be ranked: the same work under the same conditions.
std::string work_of(const StudyRow& row) {
  const Point& point = row.record.point;
  WhatIfs what_ifs = point.what_ifs;
  what_ifs.seed = WhatIfs{}.seed;  // that of a repetition
  return fmt::format("{} {} {} {} {}", block_of(row), point.global_batch, point.model.sequence,
                     json_of_scales(point.scales).dump(), json_of(what_ifs).dump());
}

// "best" of the systems that do one work, "tie" where the bar of comparisons cannot tell it from
// the best; of each row that has one, which is that of its repetitions together.
std::map<const StudyRow*, std::string> standings(const Study& study) {
  const std::vector<Runs> points = runs_of(study);
  std::map<std::string, std::vector<const Runs*>> rivals;
  for (const Runs& runs : points) rivals[work_of(*runs.front())].push_back(&runs);
  std::map<const StudyRow*, std::string> words;
  const auto by_median = [](const Runs* runs) { return median_seconds(*runs).value; };
  for (const auto& [work, all] : rivals) {
    if (all.size() < 2) continue;
    const Runs* best = *std::ranges::min_element(all, {}, by_median);
    for (const Runs* runs : all) {
      const bool tie =
          ties(best->front()->record.bar, median_seconds(*best), median_seconds(*runs));
      for (const StudyRow* row : *runs) words[row] = runs == best ? "best" : tie ? "tie" : "";
    }
  }
  return words;
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
  for (const auto& [row, word] : standings(study)) {
    if (word == "tie" && row->record.bar) return tie_text(*row->record.bar);
  }
  return "";
}

std::string repetitions_text(const Study& study) {
  const bool any =
      std::ranges::any_of(study.rows, [](const StudyRow& row) { return row.repetition > 1; });
  return any ? "Repetitions of a point are ranked by their median.\n" : "";
}

std::int64_t batch_of(const StudyRow& row) {
  return row.record.point.global_batch;
}

std::int64_t length_of(const StudyRow& row) {
  return row.record.point.model.sequence;
}

// Whether rows that are printed together differ in it; a column says it then.
bool differ(const Study& study, std::int64_t (*number)(const StudyRow&)) {
  std::map<std::string, std::int64_t> first;
  return std::ranges::any_of(study.rows, [&](const StudyRow& row) {
    return first.emplace(block_of(row), number(row)).first->second != number(row);
  });
}

// What all points have, in words.
std::string taken_for_granted(const Study& study) {
  const Point& point = study.rows.front().record.point;
  const Precision precision = point.options.precision;
  const bool one_precision = std::ranges::all_of(study.rows, [&](const StudyRow& row) {
    return row.record.point.options.precision == precision;
  });
  return fmt::format("sequences of {} tokens, batches of {} sequences{}", point.model.sequence,
                     point.global_batch, one_precision ? fmt::format(", {}", name(precision)) : "");
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
                   {"", "", Align::left},
                   {"grid", "", Align::left},
                   {"sequences", "a batch", Align::right, 1},
                   {"tokens", "a sequence", Align::right, 1},
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
  const bool batches = differ(study, batch_of), lengths = differ(study, length_of);
  std::map<const StudyRow*, std::string> standing = standings(study);
  std::string before = study.rows.empty() ? "" : block_of(study.rows.front());
  for (std::size_t i = 0; i < 3 && one_point(study); ++i) {
    table.columns[i].spare = 12 - static_cast<int>(i);  // a line above says it
  }
  for (const StudyRow& row : study.rows) {
    if (block_of(row) != before) table.rows.emplace_back();
    before = block_of(row);
    const Record& record = row.record;
    const Point& point = record.point;
    const Throughput throughput = record.throughput();
    const std::int64_t sequences =
        point.global_batch / batch_unit(point.grid, point.options.micro_batches);
    table.rows.push_back(
        {row.machine, fmt::to_string(record.devices()), point.model.name, system_label(record),
         label_with_value(row), extents(point.grid) + (row.given ? " (given)" : ""),
         batches ? fmt::to_string(batch_of(row)) : "-",
         lengths ? fmt::to_string(length_of(row)) : "-", fmt::to_string(sequences),
         options_word(point), fmt::format("{:.2f}", record.seconds().value),
         record.bar ? percent_text(*record.bar) : "-", standing[&row], percent(throughput.mfu),
         percent(throughput.hfu), short_number(throughput.tokens_per_s_per_device),
         fmt::format("{:.1f} of {:.1f}", record.memory.value / 1e9,
                     record.memory_limit.value / 1e9),
         chance_cell(record.chance_to_fit), largest_parts(record.outcome)});
  }
  for (const UnfitPoint& point : study.unfit) {
    std::vector<std::string> row(table.columns.size(), "-");
    row[0] = point.machine, row[1] = fmt::to_string(point.devices), row[2] = point.model;
    row[3] = point.system.empty() ? "-" : point.system, row[4] = point.label;
    row[5] = fits_nowhere;
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string choices_of_systems(const Study& study) {
  if (study.rows.empty() || study.rows.front().record.system.empty()) return "";
  const std::string work = work_of(study.rows.front());
  const auto of_first = [&](const StudyRow& row) { return !row.given && work_of(row) == work; };
  if (!std::ranges::all_of(study.rows, of_first)) return "";
  const std::vector<Runs> points = runs_of(study);
  std::vector<std::string> chosen;
  using Timed = std::pair<double, std::string>;    // seconds of a system
  std::map<std::string, std::vector<Timed>> with;  // by other value
  for (const Runs& runs : points) {
    const Record& record = runs.front()->record;
    chosen.push_back(fmt::format("{} with {} and software {}", record.system,
                                 options_word(record.point), record.software));
    for (const Granted& one : granted_changes(record)) {
      with[one.what].emplace_back(median_seconds(runs).value * (1.0 + one.change), record.system);
    }
  }
  std::string text = fmt::format("Chosen: {}. Taken for granted: {}.", fmt::join(chosen, "; "),
                                 taken_for_granted(study));
  if (points.size() == 1) return wrapped(text, page_width) + '\n';
  const auto by_median = [](const Runs& runs) { return median_seconds(runs).value; };
  const std::string& best = std::ranges::min_element(points, {}, by_median)->front()->record.system;
  std::vector<std::string> changes, others;
  for (const auto& [what, timed] : with) {
    if (timed.size() < points.size()) continue;  // some system cannot
    const std::string& other = std::ranges::min_element(timed)->second;
    if (other == best) others.push_back(what);
    if (other != best) changes.push_back(fmt::format("with {} {} would be the best", what, other));
  }
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
         repetitions_text(study) +
         "Grids and options are the best of each system's space by estimate" +
         (any_given ? ", but for (given): as the campaign says.\n" : ".\n") +
         choices_of_systems(study);
}

}  // namespace fourfold::inline scaling::inline study
