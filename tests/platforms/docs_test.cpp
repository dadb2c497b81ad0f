// docs/platforms.md repeats the table of keys, so that neither can change without the other.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "platforms/file/key.hpp"
#include "tests/paths.hpp"

namespace fourfold::tests {
namespace {

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
  std::ifstream file(source_path("docs/platforms.md"));
  std::ostringstream document;
  document << file.rdbuf();

  for (const KeyTable& table : platform_keys()) {
    const bool found = document.str().find(section(table)) != std::string::npos;
    EXPECT_TRUE(found) << "the document lacks this section:\n" << section(table);
  }
}

}  // namespace
}  // namespace fourfold::tests
