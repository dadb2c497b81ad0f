// HTML of a study; see report.hpp.
#include "scaling/study/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <vector>

#include "scaling/study/figure.hpp"
#include "scaling/study/study_table.hpp"
#include "scaling/study/system_table.hpp"
#include "support/markup_text.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

constexpr const char* head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{0}</title>
<style>
body {{ font: 15px/1.45 "DejaVu Sans", Verdana, sans-serif; margin: 2rem auto; max-width: 1200px;
  padding: 0 1rem; color: #1a1a1a; }}
h1 {{ font-size: 1.5rem; }} h2 {{ font-size: 1.15rem; margin-top: 2.2rem; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: 0.87rem; }}
th, td {{ padding: 0.25rem 0.7rem; text-align: right; white-space: nowrap; }}
td.text, th.text {{ text-align: left; }}
thead th {{ border-bottom: 2px solid #444; cursor: pointer; user-select: none; }}
thead th[aria-sort=ascending]::after {{ content: " \25B2"; }}
thead th[aria-sort=descending]::after {{ content: " \25BC"; }}
tbody tr:nth-child(odd) {{ background: #f4f4f4; }}
pre {{ background: #f4f4f4; padding: 0.8rem; overflow-x: auto; font-size: 0.8rem; }}
img {{ max-width: 100%; height: auto; display: block; margin: 1rem 0; }}
</style></head><body>
<h1>{0}</h1>
)";

// A click on a heading sorts by its column, a second one backwards; numbers as numbers.
constexpr const char* sorting = R"(<script>
document.querySelectorAll("table.sortable").forEach(function (table) {
  var heads = table.tHead.rows[0].cells;
  Array.prototype.forEach.call(heads, function (cell, column) {
    cell.tabIndex = 0;
    function sort() {
      var up = cell.getAttribute("aria-sort") !== "ascending";
      Array.prototype.forEach.call(heads, function (other) { other.removeAttribute("aria-sort"); });
      cell.setAttribute("aria-sort", up ? "ascending" : "descending");
      var rows = Array.prototype.slice.call(table.tBodies[0].rows);
      rows.sort(function (a, b) {
        var x = a.cells[column].dataset.value, y = b.cells[column].dataset.value;
        var both = x !== "" && y !== "" && !isNaN(x) && !isNaN(y);
        var order = both ? x - y : x.localeCompare(y);
        return up ? order : -order;
      });
      rows.forEach(function (row) { table.tBodies[0].appendChild(row); });
    }
    cell.addEventListener("click", sort);
    cell.addEventListener("keydown", function (event) { if (event.key === "Enter") sort(); });
  });
});
</script>
)";

struct Cell {
  std::string shown;
  std::string value;  // to sort by
  bool text = false;
};

Cell words(const std::string& text) {
  return {text, text, true};
}

Cell number(double value, int digits) {
  return {fmt::format("{:.{}f}", value, digits), fmt::format("{:.9g}", value), false};
}

std::string row_of(const std::vector<Cell>& cells) {
  std::string text = "<tr>";
  for (const Cell& cell : cells) {
    text += fmt::format("<td{} data-value=\"{}\">{}</td>", cell.text ? " class=\"text\"" : "",
                        markup_text(cell.value), markup_text(cell.shown));
  }
  return text + "</tr>\n";
}

// A table that sorts, without the columns in which no row says anything.
std::string sortable(const std::vector<std::string>& columns,
                     const std::vector<std::vector<Cell>>& rows) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto says = [&](const std::vector<Cell>& row) { return !row[i].value.empty(); };
    if (std::ranges::any_of(rows, says)) shown.push_back(i);
  }
  std::string text = "<div class=\"wide\"><table class=\"sortable\"><thead><tr>";
  for (std::size_t i : shown) {
    text += fmt::format("<th{}>{}</th>", rows.front()[i].text ? " class=\"text\"" : "",
                        markup_text(columns[i]));
  }
  text += "</tr></thead><tbody>\n";
  for (const std::vector<Cell>& row : rows) {
    std::vector<Cell> cells;
    for (std::size_t i : shown) cells.push_back(row[i]);
    text += row_of(cells);
  }
  return text + "</tbody></table></div>\n<p>A click on a heading sorts.</p>\n";
}

std::string table_of(const Study& study) {
  const auto [flops, one_flops] = rate_unit(study);
  const std::string unit = study.tokens > 0.0 ? unit_text(study) : "days for 1T tokens";
  const std::vector<std::string> columns{
      "machine",       "model",      "system",      "label",        "grid", "fidelity", "devices",
      "micro-batches", "batch, s",   "bar from, s", "bar to, s",    flops,  "MFU, %",   "HFU, %",
      "tokens/s",      "exposed, %", "memory, GB",  "published, s", unit};
  std::vector<std::vector<Cell>> rows;
  for (const StudyRow& row : study.rows) {
    const Record& record = row.record;
    const Throughput rates = record.throughput();
    const double seconds = record.seconds().value;
    const auto bar = [&](double share) {
      return record.bar ? number(seconds * (1.0 + share), 3) : Cell{"-", "", false};
    };
    const std::string system = system_label(record);
    rows.push_back({words(row.machine), words(record.point.model.name),
                    system == "-" ? Cell{"-", "", true} : words(system),
                    words(label_with_value(row)), words(record.point.grid.str()),
                    words(name(record.fidelity)), number(static_cast<double>(record.devices()), 0),
                    number(static_cast<double>(record.point.options.micro_batches), 0),
                    number(seconds, 3), bar(record.bar ? record.bar->low : 0.0),
                    bar(record.bar ? record.bar->high : 0.0), number(record.rate() / one_flops, 1),
                    number(100.0 * rates.mfu, 1), number(100.0 * rates.hfu, 1),
                    number(rates.tokens_per_s, 0), number(100.0 * record.exposed_share(), 1),
                    number(record.memory.value / 1e9, 1),
                    row.published ? number(row.published->value, 2) : Cell{"-", "", false},
                    number(study.tokens > 0.0 ? in_unit(row, record.seconds(), study)
                                              : rates.days_per_trillion_tokens,
                           1)});
  }
  return sortable(columns, rows);
}

std::string provenance_of(const Study& study) {
  std::vector<std::vector<Cell>> rows;
  for (const StudyRow& row : study.rows) {
    const Provenance& from = row.record.provenance;
    rows.push_back({words(row.record.key), words(from.time), words(from.commit),
                    words(from.compiler), words(from.host), words(row.record.platform_digest),
                    words(from.executables)});
  }
  return sortable({"record", "time", "commit", "compiler", "host", "platform file", "executables"},
                  rows);
}

}  // namespace

std::string base64(const std::string& bytes) {
  constexpr const char* letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      const std::uint32_t byte =
          i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0;
      three = three << 8 | byte;
    }
    for (std::size_t j = 0; j < 4; ++j) {
      const bool beyond = i + j > bytes.size();
      text += beyond ? '=' : letters[three >> (18 - 6 * j) & 63];
    }
  }
  return text;
}

bool is_report(const std::string& text) {
  const std::string around = fmt::format(fmt::runtime(head), "\n\n");  // no line is empty
  const std::size_t title = around.find("\n\n"), after = title + 2;
  const std::string style = around.substr(after, around.find("\n\n", after) - after);
  return text.starts_with(around.substr(0, title)) && text.find(style, title) != std::string::npos;
}

std::string report_html(const Study& study, const ReportParts& parts) {
  std::string text = fmt::format(fmt::runtime(head), markup_text(study.title));
  text += "<h2>Points</h2>\n" + table_of(study);
  if (!study.published_source.empty()) {
    text += "<p>Published: " + markup_text(study.published_source) + "</p>\n";
  }
  if (!parts.failures.empty()) {
    text += "<h2>Points without an answer</h2>\n<ul>\n";
    for (const std::string& one : parts.failures) text += "<li>" + markup_text(one) + "</li>\n";
    text += "</ul>\n";
  }
  if (!parts.pictures.empty() || !parts.not_drawn.empty()) text += "<h2>Figures</h2>\n";
  for (const std::string& one : parts.not_drawn) text += "<p>" + markup_text(one) + "</p>\n";
  for (const std::string& path : parts.pictures) {
    text += fmt::format("<img alt=\"{}\" src=\"data:image/svg+xml;base64,{}\">\n",
                        markup_text(std::filesystem::path(path).stem().string()),
                        base64(read_whole_file(path, "the figure")));
  }
  text += "<h2>Tables as printed</h2>\n<pre>" + markup_text(parts.text) + "</pre>\n";
  text += "<h2>Provenance</h2>\n" + provenance_of(study);
  text += "<h2>The campaign</h2>\n<pre>" + markup_text(parts.campaign_text) + "</pre>\n";
  return text + sorting + "</body></html>\n";
}

}  // namespace fourfold::inline scaling::inline study
