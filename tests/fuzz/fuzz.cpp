// fuzz SECONDS SEED FOURFOLD: feeds mutated files to every reader in this process, which is built
// under ASan and UBSan, and mutated command lines to the executable FOURFOLD. What a person did
// wrong must end in a sentence: a crash, a sentence of a library, memory without bound and a run
// without end are failures, and the input that did it stays in ./fuzz-input.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "engine/train/checkpoint/checkpoint_record.hpp"
#include "engine/train/checkpoint/foreign_layout.hpp"
#include "engine/train/checkpoint/safetensors.hpp"
#include "engine/train/data/token_file.hpp"
#include "platforms/platform.hpp"
#include "scaling/calibrate/collective_log.hpp"
#include "scaling/calibrate/measured_file.hpp"
#include "scaling/study/loss_table.hpp"
#include "scaling/study/memorisation.hpp"
#include "scaling/study/published.hpp"
#include "scaling/words/cell_table.hpp"
#include "scaling/words/toml_file.hpp"
#include "scaling/words/what_if_words.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_template.hpp"
#include "sim/question/point.hpp"
#include "support/json_object.hpp"
#include "support/text_file.hpp"
#include "support/whole_file.hpp"
#include "tests/fuzz/feed_system.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/points.hpp"

namespace fourfold::tests {
namespace {

namespace files = std::filesystem;

constexpr unsigned longest_feed_s = 20;

// A reader: what it is fed with, as a file of this ending, and what it is fed to.
struct Reader {
  std::string name, ending;
  std::vector<std::string> seeds;
  std::function<void(const std::string& path)> feed;
};

std::vector<std::string> contents(const std::string& folder, const std::string& ending) {
  std::vector<std::string> texts;
  for (const auto& entry : files::directory_iterator(files::path(FOURFOLD_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == ending) texts.push_back(read_whole_file(entry.path().string()));
  }
  return texts;
}

std::string shard() {
  std::vector<std::int32_t> header(256, 0);
  header[0] = 20'240'520;
  header[1] = 1;
  header[2] = 100;
  std::string text(reinterpret_cast<const char*>(header.data()), 1024);
  for (int i = 0; i < 200; ++i) text += static_cast<char>(i);
  return text;
}

constexpr const char* collective_log_seed =
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5\n"
    "# all_reduce_perf\n"
    "#  Rank  0 Group  0 Pid   1887 on   worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   1888 on   worker-1 device  1 [0x91] NVIDIA H100 80GB HBM3\n"
    "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
    "   1024  256  float  sum  -1  25.50  0.04  0.04  0  24.30  0.04  0.04  0\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 75.03\n";
constexpr const char* measurements_seed =
    R"({"what":{"kind":"product","ranks":1},"seconds":1.5,"low":1.0,"high":2.0,"n":3,)"
    R"("reference_s":0.5,"foreign_cores":0.0,"date":"2026-01-01"})"
    "\n";
constexpr const char* run_log_seed =
    R"({"kind":"run","model":{"name":"m","parameters":1000},"grid":"1x1x1x1","unigram_nats":3.1,)"
    R"("data":"d","word":"byte"})"
    "\n"
    R"({"kind":"step","step":1,"loss":5.5})"
    "\n";
CheckpointRecord some_checkpoint() {
  CheckpointRecord record;
  record.state.model = read_model("gpt-bytes");
  record.state.trainer = nlohmann::json{{"typed", {{"--seed", {"1"}}}}};
  record.data_file = "step-00000001.safetensors";
  record.data_file_bytes = 100;
  record.serial = 1;
  record.checksums = {{"a", 1}, {"b", 2}};
  return record;
}

std::vector<Reader> readers() {
  const std::vector<std::string> runs = contents("scaling/validation/sets", ".csv");
  const std::string head = safetensors_head({{"a", 2, 3, 0}, {"b", 4, 1, 6}}, {{"format", "x"}});
  std::vector<Reader> all;
  const auto add = [&](const std::string& name, const std::string& ending,
                       const std::vector<std::string>& seeds,
                       const std::function<void(const std::string& path)>& feed) {
    all.push_back({name, ending, seeds, feed});
  };
  add("platforms", ".toml", contents("platforms/machines", ".toml"),
      [](const std::string& path) { read_platform(path); });
  add("software", ".toml", contents("software", ".toml"),
      [](const std::string& path) { read_software(path); });
  add("systems", ".toml", contents("systems", ".toml"),
      [](const std::string& path) { feed_system(path); });
  add("models", ".toml", {model_template()}, [](const std::string& path) { read_model(path); });
  add("campaigns", ".toml", contents("scaling/campaigns", ".toml"),
      [](const std::string& path) { read_toml(path); });
  add("published rows", ".csv", contents("scaling/campaigns", ".csv"),
      [](const std::string& path) { read_published(path); });
  add("measured runs", ".csv", runs, [](const std::string& path) { CellTable table(path); });
  add("placements", ".txt", {"0\n1\n2 # a node\n\n7\n"},
      [](const std::string& path) { read_placement_list(path, "node", 1000); });
  add("points", ".json", {to_json(some_point())},
      [](const std::string& path) { point_from_json(read_whole_file(path)); });
  add("checkpoints", ".json", {text_of(some_checkpoint())},
      [](const std::string& path) { parse_checkpoint_record(read_whole_file(path)); });
  add("heads of checkpoints", ".safetensors", {head}, [](const std::string& path) {
    const std::string text = read_whole_file(path);
    const auto bytes = static_cast<std::int64_t>(text.size());
    if (safetensors_head_bytes(text.substr(0, 8), bytes + 40) <= bytes) {
      parse_safetensors_head(text, 40);
    }
  });
  add("configs", ".json",
      {config_of(read_model("gpt2-124m")).dump(1), config_of(read_model("llama3.1-8b")).dump(1)},
      [](const std::string& path) {
        model_of_config(parse_json(read_text_file(path), "it"), "fuzzed");
      });
  add("documents", ".jsonl",
      {"{\"prompt\": \"a\", \"completion\": \"b\"}\n{\"completion\": \"c\"}\n"},
      [](const std::string& path) {
        const WordStream words({path}, {0.0, 1.0});
      });
  add("logs of collectives", ".log", {collective_log_seed},
      [](const std::string& path) { read_collective_log(path, {}); });
  add("measurements", ".jsonl", {measurements_seed},
      [](const std::string& path) { read_measured(path); });
  add("logs of runs", ".jsonl", {run_log_seed}, [](const std::string& path) { loss_table(path); });
  add("studies of memorisation", ".toml", contents("scaling/campaigns", ".toml"),
      [](const std::string& path) { read_memorisation(read_toml(path), path); });
  add("shards", ".bin", {shard()}, [](const std::string& path) {
    const WordStream words({path}, {0.0, 1.0});
    std::vector<std::int32_t> read;
    words.read(0, words.words(), 50'257, read);
  });
  add("grids", ".txt", {"2x2x2x2", "x=4,data=2,pipe=8", "tp=8,pp=2,dp=4"},
      [](const std::string& path) { ProcessGrid::parse(read_whole_file(path)); });
  return all;
}

// What no person is to read.
bool of_a_library(const std::string& sentence) {
  static const std::regex marks(
      "json\\.exception|filesystem "
      "error|::at|basic_string|vector::|\\bsto(i|l|d|ul)\\b|bad_variant|bad "
      "opt|_M_|map::|"
      "std::|regex_error|bad_any|bad_function");
  return std::regex_search(sentence, marks);
}

// The failure that feeding the file is; empty if there is none.
std::string failure_of(const Reader& reader, const std::string& path) {
  alarm(longest_feed_s);
  try {
    reader.feed(path);
  } catch (const std::bad_alloc&) {
    return "asks for memory without bound";
  } catch (const std::exception& error) {
    if (of_a_library(error.what())) return std::string("is answered by a library: ") + error.what();
  }
  alarm(0);
  return "";
}

std::vector<std::vector<std::string>> command_lines() {
  const std::vector<std::string> point{"--platform", "perlmutter", "--model",        "gpt2-124m",
                                       "--devices",  "8",          "--batch-tokens", "262144",
                                       "--fidelity", "estimated"};
  std::vector<std::vector<std::string>> lines{
      {"project", "--scale", "network.link_bandwidth_GBps=0.5", "--overlap", "oar,ors", "--json"},
      {"project", "--grid", "x=2,data=4", "--micro-batches", "2", "--zero", "1"},
      {"search", "--stages", "1,2", "--order", "1f1b,gpipe", "--best", "3"}};
  for (std::vector<std::string>& line : lines) line.insert(line.end(), point.begin(), point.end());
  lines.push_back({"collectives", "--platform", "polaris", "--devices", "8", "--stride", "2"});
  lines.push_back({"platforms", "export", "frontier", "--simgrid-xml", "--devices", "16"});
  lines.push_back({"platforms", "show", "frontier", "--json"});
  lines.push_back({"show", "--model", "gpt2-mini", "--zero", "2", "--recompute", "none"});
  lines.push_back({"show", "order", "--stages", "4", "--micro-batches", "8", "--times", "1,2,1"});
  lines.push_back({"models", "template"});
  lines.push_back({"systems", "axonn-4d"});
  return lines;
}

// Runs the executable on the words, in a process of bounded memory and seconds.
std::string failure_of(const std::string& fourfold, const std::vector<std::string>& words) {
  std::vector<char*> arguments{const_cast<char*>(fourfold.c_str())};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit memory{rlim_t{4} << 30, rlim_t{4} << 30}, seconds{60, 61};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CPU, &seconds);
    const int nothing = open("/dev/null", O_RDWR);
    const int said = open("fuzz-said", O_RDWR | O_CREAT | O_TRUNC, 0644);
    dup2(nothing, 0);
    dup2(nothing, 1);
    dup2(said, 2);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const std::string said = read_whole_file("fuzz-said");
  if (!WIFEXITED(status)) return fmt::format("ends it by signal {}", WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  if (code > 2) return fmt::format("ends it with status {}: {}", code, said);
  // 1 is an answer, which standard output has.
  if (code == 2 && said.find("fourfold: ") == std::string::npos) return "fails without a sentence";
  return code != 0 && of_a_library(said) ? "is answered by a library: " + said : "";
}

int fuzz(double seconds, std::uint64_t seed, const std::string& fourfold) {
  const auto start = std::chrono::steady_clock::now();
  const auto left = [&] {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return passed.count() < seconds;
  };
  Mutator mutator(seed);
  const std::vector<Reader> all = readers();
  const std::vector<std::vector<std::string>> lines = command_lines();
  std::int64_t fed = 0, run = 0;
  while (left()) {
    for (const Reader& reader : all) {
      const std::string path = "./fuzz-input" + reader.ending;
      for (int i = 0; i < 20; ++i, ++fed) {
        write_whole_file(path, mutator.text(reader.seeds));
        const std::string failure = failure_of(reader, path);
        if (failure.empty()) continue;
        fmt::print(stderr, "{} (seed {}), fed to the reader of {}, {}\n", path, seed, reader.name,
                   failure);
        return 1;
      }
      files::remove(path);
    }
    const std::vector<std::string> words = mutator.words(lines);
    ++run;
    if (const std::string failure = failure_of(fourfold, words); !failure.empty()) {
      fmt::print(stderr, "fourfold {} (seed {}) {}\n", fmt::join(words, " "), seed, failure);
      return 1;
    }
  }
  fmt::print("{} files and {} command lines, seed {}: each ended in an answer or a sentence\n", fed,
             run, seed);
  return 0;
}

}  // namespace
}  // namespace fourfold::tests

int main(int count, char** words) {
  if (count != 4) {
    std::fputs("usage: fuzz SECONDS SEED FOURFOLD\n", stderr);
    return 2;
  }
  return fourfold::tests::fuzz(std::atof(words[1]), std::strtoull(words[2], nullptr, 10), words[3]);
}
