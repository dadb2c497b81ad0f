// Campaign files: what they mean, and what is refused in which words.
#include "scaling/study/campaign.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include "tests/paths.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* small = R"(
title = "Small"
batch_tokens = 65_536
[options]
recompute = "none"
[simulate]
at_most_grids = 4
[[machine]]
platform = "frontier"
vocabulary = 32_000
points = [{ devices = 16, model = "gpt-5b" }, { devices = 32, model = "gpt-10b", grid = "2x2x4x2" }]
)";

std::string small_with(const std::string& piece, const std::string& replacement) {
  std::string text = small;
  const std::size_t position = text.find(piece);
  EXPECT_NE(position, std::string::npos) << piece;
  return text.replace(position, piece.size(), replacement);
}

std::string refusal(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder.file("small.toml");
  write_content(path, text);
  try {
    read_campaign(path);
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), StartsWith(path));
    return error.what();
  }
  return "accepted";
}

TEST(Campaign, ReadsPointsWithWhatTheyShare) {
  const TemporaryFolder folder;
  const std::string path = folder.file("small.toml");
  write_content(path, small);

  const Campaign campaign = read_campaign(path);

  EXPECT_EQ(campaign.name, "small");
  EXPECT_EQ(campaign.title, "Small");
  EXPECT_EQ(campaign.fidelity, Fidelity::simulated);
  EXPECT_EQ(campaign.rule.at_most, 4);
  ASSERT_EQ(campaign.questions.size(), 2u);
  const Question& second = campaign.questions[1];
  EXPECT_EQ(second.platform, "frontier");
  EXPECT_EQ(second.devices, 32);
  EXPECT_EQ(second.model.name, "gpt-10b");
  EXPECT_EQ(second.model.vocabulary, 32'000);
  EXPECT_EQ(second.global_batch, 32);
  EXPECT_EQ(second.options.recompute, Recompute::none);
  EXPECT_EQ(second.grid, ProcessGrid(2, 2, 4, 2));
  EXPECT_FALSE(campaign.questions[0].grid.has_value());
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

TEST(Campaign, RefusesUnknownNamesWithTheNearest) {
  EXPECT_THAT(refusal(small_with("title", "titel")), HasSubstr("did you mean \"title\"?"));
  EXPECT_THAT(refusal(small_with("devices = 16", "devcies = 16")), HasSubstr("\"devices\""));
  EXPECT_THAT(refusal(small_with("recompute", "recomputed")), HasSubstr("\"recompute\""));
  EXPECT_THAT(refusal(small_with("\"none\"", "\"non\"")), HasSubstr("\"none\""));
  EXPECT_THAT(refusal(small_with("at_most_grids", "at_most_grid")), HasSubstr("\"at_most_grids\""));
  EXPECT_THAT(refusal(small_with("\"frontier\"", "\"forntier\"")), HasSubstr("\"frontier\""));
  EXPECT_THAT(refusal(small_with("gpt-5b", "gpt-5")), HasSubstr("gpt-5b"));
}

TEST(Campaign, RefusesImpossibleValues) {
  EXPECT_THAT(refusal(small_with("65_536", "65_537")), HasSubstr("no whole number of sequences"));
  EXPECT_THAT(refusal(small_with("devices = 16", "devices = 0")),
              HasSubstr("a whole number, 1 or more"));
  EXPECT_THAT(refusal(small_with("devices = 16", "devices = 1_000_000")), HasSubstr("too many"));
  EXPECT_THAT(refusal(small_with("2x2x4x2", "2x2x4")), HasSubstr("process grid"));
  EXPECT_THAT(refusal(small_with("at_most_grids = 4", "at_least_grids = 3\nat_most_grids = 2")),
              HasSubstr("more than at_most_grids"));
  EXPECT_THAT(refusal("title = \"a\"\nbatch_tokens = 2048\nmachine = []\n"),
              HasSubstr("at least one entry"));
}

TEST(Campaign, RefusesAPointThatStandsTwice) {
  EXPECT_THAT(refusal(small_with(R"(devices = 32, model = "gpt-10b", grid = "2x2x4x2")",
                                 R"(devices = 16, model = "gpt-5b")")),
              HasSubstr("points 1 and 2 are the same: gpt-5b on 16 devices of frontier"));
}

TEST(Campaign, RefusesPointsThatAreCalledAlikeAndAreNot) {
  const std::string machine = "[[machine]]\nplatform = \"frontier\"\nvocabulary = 32_000\n";
  const std::string points = "points = [{ devices = 16, model = \"gpt-5b\" }]\n";
  const std::string faster = "scales = { \"network.link_bandwidth_GBps\" = 2.0 }\n";

  EXPECT_THAT(refusal(small + machine + faster + points),
              HasSubstr("points 1 and 3 are both called gpt-5b on frontier, but their 'scales' "
                        "differ"));
  EXPECT_EQ(refusal(small + machine + "label = \"faster\"\n" + faster + points), "accepted");
  EXPECT_THAT(refusal(small_with("{ devices = 32,",
                                 "{ devices = 16, model = \"gpt-5b\", "
                                 "batch_tokens = 131_072 }, { devices = 32,")),
              HasSubstr("gpt-5b on 16 devices of frontier, but their 'global_batch_sequences'"));
  EXPECT_EQ(refusal(small_with("{ devices = 32,",
                               "{ devices = 16, model = \"gpt-5b\", "
                               "batch_tokens = 131_072, label = \"large\" }, "
                               "{ devices = 32,")),
            "accepted");
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

TEST(Campaign, RefusesLabelsThatFiguresCannotTellApart) {
  const std::string machine = "[[machine]]\nplatform = \"frontier\"\n";
  const std::string points = "points = [{ devices = 16, model = \"gpt-5b\" }]\n";
  const std::string faster = "scales = { \"network.link_bandwidth_GBps\" = 2.0 }\n";

  EXPECT_THAT(refusal(small + machine + "label = \"a'b\"\n" + points + machine +
                      "label = \"a\\\"b\"\n" + faster + points),
              HasSubstr("but their 'scales' differ"));
}

TEST(Campaign, RefusesAnEmptyFileAndAFolder) {
  const TemporaryFolder folder;

  EXPECT_THAT(refusal(""), HasSubstr("the file says nothing; a campaign has a title"));
  EXPECT_THAT([&] { read_campaign(folder.file("")); },
              ::testing::ThrowsMessage<std::runtime_error>(HasSubstr("is a folder")));
}

TEST(Campaign, RefusesWhatIsNoToml) {
  EXPECT_THAT(refusal("title = \"a\"\nbatch_tokens = = 1\n"), HasSubstr("line 2"));
}

}  // namespace
}  // namespace fourfold::tests
