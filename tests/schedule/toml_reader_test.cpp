// What a TOML file of ours may not hold is refused in its line, whatever is read.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "support/toml_table.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TomlReaders, RefuseInTheLineOfTheKey) {
  using Read = std::function<void(const TomlReader&, const toml::table&)>;
  const std::map<std::string, Read> all{
      {"text", [](const TomlReader& r, const toml::table& t) { r.text(t, "key"); }},
      {"flag", [](const TomlReader& r, const toml::table& t) { r.flag(t, "key"); }},
      {"list", [](const TomlReader& r, const toml::table& t) { r.list(t, "key", "texts"); }},
      {"table", [](const TomlReader& r, const toml::table& t) { r.table(t, "key"); }},
      {"one of", [](const TomlReader& r, const toml::table& t) {
         r.one_of(r.at(t, "key"), "key", {"one", "other"});
       }}};
  const std::map<std::string, std::string> taken{{"true", "flag"},
                                                 {"\"one\"", "text, one of"},
                                                 {"\"two\"", "text"},
                                                 {"[1]", "list"},
                                                 {"{ a = 1 }", "table"},
                                                 {"\"\"", ""},
                                                 {"1", ""},
                                                 {"1.5", ""}};
  const TemporaryFolder folder;
  const std::string path = folder.file("mine.toml");
  for (const auto& [value, takers] : taken) {
    write_content(path, fmt::format("[section]\nother = 1\n\nkey = {}\nlast = 2\n", value));
    const toml::table file = parse_toml_file(path);
    const TomlReader reader(path);
    for (const auto& [kind, read] : all) {
      const std::string said =
          refusal<std::runtime_error>([&] { read(reader, *file["section"].as_table()); });
      if (takers.find(kind) != std::string::npos) {
        EXPECT_EQ(said, "accepted") << kind << " of " << value;
      } else {
        EXPECT_THAT(said, AllOf(HasSubstr("mine.toml, line 4: "), HasSubstr("key")))
            << kind << " of " << value;
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
