// Training systems: their files, what they forbid, who sets an option, and the best of their space.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "scaling/find/candidates.hpp"
#include "scaling/find/settle.hpp"
#include "scaling/records/record_json.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/study/memory_table.hpp"
#include "scaling/study/system_table.hpp"
#include "scaling/systems/rules.hpp"
#include "scaling/text/point_text.hpp"
#include "scaling/text/system_text.hpp"
#include "schedule/models/parameter_count.hpp"
#include "sim/estimate/estimate.hpp"
#include "tests/paths.hpp"
#include "tests/points.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/schedule/steps.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Systems, AreThoseThatPeopleCompareWith) {
  EXPECT_THAT(
      known_systems(),
      ElementsAre("axonn-2022", "axonn-4d", "axonn-released", "deepspeed-3d", "deepspeed-zero-1",
                  "deepspeed-zero-2", "deepspeed-zero-3", "gpt-neox", "megatron-core",
                  "megatron-fsdp", "megatron-lm-2021", "megatron-lm-2022", "nanotron",
                  "pytorch-fsdp", "pytorch-hsdp", "sc24-baseline", "torchtitan"));
}

TEST(Systems, DoWhatTheyAllowUnlessToldOtherwise) {
  for (const std::string& name : known_systems()) {
    const System system = read_system(name);

    EXPECT_EQ(forbidden(system, variants(system, {}).front()), "") << name;
    EXPECT_FALSE(system.software.empty()) << name;
    EXPECT_THAT(system_text(system), HasSubstr(system.software_source.substr(0, 8))) << name;
  }
}

// What is reduce-scattered along z is all-reduced along data as it is, but by axonn-released: along
// z a bf16 product as it is, along data fp32 parameters'.
TEST(Systems, OfOneKindReduceGradientsInOnePrecision) {
  const auto of = [](const std::string& name) { return variants(read_system(name), {}).front(); };
  for (const std::string& name : known_systems()) {
    const System system = read_system(name);
    const bool both = system.rule(Axis::z).allowed != AxisExtents::one &&
                      system.rule(Axis::data).allowed != AxisExtents::one;
    if (!both || system.rule("grad_reduce_precision_data") == nullptr) continue;
    const bool same = of(name).reduce_precision_z() == of(name).reduce_precision_data();
    EXPECT_EQ(same, name != "axonn-released") << name;
  }
  EXPECT_EQ(of("axonn-released").reduce_precision_z(), Precision::bf16);
  EXPECT_EQ(of("pytorch-fsdp").reduce_precision_z(), of("pytorch-hsdp").reduce_precision_data());
  EXPECT_EQ(of("deepspeed-zero-1").reduce_precision_data(),
            of("deepspeed-zero-2").reduce_precision_z());
}

double role_of(const MemoryUse& memory, Role role) {
  return memory.by_role[static_cast<std::size_t>(role)].value;
}

// As the system's software keeps it. Of many layers, so that one block's share is small: biases and
// norms are not cut, and a block or two have gradients on the way; and of tokens enough that most
// is in use at the loss, not where weights are updated.
TEST(Systems, HaveTheBytesOfStateThatTheirMemoryHas) {
  for (const std::string& name : known_systems()) {
    SCOPED_TRACE(name);
    const System system = read_system(name);
    const auto extent = [&](Axis axis) {
      return system.rule(axis).allowed == AxisExtents::any ? 4 : 1;
    };
    Point point = made_up_point("frontier", {"small", 48, 48, 12, 8, 96},
                                ProcessGrid(1, 1, extent(Axis::z), extent(Axis::data)), 256);
    point.software = system.software == "machine" ? "" : system.software;
    StepOptions& options = point.options = variants(system, {}).front();
    options.order = PipelineOrder::one_f_one_b;
    options.chunks = 1;
    options.micro_batches = 2;
    // What is under way is no state.
    options.in_flight_blocks = 2;
    options.data_bucket = 0;
    const Platform platform = read_platform(point.platform, {}, point.software);
    const double parameters = parameter_count(point.model);

    const MemoryUse memory = estimate_step(point, platform).memory;
    // Without state on the device most is in use while gradients are still missing.
    const std::int64_t bucket = options.offload_bucket;
    options.offload_bucket = 0;
    const MemoryUse kept = estimate_step(point, platform).memory;

    const auto expected = [&](std::size_t part) {
      double bytes = static_cast<double>(system.state[part].bytes) * parameters;
      for (Axis axis : system.state[part].cut_by) {
        bytes /= static_cast<double>(point.grid.extent(axis));
      }
      return bytes;
    };
    EXPECT_NEAR(role_of(kept, Role::parameter), expected(0), 0.1 * expected(0));
    EXPECT_NEAR(role_of(kept, Role::gradient), expected(1), 0.35 * expected(1));
    const double of_optimizer = role_of(memory, Role::optimizer);
    if (expected(2) == 0) {
      EXPECT_LE(of_optimizer, 12.0 * static_cast<double>(bucket));
      EXPECT_NEAR(memory.on_host.value, 12.0 * parameters, 1.2 * parameters);
    } else {
      EXPECT_NEAR(of_optimizer, expected(2), 0.1 * expected(2));
    }
  }
}

