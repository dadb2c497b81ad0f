// Rows of tables; see log_table.hpp.
#include "scaling/calibrate/log_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <stdexcept>

namespace fourfold::inline scaling::inline calibrate {
namespace {

// The first that a table has says how long a collective took.
constexpr std::array time_columns{"time", "cputime", "Pure Comm.(us)", "Avg Latency(us)",
                                  "t_avg[usec]"};
constexpr std::array rate_columns{"Bandwidth (MB/s)", "MB/s"};

bool is_cell(const std::string& word) {
  return word == "N/A" || number_in(word).has_value();
}

// What a line has of a row before "host:12:34 [0] NCCL INFO ...", which may stick to its last word.
std::string without_nccl(const std::string& line) {
  std::size_t end = line.find(" NCCL ");
  if (end == std::string::npos) return line;
  std::string head = line.substr(0, end);
  if (head.ends_with(']')) head.erase(std::min(head.rfind('['), head.size()));
  head.erase(head.find_last_not_of(' ') + 1);
  const std::size_t host = head.find_last_of(' ') + 1;
  return head.substr(0, std::min(head.find_first_not_of("-.0123456789", host), head.size()));
}

}  // namespace

bool differs(double said, double expected) {
  constexpr double rounded = 0.0051, share = 0.02;
  return std::abs(said - expected) > rounded + share * expected;
}

std::string wrong_rate(double size, double time, double algbw) {
  const double expected = size / time * 1e-3;
  if (!differs(algbw, expected)) return "";
  return fmt::format(
      "{:g} bytes in {:g} us are {:.2f} GB/s, but the row says {:g}; the log is damaged", size,
      time, expected, algbw);
}

std::optional<std::size_t> LogTable::columns_in(LogTool tool, const std::string& line) {
  const LogWords words = words_of(line);
  const auto has = [&](const char* word) { return std::ranges::find(words, word) != words.end(); };
  switch (tool) {
    case LogTool::nccl:
      if (!has("algbw") || !has("busbw") || !(has("time") || has("cputime"))) return std::nullopt;
      if (line.find("size") == std::string::npos) return std::nullopt;
      return line.find("size");
    case LogTool::osu: {
      const std::size_t at = line.find("# Size ");
      if (at == std::string::npos) return std::nullopt;
      return at + 2;
    }
    case LogTool::imb:
      if (!has("#bytes") || !has("#repetitions")) return std::nullopt;
      return line.find("#bytes");
    case LogTool::nvbandwidth:
      break;
  }
  return std::nullopt;
}

LogTable::LogTable(LogTool tool, const std::string& path, const std::string& header)
    : tool_(tool), path_(path) {
  const std::size_t at = *columns_in(tool, header);
  std::string before = header.substr(0, at);
  before.erase(before.find_last_not_of("# ") + 1);
  prefix_ = LinePrefix(before);
  const std::string names = header.substr(at);
  columns_ = tool == LogTool::osu ? column_names(names) : words_of(names);
}

void LogTable::fail(std::int64_t line, const std::string& what) const {
  throw std::runtime_error(fmt::format("{}:{}: {}", path_, line, what));
}

// Other text may begin with a number, too.
bool LogTable::begins_row(const LogWords& words) const {
  if (words.size() < 2 || !is_count(words.front())) return false;
  if (tool_ != LogTool::nccl) return number_in(words[1]) || words.size() == columns_.size();
  return words.size() > 2 && number_in(words[1]) &&
         std::isalpha(static_cast<unsigned char>(words[2][0])) != 0;
}

bool LogTable::take(const std::string& line, std::int64_t number) {
  const std::string text = without_nccl(line);
  const LogWords words = words_of(prefix_.behind(text));
  if (begins_row(words)) {
    finish();
    words_ = words;
    line_ = number;
  } else if (!words_.empty() && !words.empty() && std::ranges::all_of(words, is_cell)) {
    words_.insert(words_.end(), words.begin(), words.end());
  } else {
    return false;
  }
  if (words_.size() >= columns_.size()) {
    put_row();
    words_.clear();
  }
  return true;
}

void LogTable::finish() const {
  if (words_.empty()) return;
  fail(line_, fmt::format("the row has {} of {} columns; the log was cut off here", words_.size(),
                          columns_.size()));
}

void LogTable::refuse_half(const std::string& line, std::int64_t number) const {
  const LogWords words = words_of(prefix_.behind(line));
  if (words.size() != 1 || !is_count(words.front())) return;
  fail(number,
       fmt::format("the row has 1 of {} columns; the log was cut off here", columns_.size()));
}

std::optional<std::size_t> LogTable::column(const std::string& name) const {
  const auto at = std::ranges::find(columns_, name);
  if (at == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - columns_.begin());
}

double LogTable::cell(const std::string& name) const {
  const auto at = column(name);
  if (!at) fail(line_, "the line above that names the columns has no " + name);
  return cell(*at);
}

double LogTable::cell(std::size_t at) const {
  const auto value = number_in(words_.at(at));
  if (!value || *value < 0.0) {
    fail(line_, fmt::format("\"{}\" in column {} is no number of at least 0", words_.at(at),
                            columns_.at(at)));
  }
  return *value;
}

void LogTable::put_row() {
  LogRow row;
  row.line = line_;
  row.size = cell(0);
  if (row.size == 0.0) return;  // nothing was sent
  check_results();
  const auto first_of = [this](const auto& names) {
    std::optional<std::size_t> found;
    for (const char* name : names) {
      if (!found) found = column(name);
    }
    return found;
  };
  const auto rate = first_of(rate_columns), time = first_of(time_columns);
  if (!rate && !time) return;  // of another benchmark
  check_decimals();
  if (rate) row.rate = cell(*rate);
  if (time) row.time = cell(*time);
  if (!rate && row.time == 0.0) fail(line_, "a collective cannot take 0 us");
  if (tool_ == LogTool::nccl) {
    const std::string why = wrong_rate(row.size, row.time, cell("algbw"));
    if (!why.empty()) fail(line_, why);
    row.busbw = cell("busbw");
  } else if (!rows_.empty() && row.size <= rows_.back().size) {
    fail(line_,
         fmt::format("{:.0f} bytes stand below {:.0f}: a second table has lost its title; give "
                     "the whole log",
                     row.size, rows_.back().size));
  }
  rows_.push_back(row);
}

void LogTable::check_results() const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string& word = words_[i];
    const std::string name = lower_case(columns_[i]);
    const bool compared = name == "#wrong" || name == "defects";
    if (compared && word != "N/A" && number_in(word) != 0.0) {
      fail(line_,
           fmt::format("the library computed {} wrong results; its times prove nothing", word));
    }
    if (name == "validation" && lower_case(word) != "pass") {
      fail(line_, fmt::format("\"{}\" in column Validation says that results were wrong; its times "
                              "prove nothing",
                              word));
    }
  }
}

// MPI benchmarks print as many in all rows.
void LogTable::check_decimals() {
  if (tool_ == LogTool::nccl) return;
  decimals_.resize(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::size_t point = words_[i].find('.');
    const std::size_t decimals = point == std::string::npos ? 0 : words_[i].size() - point - 1;
    if (decimals < decimals_[i]) {
      fail(line_, fmt::format("\"{}\" in column {} has fewer decimals than those above it: the "
                              "number was cut off",
                              words_[i], columns_[i]));
    }
    decimals_[i] = decimals;
  }
}

}  // namespace fourfold::inline scaling::inline calibrate
