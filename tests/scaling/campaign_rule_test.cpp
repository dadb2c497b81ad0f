// [simulate] of a campaign: each key is followed by some question, or refused with the reason.
#include "scaling/study/campaign_rule.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

std::string read_with(const std::string& head, const std::string& key, const std::string& point,
                      const SaidInstead& instead = {}) {
  const TemporaryFolder folder;
  const std::string path = folder.file("mine.toml");
  write_content(path, fmt::format("title = \"Small\"\nbatch_tokens = 65_536\n{}\n[simulate]\n{}\n"
                                  "[[machine]]\nplatform = \"frontier\"\n"
                                  "points = [{{ devices = 16, model = \"gpt-5b\"{} }}]\n",
                                  head, key, point));
  const std::string why = refusal<std::runtime_error>([&] { read_campaign(path, instead); });
  return why.starts_with(path) ? why.substr(path.size()) : why;
}

TEST(CampaignRule, RefusesWhatNoQuestionCanFollow) {
  const std::string single = ", grid = \"2x2x2x2\", micro_batches = 1";
  struct Head {
    std::string text, point, of_grids, of_margin, of_work;  // why each is refused; empty: it is not
  };
  const std::string all = "grids = \"all\" simulates every grid";
  const std::string by_model = "grids_by says which grids are simulated";
  const std::string nothing = "fidelity = \"estimated\" simulates nothing";
  const std::string one =
      "all points state grid and micro_batches, which leaves one simulation of each";
  for (const Head& head :
       {Head{"fidelity = \"simulated\"", "", "", "", ""},
        Head{"fidelity = \"full\"", "", "", "", ""},
        Head{"fidelity = \"simulated\"", ", grid = \"2x2x2x2\"", "", "", ""},
        Head{"fidelity = \"simulated\"", ", micro_batches = 1", "", "", ""},
        Head{"fidelity = \"estimated\"", "", nothing, nothing, nothing},
        Head{"fidelity = \"simulated\"", single, one, one, one},
        Head{"grids = \"all\"", "", all, all, ""}, Head{"grids = \"searched\"", "", "", "", ""},
        Head{"grids_by = \"sc24-model\"", "", by_model, "", ""},
        Head{"grids_by = \"estimate\"", "", "", "", ""}}) {
    for (const auto& [key, value, why] : {std::tuple{"at_least_grids", "1", head.of_grids},
                                          {"at_most_grids", "9", head.of_grids},
                                          {"margin_fraction", "0.02", head.of_margin},
                                          {"work_limit", "1000", head.of_work}}) {
      const std::string expected =
          why.empty()
              ? "accepted"
              : fmt::format(", line 5: '{}' of [simulate] cannot take effect: {}", key, why);
      EXPECT_EQ(read_with(head.text, fmt::format("{} = {}", key, value), head.point), expected)
          << head.text << head.point;
    }
  }
}

// What a command line sets aside is no fault of the file.
TEST(CampaignRule, OfAFileIsNotIdleByWordsOfTheCommandLine) {
  const std::string key = "at_least_grids = 1";
  for (const std::string head : {"fidelity = \"simulated\"", "fidelity = \"estimated\""}) {
    for (const Fidelity asked : {Fidelity::estimated, Fidelity::simulated}) {
      const bool idle = head.ends_with("estimated\"") && asked == Fidelity::estimated;
      EXPECT_EQ(read_with(head, key, "", {"", asked}) == "accepted", !idle) << head;
    }
  }
  EXPECT_EQ(read_with("", key, "", {"sc24-model", {}}), "accepted");
}

}  // namespace
}  // namespace fourfold::tests