// AxoNN's pipelines lie inside its copies, Megatron-LM's and DeepSpeed's outside.
TEST(Systems, SayWhichAxisLiesInsideWhich) {
  const ProcessGrid grid(2, 1, 1, 8, 12);
  const auto distance = [&](const std::string& name, Axis axis) {
    return variants(read_system(name), {}).front().rank_order.distance(grid, axis);
  };

  EXPECT_EQ(distance("axonn-2022", Axis::pipe), 2);
  EXPECT_EQ(distance("axonn-2022", Axis::data), 24);
  for (const char* other : {"megatron-lm-2021", "megatron-lm-2022", "deepspeed-3d"}) {
    EXPECT_EQ(distance(other, Axis::data), 2) << other;
    EXPECT_EQ(distance(other, Axis::pipe), 16) << other;
  }
  EXPECT_EQ(set_by(read_system("axonn-2022"), {}, "").at("rank_order"), "system");
}

// And the text says so.
TEST(Systems, PadTheVocabularyUnlessToldNotTo) {
  for (const char* name : {"megatron-core", "megatron-fsdp", "megatron-lm-2021", "megatron-lm-2022",
                           "deepspeed-3d", "gpt-neox"}) {
    const System system = read_system(name);
    EXPECT_EQ(variants(system, {}).front().pad_vocabulary, 128) << name;
    EXPECT_EQ(variants(system, {{"pad_vocabulary", std::int64_t{0}}}).front().pad_vocabulary, 0);
  }
  EXPECT_EQ(variants(read_system("torchtitan"), {}).front().pad_vocabulary, 0);
  Record record = made_up_record();
  record.point.model.vocabulary = 50'257;
  EXPECT_THAT(point_text(record), HasSubstr("Vocabulary: 50257 over x = 2"));
  record.point.options.pad_vocabulary = 128;
  EXPECT_THAT(point_text(record), HasSubstr("Vocabulary: 50257 padded to 50432"));
}

// Of which count there are how many.
TEST(PointText, SaysHowManyChunksHaveAsManyLayers) {
  Record record = made_up_record();
  record.point.grid = ProcessGrid(1, 1, 1, 2, 5);
  record.point.model.layers = 17;
  record.point.options.chunks = 1;
  EXPECT_THAT(point_text(record), HasSubstr("by 5 stages: 2 times 3, 2 times 4, 3."));
  record.point.options.chunks = 2;
  EXPECT_THAT(point_text(record), HasSubstr("by 5 stages of 2 chunks: "));
}

// The names in the lists of keys that the reader allows, as its source has them.
TEST(Systems, HaveTheirKeysInTheDocument) {
  const std::string reader = content_of(source_path("scaling/systems/system.cpp"));
  const std::string document = content_of(source_path("docs/systems.md"));
  const std::regex lists("allow_only\\([^{;]*\\{([^}]*)\\}");
  const std::regex names("\"(\\w+)\"");
  std::set<std::string> keys;
  for (std::sregex_iterator list(reader.begin(), reader.end(), lists), end; list != end; ++list) {
    const std::string inside = (*list)[1];
    for (std::sregex_iterator name(inside.begin(), inside.end(), names); name != end; ++name) {
      keys.insert((*name)[1]);
    }
  }

  ASSERT_GE(keys.size(), 14U);
  for (const std::string& key : keys) EXPECT_THAT(document, HasSubstr(key));
}

// Whatever other points stand in the study.
TEST(Systems, AreTheBestOfTheirOwnPointAlone) {
  for (const std::string machine : {"a", "b"}) {
    Study study;
    for (const std::string& of_row : {std::string("a"), machine}) {
      StudyRow row;
      row.machine = of_row;
      row.record = made_up_record();
      study.rows.push_back(row);
    }
    study.rows[1].record.system = "axonn-4d";
    const std::string table = format(system_rows(study));
    EXPECT_EQ(table.find("best") != std::string::npos, machine == "a") << table;
  }
}

