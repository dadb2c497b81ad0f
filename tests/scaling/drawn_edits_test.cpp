// Every reader of what projects and studies are handed, against edits of a good file each. Of
// single entries: each edit is refused by name or changes what is read, and the sentences are
// recorded in refusals.txt, each once for all readers. A thousand drawn ones
// (tests/drawn_edits.hpp): each ends in success or in one sentence of ours;
// long because it lists every kind of file.
#include "tests/drawn_edits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "platforms/platform.hpp"
#include "platforms/show/show.hpp"
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
#include "scaling/text/software_text.hpp"
#include "scaling/text/system_text.hpp"
#include "scaling/validation/validation_json.hpp"
#include "scaling/validation/validation_set.hpp"
#include "scaling/words/toml_file.hpp"
#include "scaling/words/what_if_words.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_template.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/question/point.hpp"
#include "sim/question/point_json.hpp"
#include "sim/question/replay_answer.hpp"
#include "support/field_json.hpp"
#include "support/whole_file.hpp"
#include "tests/golden.hpp"
#include "tests/machines.hpp"
#include "tests/points.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/edited_table.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/toml_tree.hpp"

namespace fourfold::tests {
namespace {

using edits::expect_sound;
using edits::Sentences;
using edits::toml_text;
using edits::Tree;
using edits::tree_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string without(std::string text, const std::string& what) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what)) {
    text.erase(at, what.size());
  }
  return text;
}

std::string shipped(const std::string& file) {
  return read_whole_file(source_path(file));
}

// Tables that only a machine has that was measured part by part.
constexpr const char* measured_tables = R"(
[processor.products]
source = "made up"
entries = [
  { form = "NN", m = 64, k = 64, n = 64, rate_Tflops = 10 },
  { form = "NN", m = 128, k = 64, n = 64, rate_Tflops = 20 },
  { form = "TN", m = 64, k = 64, n = 64, rate_Tflops = 8 },
]
[processor.attention]
source = "made up"
entries = [
  { sequence = 512, forward_Tflops = 40, backward_Tflops = 30 },
  { sequence = 2048, forward_Tflops = 90, backward_Tflops = 70 },
]
[node.crowding]
source = "made up"
entries = [{ devices = 1, slowdown = 1 }, { devices = 4, slowdown = 1.5 }]
[library.measured]
source = "made up"
entries = [
  { kind = "all-reduce", members = 2, devices = 4, bytes = 1000, time_us = 20 },
  { kind = "all-reduce", members = 2, devices = 4, bytes = 1000000, time_us = 90 },
  { kind = "send", members = 2, devices = 2, bytes = 1000, time_us = 10 },
]
)";

// The whole of a platform but its path.
std::string words_of(const Platform& platform) {
  Platform elsewhere = platform;
  elsewhere.path.clear();
  return show_platform_json(elsewhere);
}

std::string words_of(const Campaign& campaign) {
  std::string text = fmt::format(
      "{} {} {} {} {} {} {} {} {} {}\n", campaign.title, static_cast<int>(campaign.fidelity),
      campaign.rule.at_least, campaign.rule.at_most, campaign.published,
      fmt::join(campaign.figures, " "), campaign.tokens, campaign.axis, campaign.measure.steps,
      campaign.measure.transport + campaign.measure.data);
  for (const Question& question : campaign.questions) text += json_of(question).dump();
  for (const PointTag& tag : campaign.tags) {
    text +=
        fmt::format("{} {} {} {}\n", tag.label, tag.value.value_or(NAN), tag.repetition, tag.line);
  }
  return text;
}

std::string words_of(const StrategyQuestion& question) {
  const StrategySpace& space = question.space;
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {}\n", question.title, question.model_flags,
                  question.pattern.platform, question.pattern.global_batch,
                  fmt::join(space.devices, " "), fmt::join(space.micro_batch_sizes, " "),
                  fmt::join(space.micro_batches, " "), space.memory_risk);
  for (const auto& extents : space.extents) text += fmt::format("{};", fmt::join(extents, " "));
  for (const OptionChoice& choice : space.options) {
    text += fmt::format("{} {};", choice.flag, fmt::join(choice.words, " "));
  }
  Point pattern = question.pattern;
  pattern.grid = ProcessGrid();
  pattern.global_batch = 1;
  return text + to_json(pattern);
}

std::string words_of(const TrainingPhase& phase) {
  return fmt::format("{} {} {} {};", phase.batch, phase.warm_up, phase.learning_rate,
                     phase.last_learning_rate);
}

