// The reader of published rows; see published.hpp.
#include "scaling/study/published.hpp"

#include <fmt/format.h>

#include <charconv>
#include <sstream>
#include <stdexcept>

#include "scaling/study/figure.hpp"
#include "support/field.hpp"
#include "support/text_file.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

constexpr const char* header = "machine,devices,model,batch_s,pflops";
constexpr const char* labelled_header = "machine,devices,model,batch_s,pflops,label";
constexpr const char* source_mark = "# source: ";

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = line.find(',', begin);
    parts.push_back(line.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

template <typename Number>
Number positive(const std::string& cell) {
  Number value{};
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || !(value > Number{})) {
    throw std::runtime_error("'" + cell + "' is no number above 0");
  }
  constexpr auto most = static_cast<Number>(most_of_anything);
  if (value > most || static_cast<double>(value) < 1e-9) {
    throw std::runtime_error("'" + cell + "' is no number from 1e-9 to 1e9");
  }
  return value;
}

PublishedRow read_row(const std::string& line, std::size_t columns) {
  const std::vector<std::string> parts = cells(line);
  if (parts.size() != columns) {
    throw std::runtime_error(fmt::format("{} cells are expected, not {}", columns, parts.size()));
  }
  if (parts[0].empty() || parts[2].empty()) {
    throw std::runtime_error("machine and model must have names");
  }
  const std::string label = columns > 5 ? csv_cell(parts[5]) : "";
  PublishedRow row{
      csv_cell(parts[0]), csv_cell(parts[2]), positive<std::int64_t>(parts[1]), {}, {}, label};
  if (!parts[3].empty()) row.seconds = {{positive<double>(parts[3])}};
  if (!parts[4].empty()) row.rate = {{positive<double>(parts[4]) * 1e15}};
  if (!row.seconds && !row.rate) throw std::runtime_error("neither batch_s nor pflops is given");
  return row;
}

}  // namespace

std::string PublishedRow::words() const {
  return fmt::format("{} on {} devices of {}{}{}", model, devices, machine,
                     label.empty() ? "" : ", ", label);
}

const PublishedRow* Published::row(const std::string& machine, const std::string& model,
                                   std::int64_t devices, const std::string& label) const {
  const PublishedRow* of_all = nullptr;
  const PublishedRow asked{csv_cell(machine), csv_cell(model), devices, {}, {}, csv_cell(label)};
  for (const PublishedRow& row : rows) {
    const bool alike =
        row.machine == asked.machine && row.model == asked.model && row.devices == asked.devices;
    if (alike && row.label == asked.label) return &row;
    if (alike && row.label.empty()) of_all = &row;
  }
  return of_all;
}

Published read_published(const std::string& path) {
  std::istringstream file(read_text_file(path, "the published rows in"));
  Published published;
  std::size_t columns = 0;  // 0: the heading is yet to come
  std::int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    try {
      if (line.starts_with(source_mark)) published.source = line.substr(10);
      if (line.empty() || line.front() == '#') continue;
      if (columns > 0) {
        PublishedRow row = read_row(line, columns);
        const PublishedRow* known = published.row(row.machine, row.model, row.devices, row.label);
        if (known != nullptr && known->label.empty() == row.label.empty()) {
          throw std::runtime_error(row.words() + " is there twice");
        }
        published.rows.push_back(std::move(row));
      } else if (line == header || line == labelled_header) {
        columns = line == header ? 5 : 6;
      } else {
        throw std::runtime_error(
            fmt::format("the columns must be {}, and label if points have labels", header));
      }
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(fmt::format("{}, line {}: {}", path, number, error.what()));
    }
  }
  if (published.rows.empty()) {
    throw std::runtime_error(
        fmt::format("{} has no rows: below the line {} one a run is expected", path, header));
  }
  return published;
}

}  // namespace fourfold::inline scaling::inline study
