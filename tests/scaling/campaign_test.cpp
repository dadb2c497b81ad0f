// Campaign files: what they mean, and what is refused in which words.
#include "scaling/study/campaign.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <stdexcept>

#include "schedule/models/model_file.hpp"
#include "tests/paths.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

constexpr const char* small = R"(
title = "Small"
fidelity = "full"
batch_tokens = 65_536
published_csv = "rows.csv"
[options]
recompute = "none"
chunks = 1
overlap.all_gather = false
[simulate]
at_least_grids = 2
at_most_grids = 5
margin_fraction = 0.25
work_limit = 1234
[what_if]
jitter = "1%"
[[machine]]
platform = "frontier"
scales = { "network.link_bandwidth_GBps" = 0.5 }
points = [{ devices = 16, model = "gpt-5b", grid = "2x2x2x2", micro_batches = 2 }]
[[machine]]
platform = "perlmutter"
vocabulary = 32_000
sequence_tokens = 1_024
points = [{ devices = 32, model = "gpt-10b" }]
)";

std::string small_with(const std::string& piece, const std::string& replacement) {
  std::string text = small;
  const std::size_t position = text.find(piece);
  EXPECT_NE(position, std::string::npos) << piece;
  return text.replace(position, piece.size(), replacement);
}

Campaign read(const std::string& text) {
  const TemporaryFolder folder;
  write_content(folder.file("small.toml"), text);
  return read_campaign(folder.file("small.toml"));
}

std::string refusal(const std::string& text) {
  return tests::refusal<std::runtime_error>([&] { read(text); });
}