std::string words_of(const MemorisationStudy& study) {
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {}", study.title, study.text_folder,
                  study.document_tokens, study.ending_tokens, study.documents,
                  fmt::join(study.repetitions, " "), fmt::join(study.seeds, " "), study.goldfish_k,
                  study.goldfish_h, study.pretraining_steps, study.injected);
  for (const SizedModel& model : study.models) {
    text += fmt::format("{} {} {} {};", model.name, model.layers, model.hidden, model.heads);
  }
  return text + words_of(study.pretraining) + words_of(study.continued);
}

std::string words_of(const ValidationSet& set) {
  std::string text = fmt::format("{} {} {}\n", set.title, set.bound.value_or(-1), set.least_cases);
  for (const ValidationCase& one : set.cases) {
    if (!one.left_out.empty()) throw std::runtime_error("edited: left out: " + one.left_out);
    text += fmt::format("{} {} {} {} {} {} {} {}", one.id, one.study, one.source, one.stand_in,
                        static_cast<int>(one.measured), one.published.value, one.in_sample,
                        fmt::join(one.unsaid, " ")) +
            json_of(one.question).dump();
  }
  return text;
}

std::string words_of(const Published& published) {
  std::string text = published.source;
  for (const PublishedRow& row : published.rows) {
    text +=
        fmt::format(" {} {} {} {}", row.words(), row.devices, row.seconds.value_or(Seconds{}).value,
                    row.rate.value_or(FlopsPerSecond{}).value);
  }
  return text;
}

using Value = std::function<std::string(const std::string& path)>;

// Files of one kind: a good one, what is read of one, and which edits of single entries are taken
// or idle though they look otherwise (see edits::Reader).
struct Kind {
  std::string name;
  Tree good;
  Value value;
  std::vector<std::string> taken, idle = {};
  std::vector<std::string> places = {""};  // below which each entry is edited
  bool alike = false;                      // to an earlier one: drawn edits would find the same
};

Kind toml_kind(const std::string& name, const std::string& good, const Value& value,
               const std::vector<std::string>& taken, const std::vector<std::string>& idle = {},
               const std::vector<std::string>& places = {""}) {
  return {name, tree_of(good), value, taken, idle, places};
}

std::vector<Kind> platforms() {
  const auto value = [](const std::string& path) { return words_of(read_platform(path)); };
  const auto kind = [&](const char* machine, const std::string& more,
                        const std::vector<std::string>& places) {
    const bool has_ports = machine == std::string("crossbar");  // of its devices' own
    return toml_kind(
        machine, read_whole_file(path_of_machine(machine)) + more, value,
        {"(left out|empty) /(library|processor|node)/"
         "(across_at_once|in_node_by_stride|measured|crowding|attention|products)(/entries)?",
         "left out /processor/host_link_GBps", "huge .*",
         has_ports ? "left out /node/switch_port_GBps" : "left out nothing"},
        {"in reverse /node/nics/entries.*", "misspelled .*/kind"}, places);
  };
  std::vector<Kind> kinds{kind("dragonfly", "", {""})};
  for (const char* machine : {"dragonfly-plus", "fat-tree-2", "fat-tree-3", "torus", "crossbar"}) {
    kinds.push_back(kind(machine, "", {"/network", "/node"}));
    kinds.back().alike = machine == std::string("fat-tree-2");
  }
  kinds.push_back(
      kind("crossbar", measured_tables, {"/processor", "/node/crowding", "/library/measured"}));
  kinds.back().alike = true;
  return kinds;
}

std::vector<Kind> models_and_systems() {
  const auto model = [](const std::string& path) {
    return json_of_values(model_record_fields().values(read_model(path))).dump();
  };
  // Its numbers become facts of the machine that asks.
  const auto software = [](const std::string& path) {
    std::string text = software_json(read_software(path));
    for (const Fact& fact : read_platform("frontier", {}, path).facts) {
      text += fmt::format("{} {} {}\n", fact.key, fact.value, fact.source);
    }
    return text;
  };
  const std::string optional =
      "left out /(biases|embeddings|key_value_heads|mlp|mlp_width|norm|norm_epsilon|rotary_.*)";
  return {toml_kind("model", model_template(), model, {optional}, {"left out .*"}),
          toml_kind("llama", shipped("schedule/models/llama3.1-8b.toml"), model, {optional},
                    {"left out .*"}),
          toml_kind("software", shipped("software/megatron-core.toml"), software,
                    {"left out /(maps|memory/keeps)/[^/]*", "left out .*/unconfirmed",
                     "empty .*/kernels", "left out /memory(/[a-zA-Z_]*)?"},
                    {".* /dispatch_us/(source|unconfirmed)"}),
          toml_kind("system", shipped("systems/megatron-core.toml"),
                    [](const std::string& path) { return system_json(read_system(path)); },
                    {"left out /axes/x/searched", "left out /options/.*", "huge /state/.*",
                     "empty /state/optimizer/cut_by"},
                    {"left out .*"})};
}

