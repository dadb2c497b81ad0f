// From lines to samples; see log_run.hpp.
#include "scaling/calibrate/log_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <stdexcept>

#include "scaling/bars/deviations.hpp"
#include "sim/cost/protocol.hpp"

namespace fourfold::inline scaling::inline calibrate {
namespace {

constexpr double micro = 1e-6, mega = 1e6, giga = 1e9;
constexpr const char* is_none =
    "is none of the collectives of a training step, which are all-reduce, all-gather and "
    "reduce-scatter";
constexpr const char* is_message =
    "measures messages between ranks, of which osu_bw and osu_mbw_mr alone are read";

// "AllReduce", "all_reduce" and "all-reduce" are one word.
std::string one_word(const std::string& text) {
  std::string word;
  for (const char letter : lower_case(text)) {
    if (letter != '_' && letter != '-' && letter != ' ') word += letter;
  }
  return word;
}

// The one collective that the name of a file has in it; "allgatherv" is another.
std::optional<CollectiveKind> collective_in_file_name(const std::string& path) {
  const std::string word = one_word(std::filesystem::path(path).filename().string());
  std::optional<CollectiveKind> found;
  for (const KindRow& row : around_rows) {
    const std::string name = one_word(row.name);
    const std::size_t at = word.find(name);
    if (at == std::string::npos || word.substr(at + name.size()).starts_with('v')) continue;
    if (found) return std::nullopt;
    found = row.kind;
  }
  return found;
}

// The whole number behind a word, over blanks and signs: "# #processes = 16"; 0 without one.
std::int64_t number_behind(const std::string& line, const std::string& word) {
  const std::size_t at = line.find(word);
  if (at == std::string::npos) return 0;
  const std::size_t digit = line.find_first_not_of(" =:", at + word.size());
  std::int64_t value = 0;
  if (digit != std::string::npos)
    std::from_chars(line.data() + digit, line.data() + line.size(), value);
  return value;
}

// Behind "OSU MPI-CUDA", without how it is started.
std::string osu_name(const std::string& title) {
  std::string name = title.substr(std::min(title.find(' ', 4) + 1, title.size()));
  for (const std::string way : {"Non-blocking ", "Persistent "}) {
    if (name.starts_with(way)) name.erase(0, way.size());
  }
  for (const std::string end : {" Latency", " Persistent"}) {
    if (name.ends_with(end)) name.erase(name.size() - end.size());
  }
  return name;
}

// As nccl-tests give up: "node1: Test NCCL failure common.cu:958 'unhandled system error'".
bool is_failure(const std::string& line) {
  const std::size_t test = line.find(": Test ");
  return test != std::string::npos && line.find(" failure ", test) != std::string::npos;
}

// Of OSU's benchmarks and IMB's, those that are no collectives.
bool is_of_messages(const std::string& name) {
  constexpr std::array whole{"Latency",  "Multi",    "PingPong", "PingPing",
                             "Sendrecv", "Exchange", "Uniband",  "Biband"};
  constexpr std::array part{"Bandwidth", "Message Rate", "Multi-threaded", "Multi-process"};
  return std::ranges::find(whole, name) != whole.end() ||
         std::ranges::any_of(
             part, [&](const char* word) { return name.find(word) != std::string::npos; });
}

}  // namespace

std::optional<CollectiveKind> collective_named(const std::string& name) {
  const std::string word = one_word(name);
  for (const KindRow& row : around_rows) {
    if (word == one_word(row.name)) return row.kind;
  }
  return std::nullopt;
}

std::optional<std::string> nvbandwidth_test(const std::string& line) {
  const std::string running = "Running ";
  const std::size_t at = line.find(running);
  if (at == std::string::npos || !line.ends_with('.')) return std::nullopt;
  const std::string test = line.substr(at + running.size(), line.size() - at - running.size() - 1);
  const bool one =
      test.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  const bool copies = test.find("memcpy") != std::string::npos ||
                      test.find("latency") != std::string::npos ||
                      test.find("local_copy") != std::string::npos;
  if (!one || !copies) return std::nullopt;
  return test;
}

std::string link_of_test(const std::string& test) {
  if (test.starts_with("host_to_device_memcpy_")) return "host to device";
  const bool one_way = test.starts_with("device_to_device_memcpy_read_") ||
                       test.starts_with("device_to_device_memcpy_write_");
  return one_way ? "device to device" : "";
}

void RunDraft::fail(std::int64_t line, const std::string& what) const {
  throw std::runtime_error(fmt::format("{}:{}: {}", path_, line, what));
}

void RunDraft::share_ranks(const RunDraft& before) {
  ranks_ = before.ranks_;
  processes_ = before.processes_;
  groups_ = before.groups_;
}

void RunDraft::begin_table(const std::string& header) {
  table_.emplace(tool_, path_, header);
}

bool RunDraft::take(const std::string& line, std::int64_t number) {
  last_line_ = number;
  if (tool_ == LogTool::nvbandwidth) take_matrix(line);
  if (tool_ == LogTool::imb && line.find("#processes") != std::string::npos) {
    processes_ = number_behind(line, "#processes");
  }
  if (tool_ == LogTool::imb && line.find(" groups of ") != std::string::npos) {
    groups_ = number_behind(line, "( ");
  }
  if (const std::int64_t pairs = number_behind(line, "[ pairs"); pairs > 0) pairs_ = pairs;
  if (tool_ == LogTool::nccl && line.find("Out of bounds values") != std::string::npos) {
    const LogWords words = words_of(line);
    if (words.back() != "OK" || words[words.size() - 2] != "0") {
      fail(number, fmt::format("\"{}\" says that results were wrong; its times prove nothing",
                               line.substr(line.find("Out of bounds values"))));
    }
  }
  if (tool_ == LogTool::nccl && failure_.empty() && !whole_ && is_failure(line)) {
    failure_ = line.substr(line.find_first_not_of(" \t"));
    failure_line_ = number;
  }
  if (tool_ == LogTool::nccl && line.find("Avg bus bandwidth") != std::string::npos) {
    whole_ = true;
    return true;
  }
  return table_ && !whole_ && table_->take(line, number);
}

void RunDraft::take_matrix(const std::string& line) {
  if (const std::size_t at = line.find("SUM " + title_ + " "); at != std::string::npos) {
    const LogWords words = words_of(std::string_view(line).substr(at));
    if (words.size() == 3) sum_ = number_in(words[2]);
    return;
  }
  if (const std::size_t at = line.find("memcpy "); at != std::string::npos) {
    matrix_prefix_ = LinePrefix(std::string_view(line).substr(0, at));
    return;
  }
  const LogWords words = words_of(matrix_prefix_.behind(line));
  std::size_t columns = 0;
  while (columns < words.size() && words[columns] == std::to_string(columns)) ++columns;
  if (columns == words.size() && columns > 0) {
    matrix_columns_ = columns;
  } else if (matrix_columns_ > 0 && words.size() == matrix_columns_ + 1 && is_count(words[0])) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (const auto cell = number_in(words[i]); cell && *cell > 0.0) cells_.push_back(*cell);
    }
  }
}

