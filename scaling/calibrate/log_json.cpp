// JSON of benchmarks to runs; see log_json.hpp.
#include "scaling/calibrate/log_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scaling/bars/deviations.hpp"
#include "scaling/calibrate/log_run.hpp"
#include "sim/cost/protocol.hpp"
#include "support/json_text.hpp"
#include "support/text_file.hpp"

namespace fourfold::inline scaling::inline calibrate {
namespace {

constexpr double micro = 1e-6, giga = 1e9;

class JsonLog {
 public:
  JsonLog(const nlohmann::json& log, const std::string& path) : log_(log), path_(path) {}

  std::vector<LogRun> nccl() const {
    LogRun run;
    const std::string program = log_.at("args").at(0);
    const std::string name = program.substr(program.find_last_of('/') + 1);
    run.title = name;
    run.line = 1;
    const auto kind = collective_named(name.substr(0, name.find("_perf")));
    if (!kind) {
      run.left_out =
          "is none of the collectives of a training step, which are all-reduce, "
          "all-gather and reduce-scatter";
      return {run};
    }
    if (!log_.contains("out_of_bounds")) fail("it ends before its results do; the log was cut off");
    if (log_.at("out_of_bounds").at("count") != 0) {
      fail("out_of_bounds says that results were wrong; its times prove nothing");
    }
    const LogGroup group = group_of(ranks(), path_);
    if (group.members() < 2) {
      run.left_out = "has one rank alone, which does no collective";
      return {run};
    }
    if (group.at_once > 1 && group.nodes == 1) {
      run.left_out = several_in_a_node;
      return {run};
    }
    GrowingTimes times;
    for (const nlohmann::json& row : log_.at("results")) put(row, *kind, group, times, run);
    if (run.samples.empty()) fail("it has no results of any size");
    return {run};
  }

  std::vector<LogRun> nvbandwidth() const {
    std::vector<LogRun> runs;
    for (const nlohmann::json& test : log_.at("nvbandwidth").at("testcases")) {
      const std::string name = test.at("name");
      LogRun run;
      run.title = "nvbandwidth " + name;
      run.line = 1;
      std::vector<double> cells;
      if (test.contains("bandwidth_matrix")) {
        for (const nlohmann::json& row : test.at("bandwidth_matrix")) {
          for (const nlohmann::json& cell : row) {
            const auto rate = cell.is_number() ? cell.get<double>() : number_in(cell);
            if (rate && *rate > 0.0) cells.push_back(*rate);
          }
        }
      }
      const std::string what = link_of_test(name);
      if (what.empty() || cells.empty()) {
        run.left_out =
            what.empty() ? "measures no link as a training step uses it" : "has no results";
      } else {
        run.links.push_back({what, {giga * quantile(cells, 0.5)}});
      }
      runs.push_back(run);
    }
    return runs;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(fmt::format("{}: {}", path_, what));
  }

  // Of each process its first is listed.
  std::vector<RankLine> ranks() const {
    const nlohmann::json& config = log_.at("config");
    const nlohmann::json& devices = config.at("devices");
    const auto threads = whole_in(config.at("nthreads"), 1024),
               of_thread = whole_in(config.at("ngpus"), 1024);
    const std::int64_t each = threads && of_thread ? *threads * *of_thread : 0;
    if (each < 1 || each > 1024) fail("config has no number of devices a process");
    std::vector<RankLine> ranks;
    for (const nlohmann::json& one : devices) {
      const auto rank = whole_in(one.at("rank"), 1 << 30),
                 group = whole_in(one.at("group"), 1 << 30),
                 number = whole_in(one.at("device"), 1 << 30);
      if (!rank || !group || !number) fail("a device has no rank, group or number");
      const std::string device =
          fmt::format("{} {}", *number, one.at("device_hex").get<std::string>());
      for (std::int64_t i = 0; i < each; ++i) {
        ranks.push_back({1, *rank + i, *group, one.at("hostname"),
                         each == 1 ? device : fmt::format("{} + {}", device, i)});
      }
    }
    if (ranks.empty()) fail("config lists no devices");
    return ranks;
  }

