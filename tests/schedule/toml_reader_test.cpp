// What a TOML file of ours may not hold is refused in its line, whatever is read.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "support/toml_table.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ContainsRegex;

TEST(TomlReaders, RefuseInTheLineOfTheKey) {
  struct Kind {
    const char* name;
    std::function<void(const TomlReader&, const toml::table&)> read;
    std::set<std::string> takes;
  };
  const std::vector<Kind> kinds{
      {"text", [](auto& r, auto& t) { r.text(t, "key"); }, {"\"one\"", "\"two\""}},
      {"flag", [](auto& r, auto& t) { r.flag(t, "key"); }, {"true"}},
      {"list", [](auto& r, auto& t) { r.list(t, "key", "texts"); }, {"[1]"}},
      {"table", [](auto& r, auto& t) { r.table(t, "key"); }, {"{ a = 1 }"}},
      {"one of", [](auto& r, auto& t) { r.one_of(r.at(t, "key"), "key", {"one"}); }, {"\"one\""}}};
  const TemporaryFolder folder;
  const std::string path = folder.file("mine.toml");
  for (const std::string value :
       {"true", "\"one\"", "\"two\"", "\"\"", "[1]", "{ a = 1 }", "1", "1.5"}) {
    write_content(path, fmt::format("[section]\nother = 1\n\nkey = {}\nlast = 2\n", value));
    const toml::table file = parse_toml_file(path);
    const TomlReader reader(path);
    for (const Kind& kind : kinds) {
      const std::string said =
          refusal<std::runtime_error>([&] { kind.read(reader, *file["section"].as_table()); });
      SCOPED_TRACE(std::string(kind.name) + " of " + value);
      if (kind.takes.contains(value)) {
        EXPECT_EQ(said, "accepted");
      } else {
        EXPECT_THAT(said, ContainsRegex("mine\\.toml, line 4: .*key"));
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