void RunDraft::end_without_line_feed(const std::string& line) const {
  if (table_ && !whole_) table_->refuse_half(line, last_line_);
}

LogRun RunDraft::finished(const LogRanks& given, std::int64_t next) const {
  LogRun run;
  run.line = line_;
  run.title = tool_ == LogTool::imb           ? "IMB-MPI1 " + title_
              : tool_ == LogTool::nvbandwidth ? "nvbandwidth " + title_
              : tool_ == LogTool::osu         ? title_
                                              : title_ + (title_.empty() ? "" : "_perf");
  if (tool_ == LogTool::nvbandwidth) {
    put_matrix(run);
    return run;
  }
  const std::string name = tool_ == LogTool::osu ? osu_name(title_) : title_;
  const auto kind = tool_ == LogTool::nccl && name.empty() ? collective_in_file_name(path_)
                                                           : collective_named(name);
  const bool one_sided =
      title_.find("Put") != std::string::npos || title_.find("Get") != std::string::npos;
  if (tool_ == LogTool::osu && !one_sided &&
      (name == "Bandwidth" || name.starts_with("Multiple Bandwidth"))) {
    put_links(run, next);
    return run;
  }
  if (!kind && !name.empty()) {
    run.left_out = tool_ != LogTool::nccl && is_of_messages(name) ? is_message : is_none;
    return run;
  }
  check_end(next);
  // Of a file of several runs the name may be that of another.
  if (kind && name.empty() && table_->reduces() == (*kind == CollectiveKind::all_gather)) {
    fail(table_->rows().front().line,
         fmt::format("the column redop is not that of {}, after which the file is named; give the "
                     "whole log, or name the file after its collective, as in all_gather_perf.txt",
                     fourfold::name(*kind)));
  }
  if (!kind) {
    fail(line_,
         "nothing says which collective the run that begins here is; keep the line of the command, "
         "or name the file after it, as in all_gather_perf.txt");
  }
  if (groups_ > 1) {
    run.left_out = "has several groups at once, and does not say in which nodes";
    return run;
  }
  if (run.title.empty()) run.title = fourfold::name(*kind);
  const LogGroup group = this->group(given);
  if (group.at_once > 1 && group.nodes == 1) {
    run.left_out = several_in_a_node;
    return run;
  }
  if (group.members() < 2) {
    run.left_out = "has one rank alone, which does no collective";
    return run;
  }
  run.placed_by_user = ranks_.empty();
  put_samples(*kind, group, run);
  return run;
}

