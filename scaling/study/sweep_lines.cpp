// Rows of one point gathered, compared and laid on lines; see sweep_lines.hpp.
#include "scaling/study/sweep_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "scaling/study/figure.hpp"
#include "scaling/study/repetitions.hpp"
#include "scaling/study/sweep.hpp"
#include "scaling/words/percents.hpp"
#include "scaling/words/text_table.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

std::string number(double value) {
  return fmt::format("{:.9g}", value);
}

std::int64_t tokens_of_batch(const Point& point) {
  return point.global_batch * point.model.sequence;
}

// The repetitions of a point, as one.
struct GatheredRow {
  const StudyRow* row = nullptr;  // the first of them
  Seconds mean, least, most;
  std::int64_t count = 0;
};

std::vector<GatheredRow> gathered(const Study& study) {
  std::vector<GatheredRow> rows;
  for (const Runs& runs : runs_of(study)) {
    const Seconds first = runs.front()->record.seconds();
    GatheredRow one{runs.front(), {}, first, first, std::ssize(runs)};
    for (const StudyRow* row : runs) {
      const Seconds seconds = row->record.seconds();
      one.mean += seconds / static_cast<double>(one.count);
      one.least = std::min(one.least, seconds);
      one.most = std::max(one.most, seconds);
    }
    rows.push_back(one);
  }
  return rows;
}

// A change is told of both.
bool comparable(const StudyRow& a, const StudyRow& b) {
  return a.machine == b.machine && a.record.devices() == b.record.devices() &&
         a.record.point.model.name == b.record.point.model.name &&
         tokens_of_batch(a.record.point) == tokens_of_batch(b.record.point);
}

bool same_label(const StudyRow& a, const StudyRow& b) {
  return a.label == b.label && a.value == b.value;
}

// Points that labels alone tell apart.
bool of_one_point(const StudyRow& a, const StudyRow& b) {
  return comparable(a, b) && a.record.system == b.record.system && a.stated == b.stated;
}

// What a row is compared with: the first comparable one, or of several with its label the one of
// the same system, grid and micro-batches.
const GatheredRow& unchanged(const GatheredRow& one, const std::vector<GatheredRow>& rows) {
  const GatheredRow* first = nullptr;
  for (const GatheredRow& other : rows) {
    if (!comparable(*other.row, *one.row)) continue;
    if (first == nullptr) first = &other;
    if (of_one_point(*other.row, *one.row) && same_label(*other.row, *first->row)) return other;
  }
  return *first;
}

bool on_one_line(const GatheredRow& one, const GatheredRow& other) {
  return of_one_point(*one.row, *other.row) && one.row->line == other.row->line;
}

// Whether others with its label are on other grids, or with other micro-batches.
bool stands_beside_other_grids(const StudyRow& row, const Study& study) {
  return std::ranges::any_of(study.rows, [&](const StudyRow& other) {
    return comparable(other, row) && same_label(other, row) &&
           other.record.system == row.record.system && other.stated != row.stated;
  });
}

std::string system_unless_said(const StudyRow& row, const Study& study) {
  const bool said = row.label.find(row.record.system) != std::string::npos;
  return said || !several_systems(study) ? "" : row.record.system;
}

// Where lines of the same sweep begin that are all at other numbers: its first point, if that is a
// line of its own. A list says so of what is unchanged.
const GatheredRow* origin(const GatheredRow& one, const std::vector<GatheredRow>& rows) {
  const GatheredRow* first = nullptr;
  std::int64_t of_first = 0, of_others = 0;
  for (const GatheredRow& other : rows) {
    const bool beside = of_one_point(*one.row, *other.row) && one.row->rest == other.row->rest;
    if (!beside || !other.row->value) continue;
    if (first == nullptr) first = &other;
    ++(on_one_line(*first, other) ? of_first : of_others);
  }
  return of_first == 1 && of_others > 0 ? first : nullptr;
}

}  // namespace

std::string told_apart(const StudyRow& row, const Study& study, bool devices) {
  const std::int64_t count = row.record.devices();
  const auto elsewhere = [&](const StudyRow& other) { return other.record.devices() != count; };
  const bool counts = devices && std::ranges::any_of(study.rows, elsewhere);
  const std::string what = joined(joined(several_models(study) ? row.record.point.model.name : "",
                                         system_unless_said(row, study)),
                                  stands_beside_other_grids(row, study) ? row.stated : "");
  return joined(what, counts ? counted(count, "device") : "");
}

