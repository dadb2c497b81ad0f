// The template of every topology is a whole and valid file, and the reader needs what it holds.
#include "platforms/file/template.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "platforms/file/key.hpp"
#include "platforms/file/notice.hpp"
#include "platforms/network/axis_rate.hpp"
#include "tests/platforms/platform_files.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string written(const std::string& text) {
  const std::string path = scratch("template.toml").string();
  std::ofstream(path) << text;
  return path;
}

// "# prose" stays a comment; "#key = value" and the "#  { ... }" of a list become lines of TOML.
std::string with_options(const std::string& text) {
  std::istringstream lines(text);
  std::string all, line;
  while (std::getline(lines, line)) {
    const bool option =
        line.starts_with("#") && (line.starts_with("#  {") || !line.starts_with("# "));
    all += (option ? line.substr(1) : line) + '\n';
  }
  return all;
}

std::set<std::string> facts_of(const Platform& platform) {
  std::set<std::string> keys;
  for (const Fact& fact : platform.facts) keys.insert(fact.key);
  return keys;
}

class Template : public ::testing::TestWithParam<std::string> {
 protected:
  bool has(const KeyTable& table) const {
    return table.network.empty() || table.network == GetParam();
  }
};

TEST_P(Template, IsAMachineThatCanBeEstimated) {
  const Platform platform = read_platform(written(platform_template({GetParam()})));

  EXPECT_EQ(platform.devices(), 128 * 8);
  EXPECT_GT(AxisRates(platform).rate(8, 64, 512).value, 1e9);
  EXPECT_GT(AxisRates(platform).rate(1, 16, 512).value, 1e9);
}

TEST_P(Template, ClaimsNoNumberToBeMeasured) {
  const Platform platform = read_platform(written(platform_template({GetParam()})));

  for (const Fact& fact : platform.facts) {
    if (fact.key.starts_with("software.")) continue;  // from a file of its own
    EXPECT_TRUE(fact.unconfirmed) << fact.key;
    EXPECT_THAT(fact.source, HasSubstr("not measured on this machine")) << fact.key;
  }
}

TEST_P(Template, IsReadWithAllItsOptionsToo) {
  const Platform platform = read_platform(written(with_options(platform_template({GetParam()}))));

  EXPECT_FALSE(platform.node.links.empty());
  EXPECT_FALSE(platform.library.in_node_by_stride.empty());
}

TEST_P(Template, ExplainsEveryKeyInAHundredColumns) {
  std::istringstream lines(platform_template({GetParam()}));

  std::string line;
  while (std::getline(lines, line)) {
    const bool comment = line.starts_with("# ");
    EXPECT_LE(comment ? line.size() : 0, 100U) << line;
  }
  for (const KeyTable& table : platform_keys()) {
    for (const Key& key : table.keys) {
      EXPECT_GE(key.meaning.size(), 5U) << key.name;
      EXPECT_EQ(key.form == KeyForm::number && key.from.empty(), false) << key.name;
    }
  }
}

// The table of keys has none that nobody reads: each number ends as a fact, each column in a row.
TEST_P(Template, HoldsEveryKeyAndEveryNumberIsRead) {
  const std::string text = with_options(platform_template({GetParam()}));
  const std::set<std::string> facts = facts_of(read_platform(written(text)));

  for (const KeyTable& table : platform_keys()) {
    if (!has(table)) continue;
    for (const Key& key : table.keys) {
      const std::string full = table.path.empty() ? key.name : table.path + "." + key.name;
      if (GetParam() == "crossbar" && full == "node.switch_port_GBps") {
        EXPECT_THAT(text, Not(HasSubstr(key.name + " = "))) << "a crossbar does not read it";
        continue;
      }
      EXPECT_THAT(text, HasSubstr(key.name + " = ")) << full;
      EXPECT_EQ(facts.contains(full), key.form == KeyForm::number) << full;
    }
  }
}

TEST_P(Template, AsksForNoNumberThatItsNetworkDoesNotRead) {
  for (const std::int64_t devices : {1, 4, 6, 8}) {
    for (std::int64_t nics = 1; nics <= devices; ++nics) {
      if (devices % nics != 0) continue;
      TemplateShape shape{GetParam()};
      shape.devices = devices;
      shape.nics = nics;
      for (const std::string& sentence :
           notices(read_platform(written(platform_template(shape))))) {
        EXPECT_THAT(sentence, Not(HasSubstr("does not read"))) << devices << ' ' << nics;
      }
    }
  }
}

// Without a required line the reader names what is missing, whatever it is; of an optional table
// once the table is there.
TEST_P(Template, HasNoRequiredLineThatCouldBeLeftOut) {
  const std::string plain = platform_template({GetParam()});

  for (const KeyTable& table : platform_keys()) {
    if (!has(table) || !table.rows.empty()) continue;
    const bool optional = table.presence == Presence::optional;
    const std::string text = optional ? with_options(plain) : plain;
    const std::string head = "\n[" + table.path + "]\n";
    const std::size_t section = table.path.empty() ? 0 : text.find(head);
    ASSERT_NE(section, std::string::npos) << table.path;
    if (optional) {
      EXPECT_THAT(plain, Not(HasSubstr(head)));
    }
    for (const Key& key : table.keys) {
      if (key.presence != Presence::required) continue;
      const std::size_t before = text.find("\n" + key.name + " = ", section);
      ASSERT_NE(before, std::string::npos) << key.name;
      const std::size_t line = before + 1;
      std::string without = text;
      without.erase(line, text.find('\n', line) - line + 1);

      const std::string full = table.path.empty() ? key.name : table.path + "." + key.name;
      EXPECT_THAT(refusal(written(without)), HasSubstr("\"" + full + "\" is missing"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Template, ::testing::ValuesIn(network_kinds()), [](const auto& info) {
  std::string name = info.param;
  for (char& letter : name) letter = letter == '-' ? '_' : letter;
  return name;
});

TEST(Templates, RefuseAnUnknownTopology) {
  try {
    platform_template({"fat tree"});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()),
              fmt::format("there is no topology \"fat tree\"; did you mean \"fat-tree\"? It is one "
                          "of {}",
                          fmt::join(network_kinds(), ", ")));
  }
}

}  // namespace
}  // namespace fourfold::tests
