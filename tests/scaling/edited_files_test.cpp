// Files of every kind with one wrong entry: each edit of each entry is refused by name or changes
// what is read, and the different sentences are recorded in refusals.txt, each once for all
// readers.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

#include "platforms/platform.hpp"
#include "platforms/show/show.hpp"
#include "platforms/software.hpp"
#include "scaling/bars/residuals.hpp"
#include "scaling/records/record_json.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/study/memorisation.hpp"
#include "scaling/study/published.hpp"
#include "scaling/study/strategy_file.hpp"
#include "scaling/systems/system.hpp"
#include "scaling/text/software_text.hpp"
#include "scaling/text/system_text.hpp"
#include "scaling/validation/validation_set.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_template.hpp"
#include "sim/question/point.hpp"
#include "sim/question/point_json.hpp"
#include "support/field_json.hpp"
#include "support/whole_file.hpp"
#include "tests/edits.hpp"
#include "tests/golden.hpp"
#include "tests/machines.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/edited_table.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/scaling/temporary_folder.hpp"
#include "tests/toml_tree.hpp"

namespace fourfold::tests {
namespace {

using edits::expect_sound;
using edits::Reader;
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

std::string words_of(const Question& question) {
  const Point point =
      point_of(question, question.grid.value_or(ProcessGrid()), question.micro_batches.value_or(0));
  return fmt::format("{} {} {} {} {} {}\n", to_json(point), question.devices,
                     question.grid.has_value(), question.system ? question.system->name : "",
                     static_cast<int>(question.grids_by), question.variants.size());
}

std::string words_of(const Campaign& campaign) {
  std::string text = fmt::format(
      "{} {} {} {} {} {} {} {} {} {}\n", campaign.title, static_cast<int>(campaign.fidelity),
      campaign.rule.at_least, campaign.rule.at_most, campaign.published,
      fmt::join(campaign.figures, " "), campaign.tokens, campaign.axis, campaign.measure.steps,
      campaign.measure.transport + campaign.measure.data);
  for (const Question& question : campaign.questions) text += words_of(question);
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
            words_of(one.question);
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

// A reader of a TOML file, which the edits change as a whole.
Reader of_toml(const std::string& toml,
               const std::function<std::string(const std::string& path)>& value,
               const std::vector<std::string>& taken, const std::vector<std::string>& idle = {}) {
  const auto folder = std::make_shared<TemporaryFolder>();
  const auto read = [=](const Tree& file) {
    const std::string path = folder->file("edited.toml");
    write_whole_file(path, toml_text(file));
    try {
      return value(path);
    } catch (const std::exception& error) {
      throw std::runtime_error(without(error.what(), folder->file("")));
    }
  };
  return {"edited", tree_of(toml), read, taken, idle};
}

Reader of_table(const std::string& table, std::size_t row,
                const std::function<std::string(const std::string& path)>& value,
                const std::vector<std::string>& taken, const std::vector<std::string>& idle = {}) {
  const auto folder = std::make_shared<TemporaryFolder>();
  const OneRow good = one_row_of(table, row);
  const auto read = [=](const Tree& edited) {
    const std::string path = folder->file("edited.csv");
    write_whole_file(path, text_of(good, edited));
    try {
      return value(path);
    } catch (const std::exception& error) {
      throw std::runtime_error(without(error.what(), folder->file("")));
    }
  };
  return {"edited", good.row, read, taken, idle, false};
}

std::string content_of_machine(const char* machine) {
  return read_whole_file(path_of_machine(machine));
}

void expect_sound_platforms(Sentences& said) {
  const auto value = [](const std::string& path) { return words_of(read_platform(path)); };
  const auto reader = [&](const std::string& toml, const std::string& unread = "nothing") {
    return of_toml(
        toml, value,
        {"(left out|empty) /(library|processor|node)/"
         "(across_at_once|in_node_by_stride|measured|crowding|attention|products)(/entries)?",
         "left out /processor/host_link_GBps", "huge .*", "left out " + unread},
        {"in reverse /node/nics/entries.*", "misspelled .*/kind"});
  };
  expect_sound(reader(content_of_machine("dragonfly")), said);
  for (const char* machine : {"dragonfly-plus", "fat-tree-2", "fat-tree-3", "torus", "crossbar"}) {
    SCOPED_TRACE(machine);
    expect_sound(reader(content_of_machine(machine)), said, "/network");
    const bool has_ports = machine == std::string("crossbar");  // of its devices' own
    expect_sound(
        reader(content_of_machine(machine), has_ports ? "/node/switch_port_GBps" : "nothing"), said,
        "/node");
  }
  for (const char* table : {"/processor", "/node/crowding", "/library/measured"}) {
    SCOPED_TRACE(table);
    expect_sound(reader(content_of_machine("crossbar") + measured_tables), said, table);
  }
}

void expect_sound_models(Sentences& said) {
  const auto value = [](const std::string& path) {
    return json_of_values(model_record_fields().values(read_model(path))).dump();
  };
  const std::string optional =
      "left out /(biases|embeddings|key_value_heads|mlp|mlp_width|norm|norm_epsilon|rotary_.*)";
  expect_sound(of_toml(model_template(), value, {optional}, {"left out .*"}), said);
  expect_sound(
      of_toml(shipped("schedule/models/llama3.1-8b.toml"), value, {optional}, {"left out .*"}),
      said);
}

void expect_sound_systems(Sentences& said) {
  // Its numbers become facts of the machine that asks.
  const auto of_software = [](const std::string& path) {
    std::string text = software_json(read_software(path));
    for (const Fact& fact : read_platform("frontier", {}, path).facts) {
      text += fmt::format("{} {} {}\n", fact.key, fact.value, fact.source);
    }
    return text;
  };
  expect_sound(of_toml(shipped("software/megatron-core.toml"), of_software,
                       {"left out /(maps|memory/keeps)/[^/]*", "left out .*/unconfirmed",
                        "empty .*/kernels", "left out /memory(/[a-zA-Z_]*)?"},
                       {".* /dispatch_us/(source|unconfirmed)"}),
               said);
  expect_sound(of_toml(shipped("systems/megatron-core.toml"),
                       [](const std::string& path) { return system_json(read_system(path)); },
                       {"left out /axes/x/searched", "left out /options/.*", "huge /state/.*",
                        "empty /state/optimizer/cut_by"},
                       {"left out .*"}),
               said);
}

void expect_sound_campaigns(Sentences& said) {
  const auto value = [](const std::string& path) { return words_of(read_campaign(path)); };
  for (const char* name : {"sc24_weak", "frontier_noise", "frontier_network", "perlmutter_ranks",
                           "here_weak", "llama_family", "smoke"}) {
    SCOPED_TRACE(name);
    expect_sound(
        of_toml(shipped(fmt::format("scaling/campaigns/{}.toml", name)), value,
                {"left out .*", "empty /(axis|published_csv|software|system|title)",
                 "empty .*/label", "(huge|negative) .*/(value|micro_batches|at_most_grids)"},
                {"left out .*"}),
        said);
  }
  expect_sound(of_toml(shipped("scaling/campaigns/ornl_175b_space.toml"),
                       [](const std::string& path) { return words_of(read_strategy_file(path)); },
                       {"left out /(grid|micro_batch_size|micro_batches|options|memory_risk).*",
                        "empty /(micro_batch_size|title)", "a number /micro_batch_size"},
                       {"left out .*"}),
               said);
}

void expect_sound_json(Sentences& said) {
  Point point;
  point.platform = "frontier";
  point.model = read_model("gpt-5b");
  point.grid = ProcessGrid(2, 2, 2, 2);
  point.global_batch = 64;
  const std::string optional = "left out .*/(options|what_ifs|scales)(/.*)?";
  expect_sound({"",
                Tree::parse(to_json(point)),
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
                {"huge .*", "negative .*learning_rate", "empty .*"}},
               said);
}

void expect_sound_tables(Sentences& said) {
  const auto of_set = [](const std::string& path) { return words_of(read_validation_set(path)); };
  const std::string sets = "scaling/validation/sets/";
  for (const auto& [table, row] : {std::pair{"known_runs.csv", 1},
                                   {"known_runs.csv", 40},
                                   {"layers.csv", 1},
                                   {"sc24_overlap.csv", 1}}) {
    SCOPED_TRACE(table);
    expect_sound(
        of_table(sets + table, row, of_set,
                 {"(left out|empty|a number) .*", ".* /(mfu_or_pct_peak|params_B|tflops_per_gpu)",
                  "huge /seconds"},
                 {"left out .*", ".* /(mfu_or_pct_peak|params_B|tflops_per_gpu|notes|machine|gpu)",
                  "empty /(recompute|attention|sequence_parallel|order)"}),
        said);
  }
  const std::vector<std::string> texts{"(a number|empty) .*", "huge .*",
                                       "with a strange key the file"};
  expect_sound(of_table("scaling/campaigns/sc24_weak_published.csv", 1,
                        [](const std::string& path) { return words_of(read_published(path)); },
                        texts, {"with a strange key the file"}),
               said);
  expect_sound(of_table("scaling/validation/residuals.csv", 1,
                        [](const std::string& path) { return residuals_csv(read_residuals(path)); },
                        texts, {"with a strange key the file"}),
               said);
}

TEST(EditedFiles, AreRefusedByNameOrReadAsTheySay) {
  Sentences said;
  expect_sound_platforms(said);
  expect_sound_models(said);
  expect_sound_systems(said);
  expect_sound_campaigns(said);
  expect_sound_json(said);
  expect_sound_tables(said);
  expect_golden("refusals.txt", said.text());
}

// A mark in front and carriage returns, as editors elsewhere leave them, change nothing; what is no
// TOML, and a key that is not known, is refused with file and line, whatever the file is of.
TEST(EditedFiles, OfEveryKindAreReadByOneReader) {
  const std::pair<const char*, std::function<void(const std::string&)>> kinds[]{
      {"schedule/models/gpt-5b", [](const std::string& path) { read_model(path); }},
      {"systems/megatron-core", [](const std::string& path) { read_system(path); }},
      {"software/megatron-core", [](const std::string& path) { read_software(path); }},
      {"platforms/machines/alps", [](const std::string& path) { read_platform(path); }},
      {"scaling/campaigns/smoke", [](const std::string& path) { read_campaign(path); }},
      {"scaling/campaigns/ornl_175b_space",
       [](const std::string& path) { read_strategy_file(path); }}};
  const TemporaryFolder folder;
  const std::string path = folder.file("mine.toml");
  for (const auto& [kind, read] : kinds) {
    const auto said = [&, read = read](const std::string& text) {
      write_whole_file(path, text);
      return refusal<std::runtime_error>([&] { read(path); });
    };
    const std::string good = shipped(std::string(kind) + ".toml");
    std::string elsewhere = "\xef\xbb\xbf";
    for (char letter : good) elsewhere += letter == '\n' ? "\r\n" : std::string(1, letter);
    EXPECT_EQ(said(elsewhere), "accepted") << kind;
    EXPECT_THAT(said("strange = 1\n" + good), StartsWith(path + ", line 1: ")) << kind;
    EXPECT_THAT(said("strange = 1\n" + good), HasSubstr("strange")) << kind;
    EXPECT_THAT(said("= 1\n" + good), StartsWith(path + ", line 1: this is not TOML: ")) << kind;
  }
}

}  // namespace
}  // namespace fourfold::tests
