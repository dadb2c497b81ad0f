// One run of a log while it is read: who took part, its table, its end, and what follows from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scaling/calibrate/collective_log.hpp"
#include "scaling/calibrate/log_table.hpp"

namespace fourfold::inline scaling::inline calibrate {

inline constexpr const char* several_in_a_node =
    "has several groups inside a node at once, of which no constant speaks";

// The collective of a training step that is named so: "all_reduce", "Allreduce", "Reduce_scatter",
// "Non-blocking Allgather"; "Allgatherv" and "Neighborhood Allgather" are others.
std::optional<CollectiveKind> collective_named(const std::string& name);

// The test that nvbandwidth says it is running.
std::optional<std::string> nvbandwidth_test(const std::string& line);
// What a matrix of that test measured; empty: nothing of a training step.
std::string link_of_test(const std::string& test);

class RunDraft {
 public:
  RunDraft(LogTool tool, std::string path, std::string title, std::int64_t line)
      : tool_(tool), path_(std::move(path)), title_(std::move(title)), line_(line) {}

  LogTool tool() const { return tool_; }
  const std::string& title() const { return title_; }
  bool has_table() const { return table_.has_value(); }
  bool has_rows() const { return table_ && !table_->rows().empty(); }

  void name(std::string title) { title_ = std::move(title); }
  void add(const RankLine& rank) { ranks_.push_back(rank); }
  void share_ranks(const RunDraft& before);
  void begin_table(const std::string& header);
  // Whether the line says something about the run.
  bool take(const std::string& line, std::int64_t number);
  // The file ends in this line, which may be half of one.
  void end_without_line_feed(const std::string& line) const;

  // `given`: where its ranks were, if it does not say it. `next`: the line that begins another run,
  // or 0.
  LogRun finished(const LogRanks& given, std::int64_t next) const;

 private:
  [[noreturn]] void fail(std::int64_t line, const std::string& what) const;
  void take_matrix(const std::string& line);
  CollectiveKind kind() const;
  LogGroup group(const LogRanks& given) const;
  LogGroup group_of_processes(const LogRanks& given) const;
  void put_samples(CollectiveKind kind, const LogGroup& group, LogRun& run) const;
  void put_links(LogRun& run, std::int64_t next) const;
  void put_matrix(LogRun& run) const;
  void check_end(std::int64_t next) const;

  LogTool tool_;
  std::string path_, title_;
  std::int64_t line_;
  std::vector<RankLine> ranks_;
  std::int64_t processes_ = 0, groups_ = 1, pairs_ = 1;
  std::optional<LogTable> table_;
  bool whole_ = false;   // nccl-tests' last line was read
  std::string failure_;  // what a benchmark said when it gave up
  std::int64_t failure_line_ = 0;
  std::int64_t last_line_ = 0;
  LinePrefix matrix_prefix_;
  std::size_t matrix_columns_ = 0;
  std::vector<double> cells_;  // of nvbandwidth's matrix, GB/s
  std::optional<double> sum_;  // that it prints below
};

}  // namespace fourfold::inline scaling::inline calibrate
