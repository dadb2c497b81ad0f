// Scaled numbers pass the checks of a file: a factor on a number, a list or a part is taken exactly
// where a file with those numbers is.
#include "platforms/file/scale_groups.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "platforms/file/fact_table.hpp"
#include "support/text_file.hpp"
#include "tests/machines.hpp"
#include "tests/refusal.hpp"
#include "tests/toml_tree.hpp"

namespace fourfold::tests {
namespace {

// The number of every entry of a family, "node.nics.bandwidth_GBps", times the factor.
void multiply(edits::Tree& file, const std::string& family, double factor) {
  edits::Tree* table = &file;
  std::size_t at = 0;
  for (std::size_t dot; (dot = family.find('.', at)) != std::string::npos; at = dot + 1) {
    table = &table->at(family.substr(at, dot - at));
  }
  const std::string key = family.substr(at);
  const auto times = [&](edits::Tree& number) { number = number.get<double>() * factor; };
  if (!table->contains("entries")) return times(table->at(key).at("value"));
  for (edits::Tree& row : table->at("entries")) {
    if (row.contains(key)) times(row.at(key));
  }
}

TEST(ScaleGroups, AreTakenWhereAFileWithTheirNumbersIs) {
  const std::string path =
      (std::filesystem::path(::testing::TempDir()) / "scaled_machine.toml").string();
  int taken = 0, refused = 0;
  for (const std::string machine : fixed_machines) {
    const Platform platform = read_platform(path_of_machine(machine));
    std::set<std::string> families;
    for (const Fact& fact : platform.facts) {
      if (!fact.key.starts_with("software.")) families.insert(without_label(fact.key));
    }
    std::set<std::string> keys = families;
    for (const std::string& part : names_of_scale_groups()) keys.insert(part);
    for (const std::string& key : keys) {
      for (const double factor : {0.25, 0.9, 1.2, 4.0}) {
        edits::Tree file = edits::tree_of(read_text_file(path_of_machine(machine)));
        bool any = false;
        for (const std::string& family : families) {
          const double own =
              factor_for(Scales{{key, factor}}, family, file["network"]["kind"].get<std::string>());
          if (own == 1.0) continue;
          any = true;
          multiply(file, family, own);
        }
        if (!any) continue;  // the machine has no such part
        std::ofstream(path) << edits::toml_text(file);
        const std::string of_file = refusal<std::runtime_error>([&] { read_platform(path); });
        const std::string of_scale = refusal<std::runtime_error>([&] {
          check_as_scaled(read_platform(path_of_machine(machine), Scales{{key, factor}}));
        });
        EXPECT_EQ(of_file == "accepted", of_scale == "accepted")
            << machine << ' ' << key << " x " << factor << ": " << of_file << " / " << of_scale;
        ++(of_scale == "accepted" ? taken : refused);
      }
    }
  }
  EXPECT_GT(taken, 300);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace fourfold::tests