std::string lines_csv(const Study& study) {
  const std::vector<GatheredRow> rows = gathered(study);
  const auto is_number = [](const GatheredRow& one) { return one.row->value.has_value(); };
  const bool numbers = std::ranges::any_of(rows, is_number);
  std::vector<std::string> series;
  std::map<std::string, std::map<double, std::string>> lines;
  const auto add = [&](const std::string& name, const GatheredRow& one, const GatheredRow& base) {
    const StudyRow& row = *one.row;
    const auto change = [&](Seconds seconds) {
      return number(100.0 * (seconds / base.mean - 1.0));
    };
    const double x = numbers ? *row.value : static_cast<double>(row.record.devices());
    const bool spread = one.count > 1;
    lines[name][x] +=
        fmt::format("{},{},{},{},{},{},{},{}\n", name, number(x), change(one.mean),
                    spread ? change(one.least) : "", spread ? change(one.most) : "",
                    number(one.mean.value), one.count, csv_cell(row.record.point.grid.str()));
  };
  for (const GatheredRow& one : rows) {
    const GatheredRow& base = unchanged(one, rows);
    const auto beside = [&](const GatheredRow& other) { return on_one_line(one, other); };
    const bool alone = !numbers || std::ranges::count_if(rows, beside) == 1;
    if ((&base == &one && alone) || (numbers && !one.row->value)) continue;
    const GatheredRow* const start = numbers ? origin(one, rows) : nullptr;
    if (start == &one) continue;
    const std::string machine = machines(study).size() > 1 ? one.row->machine : "";
    const std::string where = joined(machine, told_apart(*one.row, study, numbers));
    const std::string name = csv_cell(joined(one.row->line, where));
    if (!lines.contains(name)) {
      series.push_back(name);
      const auto at_start = [&](const GatheredRow& other) {
        return beside(other) && other.row->value == start->row->value;
      };
      if (start != nullptr && std::ranges::none_of(rows, at_start)) add(name, *start, base);
    }
    add(name, one, base);
  }
  std::string text = "series,x,percent,low,high,seconds,repetitions,grid\n";
  for (const std::string& name : series) {
    for (const auto& [x, line] : lines[name]) text += line;
  }
  return text;
}

std::string axis_text(const Study& study) {
  if (!study.axis.empty()) return study.axis;
  for (const StudyRow& row : study.rows) {
    if (!row.value) continue;
    if (row.label == row.line) return "value";
    // The label says the number behind the key.
    const auto key = std::ranges::mismatch(row.line, row.label).in1;
    const std::string before(row.line.begin(), key);
    return before.substr(before.rfind(' ') + 1);
  }
  return "devices (GPUs; GCDs on MI250X)";
}

std::string reference_text(const Study& study) {
  const std::vector<GatheredRow> rows = gathered(study);
  std::set<std::string> labels;
  for (const GatheredRow& one : rows) labels.insert(unchanged(one, rows).row->label);
  if (labels.size() > 1) return "the first of each point";
  return labels.empty() || labels.begin()->empty() ? "without a label" : *labels.begin();
}

namespace {

// Of several sweeps, which of them gives the axis.
std::string axis_remark(const Study& study) {
  std::set<std::string> others;
  for (const StudyRow& row : study.rows) {
    if (row.value) others.insert(row.rest);
  }
  if (others.size() < 2) return "";
  return wrapped(fmt::format("The axis of the figure lines is {}, the last sweep with numbers; the "
                             "others tell lines apart.",
                             axis_text(study))) +
         '\n';
}

}  // namespace

std::string sweep_table(const Study& study) {
  if (std::ranges::all_of(study.rows, std::ranges::empty, &StudyRow::label)) return "";
  TextTable table;
  table.columns = {{"machine", "", Align::left},
                   {"devices", ""},
                   {"model", "", Align::left},
                   {"", "", Align::left},
                   {"system", "", Align::left},
                   {"grid", "", Align::left},
                   {"micro-", "batches"},
                   {"batch", "s"},
                   {"change", "%"},
                   {"runs", "spread, %"}};
  const std::vector<GatheredRow> rows = gathered(study);
  const auto says_more = [&](const GatheredRow& one) {
    return one.count > 1 || &unchanged(one, rows) != &one;
  };
  if (std::ranges::none_of(rows, says_more)) return "";
  const StudyRow* before = nullptr;
  for (const GatheredRow& one : rows) {
    const StudyRow& row = *one.row;
    if (before != nullptr && !comparable(*before, row)) table.rows.emplace_back();
    before = &row;
    const GatheredRow& base = unchanged(one, rows);
    table.rows.push_back(
        {row.machine, fmt::to_string(row.record.devices()), row.record.point.model.name,
         label_with_value(row), several_systems(study) ? row.record.system : "",
         row.record.point.grid.str(),
         stands_beside_other_grids(row, study)
             ? fmt::to_string(row.record.point.options.micro_batches)
             : "",
         fmt::format("{:.3f}", one.mean.value),
         &base == &one ? "-" : signed_percent(one.mean / base.mean - 1.0),
         one.count < 2
             ? "1"
             : fmt::format("{}: {:.1f}", one.count, 100.0 * ((one.most - one.least) / one.mean))});
  }
  return "Change: against the first of the same machine, devices, model and batch, and of the same "
         "system,\ngrid and micro-batches where several of them have its label; spread: of the "
         "slowest "
         "and the fastest\nof the runs with other seeds.\n\n" +
         format(table) + axis_remark(study) + '\n';
}

}  // namespace fourfold::inline scaling::inline study
