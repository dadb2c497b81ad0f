// Files with one wrong entry: what each edit of each entry of a good file gets to hear, in golden
// texts. A change of a sentence, or of what is accepted, shows there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "platforms/platform.hpp"
#include "platforms/software.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/study/memorisation.hpp"
#include "scaling/study/record_json.hpp"
#include "scaling/study/strategy_file.hpp"
#include "scaling/systems/system.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_template.hpp"
#include "sim/question/point.hpp"
#include "support/whole_file.hpp"
#include "tests/edits.hpp"
#include "tests/golden.hpp"
#include "tests/machines.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/scaling/temporary_folder.hpp"
#include "tests/toml_tree.hpp"

namespace fourfold {
namespace {

using edits::toml_text;
using edits::Tree;
using edits::tree_of;

std::string said_to_edits_of(const std::string& toml,
                             const std::function<void(const std::string& path)>& read,
                             const std::string& below = "") {
  const TemporaryFolder folder;
  const std::string path = folder.file("edited.toml");
  const auto said = [&](const Tree& edited) {
    write_whole_file(path, toml_text(edited));
    return edits::heard([&] { read(path); }, path, "FILE");
  };
  return edits::said_to_edits(tree_of(toml), said, below);
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

TEST(EditedFile, OfAPlatformHearsWhatIsWrong) {
  const auto read = [](const std::string& path) { read_platform(path); };
  const auto content = [](const char* machine) {
    return read_whole_file(testing::path_of_machine(machine));
  };
  std::string text = said_to_edits_of(content("dragonfly"), read);
  for (const char* machine : {"dragonfly-plus", "fat-tree-2", "fat-tree-3", "torus", "crossbar"}) {
    text += fmt::format("{}\n", machine) + said_to_edits_of(content(machine), read, "/network");
    text += said_to_edits_of(content(machine), read, "/node");
  }
  const std::string measured = content("crossbar") + measured_tables;
  for (const char* table : {"/processor", "/node/crowding", "/library/measured"}) {
    text += fmt::format("measured: {}\n", table) + said_to_edits_of(measured, read, table);
  }
  expect_golden("edited_platforms.txt", text);
}

TEST(EditedFile, OfAModelHearsWhatIsWrong) {
  const std::string shipped = read_whole_file(source_path("schedule/models/llama3.1-8b.toml"));
  const auto read = [](const std::string& path) { read_model(path); };
  expect_golden("edited_models.txt",
                said_to_edits_of(model_template(), read) + said_to_edits_of(shipped, read));
}

TEST(EditedFile, OfSoftwareHearsWhatIsWrong) {
  const std::string shipped = read_whole_file(source_path("software/megatron-core.toml"));
  expect_golden("edited_software.txt",
                said_to_edits_of(shipped, [](const std::string& p) { read_software(p); }));
}

TEST(EditedFile, OfASystemHearsWhatIsWrong) {
  const std::string shipped = read_whole_file(source_path("systems/megatron-core.toml"));
  expect_golden("edited_systems.txt",
                said_to_edits_of(shipped, [](const std::string& p) { read_system(p); }));
}

TEST(EditedFile, OfACampaignHearsWhatIsWrong) {
  std::string text;
  for (const char* name : {"sc24_weak", "frontier_noise", "frontier_network", "perlmutter_ranks",
                           "here_weak", "llama_family", "smoke"}) {
    const std::string file = std::string("scaling/campaigns/") + name + ".toml";
    text += file + "\n" +
            said_to_edits_of(read_whole_file(source_path(file)),
                             [](const std::string& p) { read_campaign(p); });
  }
  expect_golden("edited_campaigns.txt", text);
}

TEST(EditedFile, OfASpaceOfStrategiesHearsWhatIsWrong) {
  const std::string shipped =
      read_whole_file(source_path("scaling/campaigns/ornl_175b_space.toml"));
  expect_golden("edited_spaces.txt",
                said_to_edits_of(shipped, [](const std::string& p) { read_strategy_file(p); }));
}

TEST(EditedFile, OfAStudyOfMemorisationHearsWhatIsWrong) {
  const auto said = [](const Tree& edited) {
    return edits::heard([&] { read_memorisation(edited, "study.toml"); }, "study.toml", "FILE");
  };
  const std::string shipped = read_whole_file(source_path("scaling/campaigns/memorisation.toml"));
  expect_golden("edited_memorisation.txt", edits::said_to_edits(tree_of(shipped), said));
}

TEST(EditedFile, OfAPointHearsWhatIsWrong) {
  Point point;
  point.platform = "frontier";
  point.model = read_model("gpt-5b");
  point.grid = ProcessGrid(2, 2, 2, 2);
  point.global_batch = 64;
  const auto said = [](const Tree& edited) {
    return refusal<std::exception>([&] { point_from_json(edited.dump()); });
  };
  expect_golden("edited_points.txt", edits::said_to_edits(Tree::parse(to_json(point)), said));
}

TEST(EditedFile, OfARecordHearsWhatIsWrong) {
  const auto said = [](const Tree& edited) {
    return refusal<std::exception>([&] { record_from_json(edited.dump()); });
  };
  expect_golden("edited_records.txt",
                edits::said_to_edits(Tree::parse(to_json(made_up_record())), said));
}

}  // namespace
}  // namespace fourfold