  void put(const nlohmann::json& row, CollectiveKind kind, const LogGroup& group,
           GrowingTimes& times, LogRun& run) const {
    const double size = row.at("size");
    if (size == 0.0) return;
    const nlohmann::json& place =
        row.at(row.at("out_of_place").is_null() ? "in_place" : "out_of_place");
    const double time = place.at(place.contains("time") ? "time" : "cpu_time");
    if (!(time > 0.0)) fail(fmt::format("{:.0f} bytes cannot take {:g} us", size, time));
    if (place.contains("nwrong") && place.at("nwrong").is_number() && place.at("nwrong") != 0) {
      fail("the library computed wrong results; its times prove nothing");
    }
    const std::string why = wrong_rate(size, time, place.at("alg_bw"));
    if (!why.empty()) fail(why);
    const double bus = place.at("bus_bw"),
                 expected = size / time * 1e-3 * part_sent(kind, group.members());
    if (differs(bus, expected)) {
      fail(fmt::format(
          "{:g} bytes in {:g} us on {} ranks are a bus bandwidth of {:.2f} GB/s, but it "
          "says {:g}; the log is damaged",
          size, time, group.members(), expected, bus));
    }
    if (const std::string doubt = times.doubt(size, time); !doubt.empty()) {
      run.doubts.push_back(fmt::format("{}: {}", path_, doubt));
    }
    run.samples.push_back(
        {kind, group.nodes, group.in_each, {size}, {time * micro}, group.at_once});
  }

  const nlohmann::json& log_;
  std::string path_;
};

}  // namespace

namespace {

// Objects that follow one another, whatever stands between them.
std::vector<std::string> documents_of(const std::string& text) {
  std::vector<std::string> found;
  std::int64_t depth = 0;
  bool in_text = false, escaped = false;
  for (const char letter : text) {
    if (depth == 0 && letter == '{') found.emplace_back();
    if (depth == 0 && letter != '{') continue;
    found.back() += letter;
    if (in_text) {
      in_text = letter != '"' || escaped;
      escaped = letter == '\\' && !escaped;
      continue;
    }
    in_text = letter == '"';
    depth += letter == '{' ? 1 : letter == '}' ? -1 : 0;
  }
  return found;
}

std::vector<LogRun> runs_of_document(const std::string& text, const std::string& path) {
  const auto log = json_in(text);
  if (!log) throw std::runtime_error(path + ": this JSON is damaged or was cut off");
  const JsonLog reader(*log, path);
  try {
    if (log->contains("nvbandwidth")) return reader.nvbandwidth();
    if (log->contains("results") && log->contains("config")) return reader.nccl();
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error(path + ": this JSON lacks what nccl-tests and nvbandwidth write");
  }
  throw std::runtime_error(path + ": this JSON is neither of nccl-tests nor of nvbandwidth");
}

}  // namespace

bool begins_with_json(const std::string& text) {
  std::size_t begin = text.find_first_not_of(" \t\n");
  if (begin != std::string::npos && text[begin] == '[') {
    begin = text.find_first_not_of(" \t\n", begin + 1);
  }
  return begin != std::string::npos && text[begin] == '{';
}

std::optional<std::string> text_of_container(const std::string& text) {
  std::string said;
  for (const TextLine& line : lines_of(text)) {
    const auto kept = json_in(line.text);
    if (!kept || !kept->is_object() || !kept->contains("log") || !kept->contains("stream") ||
        !kept->at("log").is_string()) {
      // The last line may be half of one.
      if (line.number > 1 && !line.ended) break;
      return std::nullopt;
    }
    said += kept->at("log").get<std::string>();
  }
  return said;
}

std::vector<LogRun> runs_of_json(const std::string& text, const std::string& path) {
  std::vector<LogRun> runs;
  for (const std::string& document : documents_of(text)) {
    for (LogRun& run : runs_of_document(document, path)) runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace fourfold::inline scaling::inline calibrate