void RunDraft::check_end(std::int64_t next) const {
  if (!failure_.empty()) fail(failure_line_, fmt::format("the run failed: \"{}\"", failure_));
  if (table_) table_->finish();
  if (!has_rows()) {
    fail(line_, "the run that begins here ended before its first result" +
                    (next == 0 ? std::string()
                               : fmt::format("; line {} begins another: one was cut off, or two "
                                             "wrote into one log at once",
                                             next)));
  }
  if (tool_ != LogTool::nccl || whole_) return;
  fail(table_->rows().back().line,
       "after this row the line \"# Avg bus bandwidth\" is missing, with which nccl-tests and "
       "rccl-tests end; the log was cut off");
}

// nvbandwidth ends a matrix with the sum of its cells.
void RunDraft::put_matrix(LogRun& run) const {
  const std::string what = link_of_test(title_);
  if (what.empty()) {
    run.left_out = "measures no link as a training step uses it";
    return;
  }
  if (cells_.empty() && !sum_) {
    run.left_out = "has no results";
    return;
  }
  if (!sum_)
    fail(line_,
         fmt::format(
             "the line \"SUM {}\" is missing below the matrix of this test; the log was cut off",
             title_));
  double sum = 0.0;
  for (const double cell : cells_) sum += cell;
  if (differs(sum, *sum_)) {
    fail(line_, fmt::format("the matrix of this test adds up to {:.2f} GB/s, but the line \"SUM "
                            "{}\" says {:g}; the log is damaged",
                            sum, title_, *sum_));
  }
  run.links.push_back({what, {giga * quantile(cells_, 0.5)}});
}

LogGroup RunDraft::group(const LogRanks& given) const {
  if (!ranks_.empty()) return group_of(ranks_, path_);
  if (processes_ > 0) return group_of_processes(given);
  if (given.nodes > 0 && given.in_each > 0) return {given.nodes, given.in_each};
  fail(line_,
       "the log does not say how many ranks it had on which nodes; give --nodes and "
       "--devices-per-node");
}

// IMB says how many there were, which fill node after node.
LogGroup RunDraft::group_of_processes(const LogRanks& given) const {
  const std::int64_t in_each = given.in_each;
  if (in_each == 0) {
    fail(line_, "the log does not say on which nodes its processes were; give --devices-per-node");
  }
  if (processes_ <= in_each) return {1, processes_};
  if (processes_ % in_each != 0 || (given.nodes > 0 && processes_ > given.nodes * in_each)) {
    fail(line_,
         fmt::format("{} processes do not fill {} of {}; give --nodes and --devices-per-node as "
                     "they were",
                     processes_, given.nodes > 0 ? fmt::format("{} nodes", given.nodes) : "nodes",
                     in_each));
  }
  return {processes_ / in_each, in_each};
}

void RunDraft::put_samples(CollectiveKind kind, const LogGroup& group, LogRun& run) const {
  // MPI benchmarks count what a rank brings to an all-gather, nccl-tests what it gets.
  const bool per_rank = tool_ != LogTool::nccl && kind == CollectiveKind::all_gather;
  const double scale = per_rank ? static_cast<double>(group.members()) : 1.0;
  GrowingTimes times;
  for (const LogRow& row : table_->rows()) {
    if (row.busbw) {
      const double expected = row.size / row.time * 1e-3 * part_sent(kind, group.members());
      if (differs(*row.busbw, expected)) {
        fail(row.line,
             fmt::format("{:g} bytes in {:g} us on {} ranks are a bus bandwidth of {:.2f} "
                         "GB/s, but the row says {:g}; the log is damaged, or of another "
                         "collective or number of ranks",
                         row.size, row.time, group.members(), expected, *row.busbw));
      }
    }
    if (const std::string doubt = times.doubt(row.size, row.time); !doubt.empty()) {
      run.doubts.push_back(fmt::format("{}:{}: {}", path_, row.line, doubt));
    }
    run.samples.push_back(
        {kind, group.nodes, group.in_each, {row.size * scale}, {row.time * micro}, group.at_once});
  }
}

void RunDraft::put_links(LogRun& run, std::int64_t next) const {
  check_end(next);
  run.links.push_back({"rank to rank", {mega * table_->rows().back().rate}, pairs_});
}

}  // namespace fourfold::inline scaling::inline calibrate