std::vector<Kind> campaigns() {
  std::vector<Kind> kinds;
  for (const char* name : {"sc24_weak", "frontier_noise", "frontier_network", "perlmutter_ranks",
                           "here_weak", "llama_family", "smoke"}) {
    kinds.push_back(
        toml_kind(name, shipped(fmt::format("scaling/campaigns/{}.toml", name)),
                  [](const std::string& path) { return words_of(read_campaign(path)); },
                  {"left out .*", "empty /(axis|published_csv|software|system|title)",
                   "empty .*/label", "(huge|negative) .*/(value|micro_batches|at_most_grids)"},
                  {"left out .*"}));
    kinds.back().alike =
        std::string("frontier_noise here_weak smoke").find(name) == std::string::npos;
  }
  kinds.push_back(
      toml_kind("space", shipped("scaling/campaigns/ornl_175b_space.toml"),
                [](const std::string& path) { return words_of(read_strategy_file(path)); },
                {"left out /(grid|micro_batch_size|micro_batches|options|memory_risk).*",
                 "empty /(micro_batch_size|title)", "a number /micro_batch_size"},
                {"left out .*"}));
  return kinds;
}

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

using Read = std::function<void(const std::string& path)>;

class DrawnEdits : public ::testing::Test {
 protected:
  // A reader of files of that ending.
  std::function<void(const std::string&)> of_file(const std::string& ending, const Read& read) {
    return [path = folder_.file("edited" + ending), read](const std::string& text) {
      write_content(path, text);
      read(path);
    };
  }
  // The value of a text in such a file, which refusals name without its folder.
  std::string value_of(const std::string& text, const std::string& ending, const Value& value) {
    std::string read;
    try {
      of_file(ending, [&](const std::string& path) { read = value(path); })(text);
    } catch (const std::exception& error) {
      throw std::runtime_error(without(error.what(), folder_.file("")));
    }
    return read;
  }
  // Single entries of one row of a table.
  void expect_sound_row(const std::string& table, std::size_t row, const Value& value,
                        const std::vector<std::string>& taken, const std::vector<std::string>& idle,
                        Sentences& said) {
    SCOPED_TRACE(table);
    const OneRow good = one_row_of(table, row);
    const auto of_row = [&](const Tree& edited) {
      return value_of(text_of(good, edited), ".csv", value);
    };
    expect_sound({"edited", good.row, of_row, taken, idle, false}, said);
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

TEST_F(DrawnEdits, OfSingleEntriesAreRefusedByNameOrChangeWhatIsRead) {
  Sentences said;
  for (const auto& kinds : {platforms(), models_and_systems(), campaigns()}) {
    for (const Kind& kind : kinds) {
      SCOPED_TRACE(kind.name);
      const auto value = [&](const Tree& file) {
        return value_of(toml_text(file), ".toml", kind.value);
      };
      for (const std::string& place : kind.places) {
        expect_sound({"edited", kind.good, value, kind.taken, kind.idle}, said, place);
      }
    }
  }
  const std::string optional = "left out .*/(options|what_ifs|scales)(/.*)?";
  expect_sound({"",
                Tree::parse(to_json(some_point())),
                [](const Tree& file) { return to_json(point_from_json(file.dump())); },
                {optional, "empty /(model/name|platform)", "with a strange key /scales"},
                {"left out .*"}},
               said);
  // Numbers of a record are what was found: the reader takes whatever is a number.
  expect_sound({"",
                Tree::parse(to_json(made_up_record())),
                [](const Tree& file) { return to_json(record_from_json(file.dump())); },
                {optional, "(negative|huge|no number|empty) .*", ".* /throughput.*",
                 "left out /(error_bar|software|search/rejected/.*)", "text /error_bar/widened_by",
                 "with a strange key /(point/scales|search/rejected)"},
                // What follows from the rest is written for others and not read.
                {"left out .*", ".* /throughput.*", ".* /(devices|error_bar/(low_s|high_s|level))",
                 "(misspelled|empty) .*convention"}},
               said);
  expect_sound({"",
                tree_of(shipped("scaling/campaigns/memorisation.toml")),
                [](const Tree& file) { return words_of(read_memorisation(file, "study.toml")); },
                {"huge .*", "empty .*"}},
               said);
  const auto of_set = [](const std::string& path) { return words_of(read_validation_set(path)); };
  for (const auto& [table, row] : {std::pair{"known_runs.csv", 1},
                                   {"known_runs.csv", 40},
                                   {"layers.csv", 1},
                                   {"sc24_overlap.csv", 1}}) {
    expect_sound_row(
        std::string("scaling/validation/sets/") + table, row, of_set,
        {"(left out|empty|a number) .*", ".* /(mfu_or_pct_peak|params_B|tflops_per_gpu)",
         "huge /seconds"},
        {"left out .*", ".* /(mfu_or_pct_peak|params_B|tflops_per_gpu|notes|machine|gpu)",
         "empty /(recompute|attention|sequence_parallel|order)"},
        said);
  }
  const std::vector<std::string> strange{"with a strange key the file"},
      texts{"(a number|empty) .*", "huge .*", strange[0]};
  expect_sound_row(
      "scaling/campaigns/sc24_weak_published.csv", 1,
      [](const std::string& path) { return words_of(read_published(path)); }, texts, strange, said);
  expect_sound_row(
      "scaling/validation/residuals.csv", 1,
      [](const std::string& path) { return residuals_csv(read_residuals(path)); }, texts, strange,
      said);
  expect_golden("refusals.txt", said.text());
}

// What is no TOML, and a key that is not known, is refused with file and line besides.
TEST_F(DrawnEdits, OfTomlFiles) {
  const std::string path = folder_.file("edited.toml");
  for (const auto& kinds : {platforms(), models_and_systems(), campaigns()}) {
    for (const Kind& kind : kinds) {
      if (kind.alike) continue;
      const auto read = of_file(".toml", kind.value);
      expect_sentences({kind.name, kind.good, toml_text, read});
      const auto said = [&](const std::string& line) {
        return refusal<std::runtime_error>([&] { read(line + toml_text(kind.good)); });
      };
      EXPECT_THAT(said("strange = 1\n"), StartsWith(path + ", line 1: ")) << kind.name;
      EXPECT_THAT(said("strange = 1\n"), HasSubstr("strange")) << kind.name;
      EXPECT_THAT(said("= 1\n"), StartsWith(path + ", line 1: this is not TOML: ")) << kind.name;
    }
  }
  expect_sentences({"memorisation", tree_of(shipped("scaling/campaigns/memorisation.toml")),
                    toml_text, of_file(".toml", [](const std::string& file) {
                      read_memorisation(read_toml(file), file);
                    })});
}

// Numbers that no machine has, one at a time: a refusal in a sentence, or an answer in finite
// numbers.
TEST_F(DrawnEdits, OfNumbersOfAMachineEndInFiniteAnswers) {
  using Limits = std::numeric_limits<double>;
  Point point;
  point.model = read_model("gpt2-124m");
  point.grid = ProcessGrid(2, 2, 2, 2);
  point.global_batch = 64;
  const std::string path = folder_.file("absurd.toml");
  const Tree good = tree_of(shipped("platforms/machines/frontier.toml"));
  const Tree numbers = good.flatten();
  int refused = 0, answered = 0;
  for (const auto& [key, value] : numbers.items()) {
    if (!value.is_number()) continue;
    for (const Tree& number :
         {Tree(0), Tree(-1), Tree(1e308), Tree(1e-308), Tree(Limits::infinity()),
          Tree(Limits::quiet_NaN()), Tree(1'000'000'000'000'000'000),
          Tree(std::numeric_limits<std::int64_t>::max()), Tree(std::uint64_t{1} << 63)}) {
      SCOPED_TRACE(key + " = " + number.dump());
      Tree edited = good;
      edited[Tree::json_pointer(key)] = number;
      write_content(path, toml_text(edited));
      try {
        const Estimate estimate = estimate_step(point, read_platform(path));
        const Outcome& outcome = estimate.outcome;
        EXPECT_TRUE(std::isfinite(outcome.total.value) && std::isfinite(outcome.compute.value));
        for (const Seconds& one : outcome.exposed) EXPECT_TRUE(std::isfinite(one.value));
        EXPECT_TRUE(std::isfinite(estimate.memory.peak.value));
        ++answered;
      } catch (const std::exception& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(answered, 20);
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
  Point point = some_point();
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
                 R"({"format":"fourfold-validation-1","sets":[{"name":"a","fidelity":"full",)"
                 R"("cases":[{"id":"b","in_sample":"","published_s":1.0,"projected_s":2.0,)"
                 R"("memory_B":3.0}]}]})",
                 of_file(".json", [](const std::string& path) { read_validation_json(path); }));
}

}  // namespace
}  // namespace fourfold::tests
