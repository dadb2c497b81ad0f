// Every reader of what projects and studies are handed, against a thousand edits of a good file
// each (tests/drawn_edits.hpp): each edit ends in success or in one sentence of ours.
#include "tests/drawn_edits.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "platforms/platform.hpp"
#include "platforms/software.hpp"
#include "scaling/bars/residuals.hpp"
#include "scaling/calibrate/collective_errors.hpp"
#include "scaling/calibrate/collective_log.hpp"
#include "scaling/calibrate/measured_file.hpp"
#include "scaling/records/record_json.hpp"
#include "scaling/records/store.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/study/failure_log.hpp"
#include "scaling/study/loss_table.hpp"
#include "scaling/study/memorisation.hpp"
#include "scaling/study/memorisation_record.hpp"
#include "scaling/study/published.hpp"
#include "scaling/study/strategy_file.hpp"
#include "scaling/systems/system.hpp"
#include "scaling/validation/validation_json.hpp"
#include "scaling/validation/validation_set.hpp"
#include "scaling/words/toml_file.hpp"
#include "scaling/words/what_if_words.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_template.hpp"
#include "sim/question/point.hpp"
#include "sim/question/replay_answer.hpp"
#include "support/whole_file.hpp"
#include "tests/machines.hpp"
#include "tests/paths.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/scaling/temporary_folder.hpp"
#include "tests/toml_tree.hpp"

namespace fourfold::tests {
namespace {

using edits::EditedReader;
using edits::Tree;
using Read = std::function<void(const std::string& path)>;

// What people write is read whatever system wrote it: with a byte order mark and carriage returns.
void expect_sentences(const edits::EditedReader& reader) {
  const std::string good = reader.text(reader.good);
  std::string elsewhere = "\xef\xbb\xbf";
  for (const char letter : good) {
    elsewhere += letter == '\n' ? std::string("\r\n") : std::string(1, letter);
  }
  EXPECT_EQ(refusal<std::exception>([&] { reader.read(elsewhere); }), "accepted") << reader.name;
  edits::expect_sentences(reader);
}

class DrawnEdits : public ::testing::Test {
 protected:
  // A reader of files of that ending.
  std::function<void(const std::string&)> of_file(const std::string& ending, const Read& read) {
    return [path = folder_.file("edited" + ending), read](const std::string& text) {
      write_content(path, text);
      read(path);
    };
  }
  void expect_of_toml(const std::string& name, const std::string& good, const Read& read) {
    expect_sentences({name, edits::tree_of(good), edits::toml_text, of_file(".toml", read)});
  }
  void expect_of_json(const std::string& name, const std::string& good,
                      const std::function<void(const std::string& text)>& read) {
    expect_sentences(
        {name, Tree::parse(good), [](const Tree& tree) { return json_text(tree); }, read});
  }
  // A table as a tree of lines of cells; of a log, cells are words.
  void expect_of_lines(const std::string& name, const std::string& good, char between,
                       const std::function<void(const std::string& text)>& read) {
    Tree lines = Tree::array();
    for (std::size_t begin = 0; begin < good.size(); begin = good.find('\n', begin) + 1) {
      const std::string line = good.substr(begin, good.find('\n', begin) - begin);
      Tree cells = Tree::array();
      for (std::size_t from = 0, to = 0; to != std::string::npos; from = to + 1) {
        to = line.find(between, from);
        cells.push_back(line.substr(from, to - from));
      }
      lines.push_back(cells);
    }
    const auto text = [between](const Tree& tree) {
      std::string all;
      for (const Tree& line : tree) {
        std::string words;
        for (const Tree& cell : line) {
          if (&cell != &*line.begin()) words += between;
          words += cell.is_string() ? cell.get<std::string>() : json_text(cell);
        }
        all += words + '\n';
      }
      return all;
    };
    expect_sentences({name, lines, text, read});
  }