// The one of the smaller batch is no better, of seeds the median counts, and labels are told.
TEST(Systems, AreRankedOnTheSameWorkAlone) {
  Study study;
  for (int i = 0; i < 6; ++i) {
    StudyRow& row = study.rows.emplace_back();
    row.record = made_up_record();
    row.record.system = i < 3 ? "pytorch-fsdp" : "axonn-4d";
    row.record.outcome.total = {i < 3 ? 20.0 : i == 3 ? 10.0 : 40.0};
    row.repetition = i % 3 + 1;
    row.label = "slow";
  }
  for (const auto& row : system_rows(study).rows) {
    EXPECT_EQ(std::ranges::count(row, "best"), row[3].starts_with("pytorch-fsdp") ? 1 : 0);
  }
  for (int i = 0; i < 3; ++i) study.rows[i].record.point.global_batch /= 2;
  EXPECT_THAT(format(system_rows(study)), AllOf(Not(HasSubstr("best")), HasSubstr("slow")));
  EXPECT_THAT(memory_table(study, Width::whole), HasSubstr("slow"));
  EXPECT_EQ(choices_of_systems(study), "");
}

TEST(Systems, AreSearchedInTheirSpaceAlone) {
  const Platform platform = read_platform("perlmutter");
  Question question;
  question.platform = "perlmutter";
  question.model = model_with("gpt2-124m", {});
  question.devices = 8;
  question.global_batch = 64;
  question.stages.clear();
  ask_of_system(question, read_system("deepspeed-3d"), {{}, "campaign"}, platform);
  const std::string asked = json_of(question).dump();
  const ProgressWatch quiet = [](const std::string&, double) {};

  EXPECT_THAT(question.stages, ElementsAre(1, 2, 4, 8));
  for (const Candidate& candidate : candidates(question, platform, quiet).feasible) {
    EXPECT_EQ(candidate.grid.extent(Axis::y) * candidate.grid.extent(Axis::z), 1);
    EXPECT_LE(candidate.grid.extent(Axis::x), 4);  // devices of a node
  }
  // A record is found again by what was asked, not by what was found.
  EXPECT_EQ(json_of(settled(question, platform, quiet).question).dump(), asked);
}

TEST(Systems, AreInTheRecordWithWhoSetWhat) {
  Record record = made_up_record();
  record.system = "axonn-4d";
  record.set_by = {
      {"overlap.all_reduce", "campaign"}, {"recompute", "system"}, {"precision", "default"}};
  record.point.options.overlap = {false, false, false, false, false, false};

  EXPECT_THAT(point_text(record),
              HasSubstr("System axonn-4d; set by the campaign: "
                        "overlap.all_reduce; set by the system: recompute; all others"));
  EXPECT_THAT(point_text(record), HasSubstr("Software axonn-litgpt (set by the machine)."));
  EXPECT_EQ(system_label(record), "axonn-4d + overlap none");
  const Record again = record_from_json(to_json(record));
  EXPECT_EQ(again.system, "axonn-4d");
  EXPECT_EQ(again.software_by, "machine");
  EXPECT_THAT(to_json(made_up_record()), Not(HasSubstr("\"system\"")));
}

TEST(Systems, ShareACampaignWithTheirOwnOptions) {
  const std::string folder = source_path("scaling/campaigns/");
  const std::vector<Question> recipes = read_campaign(folder + "ornl_recipes.toml").questions;

  ASSERT_EQ(recipes.size(), 6U);
  EXPECT_EQ(recipes[0].options.zero, 1);
  EXPECT_EQ(recipes[0].set_by.at("zero"), "system");
  EXPECT_EQ(recipes[0].global_batch, 10'240);
  EXPECT_EQ(recipes[1].grid, ProcessGrid(8, 1, 1, 6, 64));
  EXPECT_GT(recipes[3].stages.size(), 1U);
  EXPECT_EQ(recipes[5].options.zero, 0);
  EXPECT_EQ(recipes[5].set_by.at("zero"), "campaign");
  const std::vector<Question> summit = read_campaign(folder + "summit_weak.toml").questions;
  EXPECT_EQ(summit.size(), 24U);
  for (const Question& question : summit) EXPECT_EQ(question.global_batch, 16'384);
  EXPECT_EQ(read_campaign(folder + "sc24_baseline.toml").questions.size(), 15U);
}

}  // namespace
}  // namespace fourfold::tests
