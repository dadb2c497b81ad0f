// Line by line through a log, run by run; see collective_log.hpp.
#include "scaling/calibrate/collective_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include "scaling/calibrate/log_json.hpp"
#include "scaling/calibrate/log_line.hpp"
#include "scaling/calibrate/log_run.hpp"
#include "support/text_file.hpp"

namespace fourfold::inline scaling::inline calibrate {
namespace {

// The program of nccl-tests that a line names, if it names one alone: "all_reduce".
std::string program_in(const std::string& line) {
  constexpr std::array known{"all_reduce", "all_gather", "reduce_scatter", "alltoall",
                             "alltoallv",  "broadcast",  "gather",         "scatter",
                             "reduce",     "sendrecv",   "hypercube",      "bisection"};
  constexpr const char* end = "_perf";
  std::string found;
  for (std::size_t at = line.find(end); at != std::string::npos; at = line.find(end, at + 1)) {
    const std::size_t before =
        line.find_last_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", at);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    const std::string name = line.substr(begin, at - begin);
    if (std::ranges::find(known, name) == known.end()) continue;
    if (!found.empty() && found != name) return "";
    found = name;
  }
  return found;
}

// "OSU MPI-CUDA Non-blocking Allreduce Latency Test v7.3": what stands between the library and the
// test.
std::optional<std::string> osu_title(const std::string& line) {
  const std::size_t osu = line.find("# OSU ");
  if (osu == std::string::npos) return std::nullopt;
  const std::size_t test = line.find(" Test", osu);
  if (test == std::string::npos) return std::nullopt;
  return line.substr(osu + 2, test - osu - 2);
}

class LogReader {
 public:
  LogReader(const std::string& path, const LogRanks& ranks) : path_(path), given_(ranks) {}

  std::vector<LogRun> runs() {
    std::string text = read_text_file(path_, "the log");
    if (text.find_first_not_of(" \t\n") == std::string::npos) {
      throw std::runtime_error(path_ + ": the log is empty");
    }
    if (auto said = text_of_container(text)) text = std::move(*said);
    if (begins_with_json(text)) return runs_of_json(text, path_);
    for (const TextLine& line : lines_of(text)) {
      number_ = line.number;
      const std::string plain = without_colours(line.text);
      take(plain);
      if (!line.ended && run_) run_->end_without_line_feed(plain);
    }
    end(0);
    // A launcher may have had something to say first.
    const std::size_t json = text.find("\n{");
    if (runs_.empty() && json != std::string::npos) {
      return runs_of_json(text.substr(json), path_);
    }
    return std::move(runs_);
  }

 private:
  RunDraft& begin(LogTool tool, std::string title) {
    end(number_);
    if (title.empty()) title = std::exchange(program_, "");
    program_.clear();
    return run_.emplace(tool, path_, std::move(title), number_);
  }

  void end(std::int64_t next) {
    if (run_) runs_.push_back(run_->finished(given_, next));
    run_.reset();
  }

  bool is(LogTool tool) const { return run_ && run_->tool() == tool; }

  void take(const std::string& line) {
    if (std::vector<RankLine> rank; read_rank_line(line, number_, rank)) {
      if (!is(LogTool::nccl) || run_->has_table()) begin(LogTool::nccl, "");
      return run_->add(rank.front());
    }
    if (line.find("nThread ") != std::string::npos && line.find("nGpus ") != std::string::npos) {
      begin(LogTool::nccl, "");
      return;
    }
    if (auto title = osu_title(line)) {
      begin(LogTool::osu, *title);
      return;
    }
    constexpr const char* benchmark = "# Benchmarking";
    if (const std::size_t at = line.find(benchmark); at != std::string::npos) {
      const LogWords words = words_of(line.substr(at + std::string(benchmark).size()));
      begin(LogTool::imb, words.empty() ? "?" : words.back());
      return;
    }
    if (auto test = nvbandwidth_test(line)) {
      begin(LogTool::nvbandwidth, *test);
      return;
    }
    if (take_columns(line)) return;
    if (run_ && run_->take(line, number_)) return;
    if (line.find("concluded") != std::string::npos) return;
    if (const std::string program = program_in(line); !program.empty()) program_ = program;
  }

  // Columns begin a run of their own below rows of another, with the same ranks.
  bool take_columns(const std::string& line) {
    if (LogTable::columns_in(LogTool::nccl, line)) {
      if (!is(LogTool::nccl)) {
        begin(LogTool::nccl, "");
      } else if (run_->has_rows()) {
        const RunDraft before = *run_;
        begin(LogTool::nccl, program_.empty() ? before.title() : "").share_ranks(before);
      } else if (!program_.empty()) {
        run_->name(std::exchange(program_, ""));
      }
      run_->begin_table(line);
      return true;
    }
    if (!run_ || run_->tool() == LogTool::nccl || !LogTable::columns_in(run_->tool(), line)) {
      return false;
    }
    if (run_->has_rows()) {
      const RunDraft before = *run_;
      begin(before.tool(), before.title()).share_ranks(before);
    }
    run_->begin_table(line);
    return true;
  }

  std::string path_;
  LogRanks given_;
  std::int64_t number_ = 0;
  std::string program_;  // that was named since the last run began
  std::optional<RunDraft> run_;
  std::vector<LogRun> runs_;
};

}  // namespace

std::vector<LogRun> read_collective_log(const std::string& path, const LogRanks& ranks) {
  std::vector<LogRun> runs = LogReader(path, ranks).runs();
  if (runs.empty()) {
    throw std::runtime_error(fmt::format(
        "{}: this is no output of nccl-tests, rccl-tests, OSU's benchmarks, IMB-MPI1 or "
        "nvbandwidth: no line names a benchmark or the columns of a table",
        path));
  }
  const bool useless = std::ranges::all_of(
      runs, [](const LogRun& run) { return run.samples.empty() && run.links.empty(); });
  if (useless) {
    throw std::runtime_error(fmt::format("{}:{}: \"{}\" {}", path, runs.front().line,
                                         runs.front().title, runs.front().left_out));
  }
  return runs;
}

std::vector<CollectiveSample> samples_of(const std::vector<LogRun>& runs) {
  std::vector<CollectiveSample> all;
  for (const LogRun& run : runs) all.insert(all.end(), run.samples.begin(), run.samples.end());
  return all;
}

}  // namespace fourfold::inline scaling::inline calibrate
