// Line by line through a log; see collective_log.hpp.
#include "scaling/calibrate/collective_log.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "sim/cost/protocol.hpp"
#include "support/text_file.hpp"

namespace fourfold::inline scaling::inline calibrate {
namespace {

using Words = std::vector<std::string>;

constexpr double micro = 1e-6;

Words words_of(const std::string& line) {
  std::istringstream text(line);
  Words words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

std::optional<double> number_in(const std::string& word) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return text;
}

// The collective that a title, a program or a file is named after; "allgatherv" is another one.
std::optional<CollectiveKind> kind_in(const std::string& text) {
  std::string word;
  for (char letter : lower(text)) {
    if (letter != '_' && letter != '-') word += letter;
  }
  const auto names = [&](const char* name) {
    const std::size_t at = word.find(name);
    if (at == std::string::npos) return false;
    const std::size_t behind = at + std::string(name).size();
    return behind == word.size() || word[behind] != 'v';
  };
  if (names("allreduce")) return CollectiveKind::all_reduce;
  if (names("allgather")) return CollectiveKind::all_gather;
  if (names("reducescatter")) return CollectiveKind::reduce_scatter;
  return std::nullopt;
}

bool is_osu_title(const std::string& line) {
  return line.find("OSU MPI") != std::string::npos && line.find("Test") != std::string::npos;
}

// mpirun --tag-output puts "[1,0]<stdout>: " before each line.
std::string without_tag(const std::string& line) {
  const std::size_t tag = line.find("<stdout>:");
  return tag == std::string::npos ? line : line.substr(tag + std::string("<stdout>:").size());
}

class LogReader {
 public:
  LogReader(const std::string& path, const LogRanks& ranks) : path_(path), given_(ranks) {}

  std::vector<CollectiveSample> samples() {
    for (const TextLine& line : read_lines(path_, "the log")) {
      number_ = line.number;
      take(without_tag(line.text));
    }
    if (columns_.empty()) {
      throw std::runtime_error(fmt::format(
          "{}: this is no output of nccl-tests, rccl-tests or OSU's collectives: no line "
          "names the columns of a table",
          path_));
    }
    if (rows_.empty()) {
      throw std::runtime_error(
          fmt::format("{}: the table has no rows; the run ended before its first result", path_));
    }
    if (!osu_ && !whole_) {
      fail(rows_.back().line,
           "after this row the line \"# Avg bus bandwidth\" is missing, with which nccl-tests and "
           "rccl-tests end; the log was cut off");
    }
    return put_together();
  }

 private:
  struct Row {
    std::int64_t line = 0;
    double size = 0.0, time = 0.0;
    std::optional<double> busbw;  // OSU's have none
  };

  [[noreturn]] void fail(const std::string& what) const { fail(number_, what); }
  [[noreturn]] void fail(std::int64_t line, const std::string& what) const {
    throw std::runtime_error(fmt::format("{}:{}: {}", path_, line, what));
  }

  void take(const std::string& line) {
    Words words = words_of(line);
    if (!words.empty() && words.front() == "#") words.erase(words.begin());
    if (words.empty()) return;
    if (is_osu_title(line)) return take_osu_title(line);
    if (line.find("_perf") != std::string::npos && !kind_) kind_ = kind_in(line);
    if (line.find("Out of bounds values") != std::string::npos) return take_verdict(words);
    whole_ |= line.find("Avg bus bandwidth") != std::string::npos;
    if (words.front() == "Rank" && words.size() > 4) return take_rank(words);
    const bool has_time = std::ranges::find(words, "time") != words.end();
    if (words.front() == "size" && has_time) return take_columns(words);
    if (osu_ && words.front() == "Size") {
      columns_ = {"size", "time"};
      return;
    }
    if (!columns_.empty() && std::isdigit(static_cast<unsigned char>(words.front()[0])) != 0) {
      take_row(words);
    }
  }

  void take_osu_title(const std::string& line) {
    osu_ = true;
    kind_ = kind_in(line);
    if (!kind_) {
      fail(
          fmt::format("\"{}\" is none of the collectives of a training step; give the logs of "
                      "osu_allreduce, osu_allgather and osu_reduce_scatter",
                      line));
    }
  }

  // "Out of bounds values : 0 OK"
  void take_verdict(const Words& words) const {
    if (std::ranges::find(words, "0") != words.end() && words.back() == "OK") return;
    fail(fmt::format("\"{}\" says that results were wrong; its times prove nothing",
                     fmt::join(words, " ")));
  }

  // "Rank  0 Group  0 Pid   1887 on   worker-1 device  0 [0x8d] NVIDIA H100"
  void take_rank(const Words& words) {
    const auto on = std::ranges::find(words, "on");
    if (on == words.end() || on + 1 == words.end()) {
      fail("a line of a rank does not say on which node it was");
    }
    if (hosts_.empty()) first_rank_ = number_;
    hosts_[*(on + 1)].push_back(words[1]);
  }

  void take_columns(const Words& words) {
    columns_.clear();
    for (const std::string& word : words) columns_.push_back(lower(word));
  }