  TemporaryFolder folder_;
};

std::string shipped(const std::string& path) {
  return read_whole_file(source_path(path));
}

TEST_F(DrawnEdits, OfPlatforms) {
  for (const char* machine : {"dragonfly", "dragonfly-plus", "fat-tree-3", "torus", "crossbar"}) {
    expect_of_toml(machine, read_whole_file(path_of_machine(machine)),
                   [](const std::string& path) { read_platform(path); });
  }
}

TEST_F(DrawnEdits, OfModels) {
  const auto model = [](const std::string& path) { read_model(path); };
  expect_of_toml("model", model_template(), model);
  expect_of_toml("llama", shipped("schedule/models/llama3.1-8b.toml"), model);
}

TEST_F(DrawnEdits, OfSoftwareAndSystems) {
  expect_of_toml("software", shipped("software/megatron-core.toml"),
                 [](const std::string& path) { read_software(path); });
  expect_of_toml("system", shipped("systems/megatron-core.toml"),
                 [](const std::string& path) { read_system(path); });
}

TEST_F(DrawnEdits, OfCampaigns) {
  for (const char* name : {"smoke", "frontier_noise", "here_weak"}) {
    expect_of_toml(name, shipped(fmt::format("scaling/campaigns/{}.toml", name)),
                   [](const std::string& path) { read_campaign(path); });
  }
}

TEST_F(DrawnEdits, OfSpacesAndStudiesOfMemorisation) {
  expect_of_toml("space", shipped("scaling/campaigns/ornl_175b_space.toml"),
                 [](const std::string& path) { read_strategy_file(path); });
  expect_of_toml("memorisation", shipped("scaling/campaigns/memorisation.toml"),
                 [](const std::string& path) { read_memorisation(read_toml(path), path); });
}

std::string first_lines(const std::string& path, int lines) {
  const std::string whole = shipped(path);
  std::size_t end = 0;
  for (int i = 0; i < lines && end < whole.size(); ++i) end = whole.find('\n', end) + 1;
  return whole.substr(0, end);
}

TEST_F(DrawnEdits, OfSetsOfRuns) {
  const auto set = of_file(".csv", [](const std::string& path) { read_validation_set(path); });
  expect_of_lines("known runs", first_lines("scaling/validation/sets/known_runs.csv", 34), ',',
                  set);
  expect_of_lines("layers", shipped("scaling/validation/sets/layers.csv"), ',', set);
}

TEST_F(DrawnEdits, OfTables) {
  expect_of_lines("published", shipped("scaling/campaigns/sc24_weak_published.csv"), ',',
                  of_file(".csv", [](const std::string& path) { read_published(path); }));
  expect_of_lines("residuals", first_lines("scaling/validation/residuals.csv", 20), ',',
                  of_file(".csv", [](const std::string& path) { read_residuals(path); }));
  const Platform perlmutter = read_platform("perlmutter");
  const std::string measured =
      "op,nodes,gpus_per_node,bytes,time_us,concurrent_groups\n"
      "all_reduce,1,4,1048576,40,1\nall_gather,4,4,67108864,2000,1\n";
  expect_of_lines("measured", measured, ',', of_file(".csv", [&](const std::string& path) {
                    collective_errors(perlmutter, path, {});
                  }));
  expect_of_lines(
      "placement", "0\n1\n2 # a node\n\n7\n", ' ',
      of_file(".txt", [](const std::string& path) { read_placement_list(path, "node", 1000); }));
}

TEST_F(DrawnEdits, OfLogs) {
  const std::string nccl =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5\n"
      "# all_reduce_perf\n"
      "#  Rank  0 Group  0 Pid   1887 on   worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3\n"
      "#  Rank  1 Group  0 Pid   1888 on   worker-1 device  1 [0x91] NVIDIA H100 80GB HBM3\n"
      "#       size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw "
      "#wrong\n"
      "        1024  256  float  sum  -1  25.50  0.04  0.04  0  24.30  0.04  0.04  0\n"
      "  1073741824  268435456  float  sum  -1  10737.4  100.00  100.00  0  10700.1  100.3  100.3  "
      "0\n"
      "# Out of bounds values : 0 OK\n"
      "# Avg bus bandwidth    : 75.03\n";
  expect_of_lines("nccl-tests", nccl, ' ',
                  of_file(".log", [](const std::string& path) { read_collective_log(path, {}); }));
  const std::string run =
      R"([{"kind":"run","model":{"name":"m","parameters":1000},"grid":"1x1x1x1","unigram_nats":3.1,)"
      R"("data":"d","word":"byte"},{"kind":"step","step":1,"loss":5.5},)"
      R"({"kind":"validation","step":1,"loss":5.25},{"kind":"text","text":"a"}])";
  const auto lines = [](const Tree& tree) {
    std::string text;
    for (const Tree& line : tree) text += json_text(line) + '\n';
    return text;
  };
  expect_sentences({"log of a run", Tree::parse(run), lines,
                    of_file(".jsonl", [](const std::string& path) { loss_table(path); })});
  const std::string measured =
      R"([{"what":{"kind":"product","ranks":1},"seconds":1.5,"low":1.0,"high":2.0,"n":3,)"
      R"("reference_s":0.5,"foreign_cores":0.0,"date":"2026-01-01"}])";
  expect_sentences({"measured file", Tree::parse(measured), lines,
                    of_file(".jsonl", [](const std::string& path) { read_measured(path); })});
  expect_sentences(
      {"failures",
       Tree::parse(R"([{"format":"fourfold-failure-1","key":"k","why":"w","time":"t"}])"), lines,
       of_file(".jsonl", [](const std::string& path) { logged_failures(path); })});
}

TEST_F(DrawnEdits, OfRecordsAndPoints) {
  Point point;
  point.platform = "frontier";
  point.model = read_model("gpt-5b");
  point.grid = ProcessGrid(2, 2, 2, 2);
  point.global_batch = 64;
  point.what_ifs.jitter_percent = 2.0;
  expect_of_json("point", to_json(point), [](const std::string& text) { point_from_json(text); });
  const Record record = made_up_record();
  expect_of_json("record", to_json(record),
                 [](const std::string& text) { record_from_json(text); });
  expect_of_json("answer", to_json(*record.replay),
                 [](const std::string& text) { replay_answer_from_json(text); });
  const auto records = of_file(".jsonl", [](const std::string& path) { read_records(path); });
  expect_of_json("records.jsonl", to_json(record), [&](const std::string& text) {
    const std::string mark = text.starts_with("\xef\xbb\xbf") ? text.substr(0, 3) : "";
    const std::string line = text.substr(mark.size());
    records(mark + line.substr(0, line.size() - 1) + ",\"digest\":\"" + digest(line) + "\"}\n");
  });
  expect_of_json(
      "memorisation record",
      R"({"key":"k","model":"m","parameters":1e6,"seed":1,"goldfish":false,"matches":[1],)"
      R"("equal_words":[1.5],"validation_loss":2.0,"words_per_s":3.0,"cpu_s":4.0})",
      [](const std::string& text) { parse_memorisation_record(text); });
  expect_of_json("earlier validation",
                 R"({"format":"fourfold-validation-1","sets":[{"name":"a","cases":[{"id":"b",)"
                 R"("in_sample":"","published_s":1.0,"projected_s":2.0}]}]})",
                 of_file(".json", [](const std::string& path) { read_validation_json(path); }));
}

}  // namespace
}  // namespace fourfold::tests