TEST(Campaign, MeansWhatItSays) {
  const Campaign campaign = read(small);

  EXPECT_EQ(campaign.name, "small");
  EXPECT_EQ(campaign.title, "Small");
  EXPECT_EQ(campaign.fidelity, Fidelity::full);
  EXPECT_THAT(campaign.published, ::testing::EndsWith("/rows.csv"));
  EXPECT_EQ(campaign.rule.at_least, 2);
  EXPECT_EQ(campaign.rule.at_most, 5);
  EXPECT_EQ(campaign.rule.margin, 0.25);
  EXPECT_EQ(campaign.rule.work_limit, 1234);
  ASSERT_EQ(campaign.questions.size(), 2U);
  const Question &first = campaign.questions[0], &second = campaign.questions[1];
  EXPECT_EQ(first.platform, "frontier");
  EXPECT_EQ(first.scales, (Scales{{"network.link_bandwidth_GBps", 0.5}}));
  EXPECT_EQ(first.micro_batches, 2);
  EXPECT_EQ(first.grid, ProcessGrid(2, 2, 2, 2));
  EXPECT_EQ(first.model.vocabulary, read_model("gpt-5b").vocabulary);
  EXPECT_EQ(first.model.sequence, read_model("gpt-5b").sequence);
  EXPECT_EQ(first.options.recompute, Recompute::none);
  EXPECT_FALSE(first.options.overlap.all_gather);
  EXPECT_TRUE(first.options.overlap.all_reduce);
  EXPECT_EQ(first.what_ifs.jitter_percent, 1.0);
  EXPECT_TRUE(second.scales.empty());
  EXPECT_EQ(second.devices, 32);
  EXPECT_EQ(second.model.name, "gpt-10b");
  EXPECT_EQ(second.model.vocabulary, 32'000);
  EXPECT_EQ(second.model.sequence, 1024);
  EXPECT_FALSE(second.grid.has_value());
  EXPECT_FALSE(second.micro_batches.has_value());
  EXPECT_EQ(second.global_batch, 64);
}

TEST(Campaign, TheMainJobHasThePointsOfTheIssue) {
  const Campaign campaign = read_campaign(source_path("scaling/campaigns/sc24_weak.toml"));

  ASSERT_EQ(campaign.questions.size(), 15u);
  for (const Question& question : campaign.questions) {
    EXPECT_EQ(question.global_batch, 8192);
    EXPECT_EQ(question.model.vocabulary, question.platform == "perlmutter" ? 51'200 : 32'000);
  }
  EXPECT_EQ(campaign.questions[10].devices, 32'768);
  EXPECT_EQ(campaign.questions[10].model.name, "gpt-320b");
  EXPECT_EQ(campaign.questions[14].devices, 6144);
}

// Each edited piece, and what is said of it.
TEST(Campaign, RefusesWhatCannotBeAndNamesWhatIsNear) {
  const std::int64_t most = read_platform("frontier").devices();
  for (const auto& [piece, instead, words] : std::vector<std::array<std::string, 3>>{
           {"title", "titel", "did you mean \"title\"?"},
           {"devices = 16", "devcies = 16", "\"devices\""},
           {"recompute", "recomputed", "\"recompute\""},
           {"\"none\"", "\"non\"", "\"none\""},
           {"at_most_grids", "at_most_grid", "\"at_most_grids\""},
           {"\"frontier\"", "\"forntier\"", "\"frontier\""},
           {"gpt-5b", "gpt-5", "gpt-5b"},
           {"65_536", "65_537", "no whole number of sequences"},
           {"devices = 16", "devices = 0", "a whole number, 1 or more"},
           {"devices = 16, model = \"gpt-5b\", grid = \"2x2x2x2\", micro_batches = 2",
            fmt::format("devices = {}, model = \"gpt-5b\"", most + 1), "too many"},
           {"2x2x2x2", "2x2x2", "process grid"},
           {"chunks = 1", "micro_batches = 1", "belong to a point"},
           {"at_most_grids = 5", "at_most_grids = 1",
            "at_least_grids is 2, more than at_most_grids"},
           {"at_least_grids = 2", "at_least_grids = 0", "at_least_grids"},
           {"work_limit = 1234", "work_limit = 0", "work_limit"},
           {"fraction = 0.25", "fraction = -0.001", "must be at least 0 and below 1"},
           {"fraction = 0.25", "fraction = 1.0", "must be at least 0 and below 1"},
           {"batch_tokens = 65_536", "batch_tokens = = 1", "line 4"}}) {
    EXPECT_THAT(refusal(small_with(piece, instead)), HasSubstr(words)) << piece << " " << instead;
  }
  for (const auto& [piece, instead] : std::vector<std::array<std::string, 2>>{
           {"devices = 16, model = \"gpt-5b\", grid = \"2x2x2x2\", micro_batches = 2",
            fmt::format("devices = {}, model = \"gpt-5b\"", most)},
           {"margin_fraction = 0.25", "margin_fraction = 0.0"},
           {"at_most_grids = 5", "at_most_grids = 2"},
           {"at_least_grids = 2\nat_most_grids = 5", "at_most_grids = 1"},
           {"work_limit = 1234", "work_limit = 1"}}) {
    EXPECT_EQ(refusal(small_with(piece, instead)), "accepted") << piece << " " << instead;
  }
  EXPECT_THAT(refusal("title = \"a\"\nbatch_tokens = 2048\nmachine = []\n"),
              HasSubstr("at least one entry"));
  EXPECT_THAT(refusal(""), HasSubstr("the file says nothing; a campaign has a title"));
  EXPECT_THAT([] { read_campaign(TemporaryFolder().file("")); },
              ::testing::ThrowsMessage<std::runtime_error>(HasSubstr("is a folder")));
}

TEST(Campaign, TellsItsPointsApart) {
  const std::string point = "{ devices = 16, model = \"gpt-5b\"";
  const std::string faster = "scales = { \"network.link_bandwidth_GBps\" = 2.0 }\n";
  const auto machine = [](const std::string& more, const std::string& points) {
    return "[[machine]]\nplatform = \"frontier\"\n" + more + "points = [" + points + " }]\n";
  };
  const auto said = [](const std::string& machines) {
    return refusal("title = \"a\"\nbatch_tokens = 65_536\n" + machines);
  };
  const std::string first = machine("", point);

  EXPECT_THAT(said(machine("", point + " }, " + point)),
              HasSubstr("points 1 and 2 are the same: gpt-5b on 16 devices of frontier"));
  EXPECT_THAT(said(first + machine(faster, point)),
              HasSubstr("points 1 and 2 are both called gpt-5b on frontier, but their 'scales' "
                        "differ"));
  EXPECT_EQ(said(first + machine("label = \"faster\"\n" + faster, point)), "accepted");
  const std::string larger = point + " }, " + point + ", batch_tokens = 131_072";
  EXPECT_THAT(said(machine("", larger)),
              HasSubstr("gpt-5b on 16 devices of frontier, but their 'global_batch_sequences'"));
  EXPECT_EQ(said(machine("", larger + ", label = \"large\"")), "accepted");
  // Figures could not tell these labels apart.
  EXPECT_THAT(
      said(machine("label = \"a'b\"\n", point) + machine("label = \"a\\\"b\"\n" + faster, point)),
      HasSubstr("but their 'scales' differ"));
}

TEST(Campaign, RefusesModelsOfOneNameThatDifferOnTwoMachines) {
  const TemporaryFolder folder;
  for (const char* layers : {"2", "4"}) {
    std::filesystem::create_directory(folder.file(layers));
    write_content(folder.file(layers) + std::string("/mini.toml"),
                  fmt::format("layers = {}\nhidden = 1024\nheads = 8\nsequence_tokens = 1024\n"
                              "vocabulary = 4096\n",
                              layers));
  }
  const auto on = [&](const char* platform, const char* rest, const char* layers) {
    return fmt::format(
        "[[machine]]\nplatform = \"{}\"\n{}points = [{{ devices = 8, model = \"{}/mini.toml\" "
        "}}]\n",
        platform, rest, folder.file(layers));
  };
  const std::string first = "title = \"Two\"\nbatch_tokens = 65_536\n" + on("frontier", "", "2");

  EXPECT_THAT(refusal(first + on("perlmutter", "", "4")),
              HasSubstr("points 1 and 2 are both called mini, but their 'layers' differ: tell them "
                        "apart with a label"));
  EXPECT_EQ(refusal(first + on("perlmutter", "label = \"deep\"\n", "4")), "accepted");
  EXPECT_EQ(refusal(first + on("perlmutter", "vocabulary = 8192\n", "2")), "accepted");
}

}  // namespace
}  // namespace fourfold::tests