  double cell(const Words& words, const std::string& column) const {
    const auto at =
        static_cast<std::size_t>(std::ranges::find(columns_, column) - columns_.begin());
    if (at == columns_.size()) fail("the line above that names the columns has no " + column);
    const auto value = number_in(words.at(at));
    if (!value || *value < 0.0) {
      fail(fmt::format("\"{}\" in column {} is no number of at least 0", words.at(at), column));
    }
    return *value;
  }

  void take_row(const Words& words) {
    if (words.size() < columns_.size()) {
      fail(fmt::format("the row has {} of {} columns; the log was cut off here", words.size(),
                       columns_.size()));
    }
    Row row{number_, cell(words, "size"), cell(words, "time"), {}};
    if (row.size == 0.0) return;  // nothing was sent
    if (row.time == 0.0) fail("a collective cannot take 0 us");
    if (!osu_) {
      check(words, row);
      row.busbw = cell(words, "busbw");
    }
    rows_.push_back(row);
  }

  // Printed with two decimals, both times and rates.
  static bool differs(double said, double expected) {
    constexpr double rounded = 0.0051, share = 0.02;
    return std::abs(said - expected) > rounded + share * expected;
  }

  // algbw is size / time, and the results were compared, out of place and in place.
  void check(const Words& words, const Row& row) const {
    const double algbw = cell(words, "algbw");
    const double expected = row.size / row.time * 1e-3;
    if (differs(algbw, expected)) {
      fail(
          fmt::format("{:g} bytes in {:g} us are {:.2f} GB/s, but the row says {:g}; the log is "
                      "damaged",
                      row.size, row.time, expected, algbw));
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] != "#wrong" || words[i] == "N/A" || words[i] == "0") continue;
      fail(fmt::format("the library computed {} wrong results; its times prove nothing", words[i]));
    }
  }

  // What each rank sends of a buffer makes a bus bandwidth of size / time.
  void check_bus(const Row& row, std::int64_t ranks) const {
    if (!row.busbw) return;
    const double expected = row.size / row.time * 1e-3 * part_sent(*kind_, ranks);
    if (!differs(*row.busbw, expected)) return;
    fail(row.line, fmt::format("{:g} bytes in {:g} us on {} ranks are a bus bandwidth of {:.2f} "
                               "GB/s, but the row says {:g}; the log is damaged, or of another "
                               "collective or number of ranks",
                               row.size, row.time, ranks, expected, *row.busbw));
  }

  LogRanks ranks() const {
    if (hosts_.empty()) {
      if (given_.nodes > 0 && given_.in_each > 0) return given_;
      throw std::runtime_error(
          fmt::format("{}: the log does not say how many ranks it had on which nodes; give --nodes "
                      "and --devices-per-node",
                      path_));
    }
    const std::size_t in_each = hosts_.begin()->second.size();
    for (const auto& [host, ranks] : hosts_) {
      if (ranks.size() == in_each) continue;
      throw std::runtime_error(
          fmt::format("{}: {} has {} ranks and {} has {}; give a run with as many on each node",
                      path_, hosts_.begin()->first, in_each, host, ranks.size()));
    }
    const LogRanks found{std::ssize(hosts_), static_cast<std::int64_t>(in_each)};
    refuse_other("--nodes", given_.nodes, found.nodes);
    refuse_other("--devices-per-node", given_.in_each, found.in_each);
    return found;
  }

  void refuse_other(const char* flag, std::int64_t given, std::int64_t found) const {
    if (given == 0 || given == found) return;
    fail(first_rank_,
         fmt::format("{} is {}, but by the lines of ranks from here on it is {}; leave "
                     "{} out",
                     flag, given, found, flag));
  }

  std::vector<CollectiveSample> put_together() {
    if (!kind_) kind_ = kind_in(std::filesystem::path(path_).filename().string());
    if (!kind_) {
      throw std::runtime_error(
          fmt::format("{}: nothing says which collective it is; keep the line of the command, or "
                      "name the file after it, as in all_gather_perf.txt",
                      path_));
    }
    const auto [nodes, in_each] = ranks();
    if (nodes * in_each < 2) {
      throw std::runtime_error(fmt::format("{}: one rank alone does no collective", path_));
    }
    // OSU counts what a rank brings to an all-gather, nccl-tests what it gets.
    const bool per_rank = osu_ && *kind_ == CollectiveKind::all_gather;
    const double scale = per_rank ? static_cast<double>(nodes * in_each) : 1.0;
    std::vector<CollectiveSample> samples;
    for (const Row& row : rows_) {
      check_bus(row, nodes * in_each);
      samples.push_back({*kind_, nodes, in_each, {row.size * scale}, {row.time * micro}});
    }
    return samples;
  }

  std::string path_;
  LogRanks given_;
  std::int64_t number_ = 0;
  bool osu_ = false;
  bool whole_ = false;  // its last line was read
  std::int64_t first_rank_ = 0;
  std::optional<CollectiveKind> kind_;
  std::map<std::string, Words> hosts_;  // with their ranks
  Words columns_;                       // those of the first table in lower case
  std::vector<Row> rows_;
};

}  // namespace

std::vector<CollectiveSample> read_collective_log(const std::string& path, const LogRanks& ranks) {
  return LogReader(path, ranks).samples();
}

}  // namespace fourfold::inline scaling::inline calibrate
