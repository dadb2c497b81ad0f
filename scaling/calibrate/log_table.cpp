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

// From 10 s on a time has one decimal, "1.0e+07", and the rate beside it tells it better.
double finer_time(double size, double time, const std::string& printed, double algbw) {
  constexpr double rounded = 0.05;
  if (printed.find('e') == std::string::npos || !(algbw > 0.0)) return time;
  const double finer = size / algbw * 1e-3;
  return std::abs(finer - time) <= rounded * time * 1.1 ? finer : time;
}

bool has_digit(const std::string& word) {
  return std::ranges::any_of(word, [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

// Of types, operations and "Pass".
bool is_name(const std::string& word) {
  return std::isalpha(static_cast<unsigned char>(word[0])) != 0 &&
         word.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
             std::string::npos;
}

bool is_type(const std::string& word) {
  constexpr std::array types{"float",  "half",  "double", "bfloat16", "int8", "uint8", "int32",
                             "uint32", "int64", "uint64", "char",     "int",  "uint"};
  return std::ranges::find(types, word) != types.end() || word.starts_with("f8") ||
         word.starts_with("fp8");
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

std::string GrowingTimes::doubt(double size, double time) {
  constexpr double noise = 0.9;
  if (size <= last_size_) longest_ = 0.0;  // once more from the start
  last_size_ = size;
  if (time < noise * longest_) {
    return fmt::format("{:.0f} bytes took {:g} us, but {:.0f} bytes {:g} us; doubt one of the two",
                       size, time, size_of_longest_, longest_);
  }
  if (time > longest_) {
    longest_ = time;
    size_of_longest_ = size;
  }
  return "";
}

std::optional<std::size_t> LogTable::columns_in(LogTool tool, const std::string& line) {
  const LogWords words = words_of(line);
  const auto has = [&](const char* word) { return std::ranges::find(words, word) != words.end(); };
  switch (tool) {
    case LogTool::nccl:
      if (!has("algbw") || !has("busbw") || !(has("time") || has("cputime"))) return std::nullopt;
      if (!has("size") && !has("#size")) return std::nullopt;
      return line.rfind("size", line.find("algbw"));
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
  // Old ones of IMB name benchmark and processes in each row, below "#Benchmarking #procs".
  if (tool == LogTool::imb) std::erase(before, '#');
  prefix_ = LinePrefix(before);
  const std::string names = header.substr(at);
  columns_ = tool == LogTool::osu ? column_names(names) : words_of(names);
  // A day and a time of day stand below the last one, which nothing is read from.
  if (columns_.back() == "timestamp") columns_.pop_back();
}

void LogTable::fail(std::int64_t line, const std::string& what) const {
  throw std::runtime_error(fmt::format("{}:{}: {}", path_, line, what));
}

// Other text may begin with a number, too.
bool LogTable::begins_row(const LogWords& words) const {
  if (words.size() < 2 || !is_count(words.front())) return false;
  if (tool_ != LogTool::nccl) {
    // As many words as columns are a row with a damaged number, unless all of them are words.
    return number_in(words[1]) || (words.size() == columns_.size() &&
                                   std::ranges::any_of(words.begin() + 1, words.end(), has_digit));
  }
  return words.size() > 2 && number_in(words[1]) &&
         std::isalpha(static_cast<unsigned char>(words[2][0])) != 0;
}

// What a line has of a row. nccl-tests print it in pieces, each of which ends before a time, and
// other output, as "host:12:34 [0] NCCL INFO ...", may stick to the last word of one. No number of
// theirs begins with a 0 and another digit: "010n0:12:34" is 0 and a host.
LogWords LogTable::cells_of(const LogWords& words) const {
  const auto begins_piece = [&](std::size_t at) {
    return at < columns_.size() && (columns_[at] == "time" || columns_[at] == "cputime");
  };
  LogWords cells;
  for (const std::string& word : words) {
    const std::size_t at = words_.size() + cells.size();
    if (tool_ == LogTool::nccl && at == columns_.size()) break;
    const bool whole = is_cell(word) || is_name(word) || tool_ != LogTool::nccl;
    if (!whole && begins_piece(at) && (word[0] == '[' || word.find(':') != std::string::npos))
      break;
    if (whole || !(begins_piece(at + 1) || at + 1 == columns_.size())) {
      cells.push_back(word);
      continue;
    }
    std::string begun = word.substr(0, word.find_first_not_of("-.0123456789"));
    if (begun.size() > 1 && begun[0] == '0' && begun[1] != '.') begun.resize(1);
    cells.push_back(is_cell(begun) ? begun : word);
    break;
  }
  return cells;
}

bool LogTable::take(const std::string& line, std::int64_t number) {
  const LogWords all = words_of(prefix_.behind(line));
  const LogWords words = cells_of(all);
  if (!continues_row(words) && begins_row(all)) finish();
  if (words_.empty() && begins_row(words)) {
    words_ = words;
    line_ = number;
  } else if (continues_row(words)) {
    words_.insert(words_.end(), words.begin(), words.end());
  } else {
    refuse_hidden_row(line, number);
    return false;
  }
  if (words_.size() >= columns_.size()) {
    put_row();
    words_.clear();
  }
  return true;
}

// nccl-tests print a row in up to three pieces: what was sent, out of place, in place.
bool LogTable::continues_row(const LogWords& words) const {
  constexpr std::size_t least = 4;  // time, two rates and results
  return !words_.empty() && words.size() >= std::min(least, columns_.size() - words_.size()) &&
         std::ranges::all_of(words, is_cell);
}

// A row behind something else than what stood before the columns would be missing silently.
void LogTable::refuse_hidden_row(const std::string& line, std::int64_t number) const {
  const LogWords all = words_of(line);
  if (all.size() <= columns_.size()) return;
  const LogWords last(all.end() - static_cast<std::ptrdiff_t>(columns_.size()), all.end());
  const auto measured = measured_column();
  if (!measured || !begins_row(last) || cells_of(last) != last) return;
  if (tool_ != LogTool::nccl && last[*measured].find('.') == std::string::npos) return;
  // Two numbers end many a line: those of a row follow on the row before.
  const bool follows = !rows_.empty() && number_in(last[0]) == 2.0 * rows_.back().size;
  if (tool_ == LogTool::nccl ? !is_type(last[2]) : last.size() < 3 && !follows) return;
  fail(number,
       "a row stands behind something else here than what stands before the columns of its "
       "table; give the log without what was put before its lines");
}

void LogTable::finish() const {
  if (words_.empty()) return;
  fail(line_, fmt::format("the row has {} of {} columns; the log was cut off here", words_.size(),
                          columns_.size()));
}

void LogTable::refuse_half(const std::string& line, std::int64_t number) const {
  const LogWords words = words_of(prefix_.behind(line));
  if (words.size() == 1 && is_count(words.front())) {
    fail(number,
         fmt::format("the row has 1 of {} columns; the log was cut off here", columns_.size()));
  }
  if (tool_ == LogTool::nccl || rows_.empty() || rows_.back().line != number) return;
  constexpr std::array whole{"Iterations", "Validation", "defects"};
  constexpr std::size_t decimals = 2;  // that MPI benchmarks print
  const std::string &word = words.back(), &name = columns_.back();
  if (words.size() != columns_.size() || std::ranges::find(whole, name) != whole.end()) return;
  const std::size_t point = word.find('.');
  if (point != std::string::npos && word.size() - point - 1 >= decimals) return;
  fail(number,
       fmt::format("\"{}\" in column {}, with which the log ends, has fewer than {} decimals: "
                   "the number was cut off",
                   word, name, decimals));
}

std::optional<std::size_t> LogTable::column(const std::string& name) const {
  const auto at = std::ranges::find(columns_, name);
  if (at == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - columns_.begin());
}

template <class Names>
std::optional<std::size_t> LogTable::first_of(const Names& names) const {
  for (const char* name : names) {
    if (const auto found = column(name)) return found;
  }
  return std::nullopt;
}

std::optional<std::size_t> LogTable::measured_column() const {
  const auto rate = first_of(rate_columns);
  return rate ? rate : first_of(time_columns);
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
  const auto rate = first_of(rate_columns), time = first_of(time_columns);
  if (!rate && !time) return;  // of another benchmark
  check_decimals();
  if (rate) row.rate = cell(*rate);
  if (time) row.time = cell(*time);
  if (!rate && row.time == 0.0) fail(line_, "a collective cannot take 0 us");
  if (tool_ == LogTool::nccl) {
    row.time = finer_time(row.size, row.time, words_.at(*time), cell("algbw"));
    const std::string why = wrong_rate(row.size, row.time, cell("algbw"));
    if (!why.empty()) fail(line_, why);
    row.busbw = cell("busbw");
    if (const auto how = column("redop")) reduces_ = words_.at(*how) != "none";
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
    const std::string verdict = lower_case(word);
    if (name != "validation" || verdict == "pass") continue;
    const bool half = verdict != "fail" && (std::string_view("pass").starts_with(verdict) ||
                                            std::string_view("fail").starts_with(verdict));
    fail(line_, fmt::format("\"{}\" in column Validation {}", word,
                            half ? "is half a word; the log was cut off here"
                                 : "says that results were wrong; its times prove nothing"));
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
