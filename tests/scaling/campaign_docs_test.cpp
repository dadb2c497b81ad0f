// docs/campaigns.md against the readers of campaigns and models: every key, and an example that is
// read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "scaling/study/campaign.hpp"
#include "schedule/models/model.hpp"
#include "schedule/models/model_file.hpp"
#include "sim/question/point_json.hpp"
#include "support/field.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSubsetOf;

std::string source_file(const std::string& path) {
  return content_of(source_path(path));
}

std::set<std::string> all_matches(const std::string& text, const std::regex& expression) {
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end;
       ++match) {
    found.insert((*match)[1]);
  }
  return found;
}

// The names in the lists of keys that a reader allows, as its source has them.
std::set<std::string> allowed_by(const std::string& path) {
  std::set<std::string> keys;
  const std::regex lists("allow_only\\(\\s*\\{([^}]*)\\}");
  for (const std::string& list : all_matches(source_file(path), lists)) {
    keys.merge(all_matches(list, std::regex("\"(\\w+)\"")));
  }
  return keys;
}

std::set<std::string> campaign_keys() {
  std::set<std::string> keys = allowed_by("scaling/study/campaign.cpp");
  keys.merge(allowed_by("scaling/study/campaign_rule.cpp"));
  keys.merge(allowed_by("scaling/study/sweep.cpp"));
  keys.merge(allowed_by("scaling/study/measured_point.cpp"));
  for (const FieldFacts& field : what_if_fields().facts()) keys.insert(field.key);
  for (const FieldFacts& field : step_fields().facts()) {
    const std::size_t dot = field.key.find('.');
    keys.insert(field.key.substr(0, dot));
    if (dot != std::string::npos) keys.insert(field.key.substr(dot + 1));
  }
  return keys;
}

// First cells of the document's tables of keys: `key`, `[key]` or `[[key]]`.
std::set<std::string> documented_keys(const std::string& document) {
  std::set<std::string> keys;
  for (std::size_t at = 0; (at = document.find("\n| key |", at)) != std::string::npos; ++at) {
    const std::string table = document.substr(at, document.find("\n\n", at) - at);
    keys.merge(all_matches(table, std::regex("\n\\| `\\[*(\\w+)\\]*` \\|")));
  }
  return keys;
}

std::vector<std::string> examples(const std::string& document) {
  const std::string mark = "```toml\n";
  std::vector<std::string> texts;
  for (std::size_t at = 0; (at = document.find(mark, at)) != std::string::npos;) {
    at += mark.size();
    texts.push_back(document.substr(at, document.find("```", at) - at));
  }
  return texts;
}

TEST(CampaignDocs, HaveTheKeysOfTheReadersAndNoOthers) {
  const std::string document = source_file("docs/campaigns.md");
  std::set<std::string> keys = campaign_keys();
  ASSERT_GT(keys.size(), 35U);

  EXPECT_THAT(keys, IsSubsetOf(documented_keys(document)));
  for (const FieldFacts& field : model_fields().facts()) keys.insert(field.key);
  EXPECT_THAT(documented_keys(document), IsSubsetOf(keys));
}

TEST(CampaignDocs, ShowEveryKeyInExamplesThatAreRead) {
  const std::vector<std::string> texts = examples(source_file("docs/campaigns.md"));
  ASSERT_EQ(texts.size(), 2U);
  const TemporaryFolder folder;
  write_content(folder.file("projected.toml"), texts[0]);
  write_content(folder.file("measured.toml"), texts[1]);
  write_content(folder.file("book.txt"), "It was a dark and stormy night.");

  const Campaign campaign = read_campaign(folder.file("projected.toml"));
  const Campaign measured = read_campaign(folder.file("measured.toml"));

  ASSERT_EQ(campaign.questions.size(), 8U);  // four points, two seeds each
  EXPECT_EQ(campaign.questions[0].what_ifs.slow_devices.count, 1);
  EXPECT_EQ(campaign.questions[2].micro_batches, 1);
  EXPECT_EQ(measured.questions.size(), 4U);
  for (const std::string& key : campaign_keys()) EXPECT_THAT(texts[0] + texts[1], HasSubstr(key));
}

TEST(CampaignDocs, ShowDefaultsThatAreTheReaders) {
  const std::string document = source_file("docs/campaigns.md");
  const Campaign plain;

  EXPECT_THAT(document, HasSubstr("believed; " + std::to_string(plain.rule.at_least) + " |"));
  EXPECT_THAT(document, HasSubstr("the rest is; " + std::to_string(plain.rule.at_most) + " |"));
  EXPECT_EQ(plain.fidelity, Fidelity::simulated);
}

}  // namespace
}  // namespace fourfold::tests
