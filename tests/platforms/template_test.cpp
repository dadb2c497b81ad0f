// The keys of a machine file: the template of every topology is a whole and valid file, the reader
// needs what it holds, docs/platforms.md repeats it, and one run names all that is wrong.
#include "platforms/file/template.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "platforms/file/check_keys.hpp"
#include "platforms/file/key.hpp"
#include "platforms/file/notice.hpp"
#include "platforms/network/axis_rate.hpp"
#include "tests/paths.hpp"
#include "tests/platforms/platform_files.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
  const Platform platform = read_platform(scratch_file(platform_template({GetParam()})));

  EXPECT_EQ(platform.devices(), 128 * 8);
  EXPECT_GT(AxisRates(platform).rate(8, 64, 512).value, 1e9);
  EXPECT_GT(AxisRates(platform).rate(1, 16, 512).value, 1e9);
}

TEST_P(Template, ClaimsNoNumberToBeMeasured) {
  const Platform platform = read_platform(scratch_file(platform_template({GetParam()})));

  for (const Fact& fact : platform.facts) {
    if (fact.key.starts_with("software.")) continue;  // from a file of its own
    EXPECT_TRUE(fact.unconfirmed) << fact.key;
    EXPECT_THAT(fact.source, HasSubstr("not measured on this machine")) << fact.key;
  }
}

TEST_P(Template, IsReadWithAllItsOptionsToo) {
  const Platform platform =
      read_platform(scratch_file(with_options(platform_template({GetParam()}))));

  EXPECT_FALSE(platform.node.links.empty());
  EXPECT_FALSE(platform.library.in_node_by_stride.empty());
}

TEST_P(Template, ExplainsEveryKeyInAHundredColumns) {
  std::istringstream lines(platform_template({GetParam()}));

  for (std::string line; std::getline(lines, line);) {
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
  const std::set<std::string> facts = facts_of(read_platform(scratch_file(text)));

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
           notices(read_platform(scratch_file(platform_template(shape))))) {
        EXPECT_THAT(sentence, Not(HasSubstr("does not read"))) << devices << ' ' << nics;
      }
      EXPECT_THAT(platform_template(shape),
                  HasSubstr(fmt::format("members = {0}, devices = {0}, bytes", devices)))
          << nics;
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
      EXPECT_THAT(refusal(scratch_file(without)), HasSubstr("\"" + full + "\" is missing"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Template, ::testing::ValuesIn(network_kinds()), [](const auto& info) {
  std::string name = info.param;
  for (char& letter : name) letter = letter == '-' ? '_' : letter;
  return name;
});

TEST(Templates, RefuseAnUnknownTopology) {
  EXPECT_EQ(
      tests::refusal([] { platform_template({"fat tree"}); }),
      fmt::format("there is no topology \"fat tree\"; did you mean \"fat-tree\"? It is one of "
                  "{}",
                  fmt::join(network_kinds(), ", ")));
}

std::string unit_of_key(const Key& key) {
  if (key.form == KeyForm::text) return "text";
  if (key.form == KeyForm::flag) return "true, false";
  const std::string end = key.name.substr(key.name.rfind('_') + 1);
  if (end == "GB") return "1e9 bytes";
  if (end == "GBps") return "1e9 bytes/s";
  if (end == "Tflops") return "1e12 flop/s";
  if (end == "us") return "1e-6 s";
  return "";
}

std::string row(const Key& key) {
  const char* optional = key.presence == Presence::required ? "" : " (optional)";
  return "| `" + key.name + "`" + optional + " | " + unit_of_key(key) + " | " + key.meaning +
         " | " + key.from + " | " + key.moves + " |\n";
}

std::string heading(const KeyTable& table) {
  std::string text = table.path.empty() ? "At the top" : "`[" + table.path + "]`";
  if (table.path == "network") text += ", `kind = \"" + table.network + "\"`";
  return text;
}

std::string section(const KeyTable& table) {
  std::string text = "### " + heading(table) + "\n\n";
  if (!table.meaning.empty()) text += table.meaning + "\n\n";
  text += "| key | unit | meaning | from | moves |\n|---|---|---|---|---|\n";
  for (const Key& key : table.keys) text += row(key);
  return text;
}

// To renew the document, paste what the failure prints.
TEST(PlatformDocs, ExplainEveryKeyAsTheTemplateDoes) {
  const std::string document = content_of(source_path("docs/platforms.md"));
  for (const KeyTable& table : platform_keys()) {
    const bool found = document.find(section(table)) != std::string::npos;
    EXPECT_TRUE(found) << "the document lacks this section:\n" << section(table);
  }
}

// What is said about a file of this text.
std::string complaint(const std::string& text) {
  return refusal<std::runtime_error>([&] { check_keys("mine.toml", toml::parse(text)); });
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  ASSERT_NE(place, std::string::npos) << from;
  text.replace(place, from.size(), to);
}

TEST(CheckKeys, NamesAllThatIsWrongInTheOrderOfTheFile) {
  std::string text = shipped_text("crossbar");
  replace(text, "memory_GB =", "memroy_GB =");
  replace(text, "{ size = 1000", "{ sise = 1000");
  replace(text, "launch_overhead_us = { value = 2, source = \"synthetic\" }", "");
  replace(text, "[library.low_latency]", "algoritms = 2\n[library.lowlatency]");

  const std::string said = complaint(text);

  EXPECT_THAT(said, HasSubstr("mine.toml: 5 keys are unknown or missing\n  line "));
  const std::vector<std::string> expected{
      "\"processor.launch_overhead_us\" is missing\n",
      "unknown key \"processor.memroy_GB\"; did you mean \"memory_GB\"?\n",
      "unknown key \"processor.gemm.sise\"; did you mean \"size\"?\n",
      "unknown key \"library.algoritms\"",
      "unknown key \"library.lowlatency\"; did you mean \"low_latency\"?\n"};
  std::size_t place = 0;
  for (const std::string& sentence : expected) {
    place = said.find(sentence, place);
    ASSERT_NE(place, std::string::npos) << sentence << " in order in " << said;
  }
  EXPECT_THAT(said, HasSubstr("`fourfold platforms template`"));
}

TEST(CheckKeys, ReportsMistakesElsewhereBesideAnUnknownNetwork) {
  std::string text = shipped_text("frontier");
  replace(text, "\"dragonfly\"", "\"dragonfy\"");
  replace(text, "memory_GB", "memroy_GB");

  EXPECT_THAT(complaint(text), HasSubstr("network.kind cannot be \"dragonfy\""));
  EXPECT_THAT(complaint(text), HasSubstr("unknown key \"processor.memroy_GB\""));
}

// What stands below a table or behind a kind that is misspelt.
TEST(CheckKeys, TakesAMisspeltTableOrNetworkForOneMistake) {
  struct Misspelt {
    std::string right, wrong, said, unsaid;
  };
  for (const auto& [right, wrong, said, unsaid] :
       std::vector<Misspelt>{{"[library.across]", "[library.acros]",
                              "unknown key \"library.acros\"; did you mean \"across\"?", "missing"},
                             {"\"dragonfly\"", "\"dragonfy\"",
                              "network.kind cannot be \"dragonfy\"; did you mean \"dragonfly\"?",
                              "network.groups"}}) {
    std::string text = shipped_text("frontier");
    replace(text, right, wrong);

    EXPECT_THAT(complaint(text), HasSubstr(said));
    EXPECT_THAT(complaint(text), Not(HasSubstr(unsaid)));
  }
}

}  // namespace
}  // namespace fourfold::tests
