// A table of a log: columns by name, and rows that are checked as they come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scaling/calibrate/log_line.hpp"

namespace fourfold::inline scaling::inline calibrate {

enum class LogTool : std::uint8_t { nccl, osu, imb, nvbandwidth };

struct LogRow {
  std::int64_t line = 0;
  double size = 0.0, time = 0.0;  // bytes, us
  std::optional<double> busbw;    // GB/s; nccl-tests alone say it
  double rate = 0.0;              // MB/s, of benchmarks of bandwidth
};

// Of nccl-tests, out of place. Throws std::runtime_error that begins with path and line.
class LogTable {
 public:
  // Where in a line the names of columns begin, if this is such a line.
  static std::optional<std::size_t> columns_in(LogTool tool, const std::string& line);

  LogTable(LogTool tool, const std::string& path, const std::string& header);

  // Takes the line if it is a row, or the rest of one that other output came into.
  bool take(const std::string& line, std::int64_t number);
  // Refuses a row that never ended.
  void finish() const;
  // Refuses half a size or number at the end of a file, where nothing says that it is whole.
  void refuse_half(const std::string& line, std::int64_t number) const;
  const std::vector<LogRow>& rows() const { return rows_; }
  // Whether elements were combined; unknown where no column says how.
  std::optional<bool> reduces() const { return reduces_; }

 private:
  [[noreturn]] void fail(std::int64_t line, const std::string& what) const;
  bool begins_row(const LogWords& words) const;
  bool continues_row(const LogWords& words) const;
  void refuse_hidden_row(const std::string& line, std::int64_t number) const;
  LogWords cells_of(const LogWords& words) const;
  std::optional<std::size_t> column(const std::string& name) const;
  template <class Names>
  std::optional<std::size_t> first_of(const Names& names) const;
  std::optional<std::size_t> measured_column() const;
  double cell(std::size_t at) const;
  double cell(const std::string& name) const;
  void put_row();
  void check_results() const;
  void check_decimals();

  LogTool tool_;
  std::string path_;
  LinePrefix prefix_;
  LogWords columns_, words_;           // of the row that is being read
  std::int64_t line_ = 0;              // at which that began
  std::vector<std::size_t> decimals_;  // by column
  std::vector<LogRow> rows_;
  std::optional<bool> reduces_;
};

// Rows as they come: a larger message in less time is doubted.
class GrowingTimes {
 public:
  // Bytes and us. Empty: no doubt.
  std::string doubt(double size, double time);

 private:
  double last_size_ = 0.0, longest_ = 0.0, size_of_longest_ = 0.0;
};

// Both are printed with two decimals, times and rates.
bool differs(double said, double expected);
// As nccl-tests print it: size / time is algbw. Empty if it is.
std::string wrong_rate(double size, double time, double algbw);

}  // namespace fourfold::inline scaling::inline calibrate
