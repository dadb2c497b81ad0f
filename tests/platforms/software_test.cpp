// Software files: what is read from them, what is refused and where, and which one a machine has.
#include "platforms/software.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "schedule/program/function.hpp"
#include "tests/platforms/platform_files.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

const std::string head =
    "title = \"test\"\n"
    "attention = { kernel = \"flash-2\", source = \"test\" }\n"
    "products = { layouts = \"default\", source = \"test\" }\n"
    "dispatch_us = { value = 6, source = \"test\", unconfirmed = true }\n"
    "[maps]\n";

std::string written(const std::string& text) {
  const auto path = scratch("software.toml");
  std::ofstream(path) << text;
  return path.string();
}

TEST(Software, IsReadWithItsNumbersAsFactsOfTheMachine) {
  const std::string file =
      written(head +
              "layer_norm = { kernels = [\"read 2 write 2\"], source = \"test\" }\n"
              "row_sum = { kernels = [], source = \"test\" }\n");

  const Platform platform = read_platform("crossbar", {{"software.dispatch_us", 2.0}}, file);

  EXPECT_DOUBLE_EQ(platform.software.dispatch.value, 12e-6);
  EXPECT_EQ(platform.facts.back().key, "software.dispatch_us");
  EXPECT_TRUE(platform.facts.back().unconfirmed);
  EXPECT_EQ(platform.software.kernels_of(functions::layer_norm)->size(), 1u);
  EXPECT_TRUE(platform.software.kernels_of(functions::row_sum)->empty());
  EXPECT_EQ(platform.software.kernels_of(functions::bias), nullptr);
}

TEST(Software, ThatIsUnknownNamesTheNearest) {
  EXPECT_THAT(
      tests::refusal<std::runtime_error>([] { read_platform("crossbar", {}, "axonn-litgtp"); }),
      HasSubstr("axonn-litgpt"));
}

TEST(Software, OfAMachineIsItsOwnUnlessAnotherIsAskedFor) {
  EXPECT_EQ(read_platform("frontier").software.name, "axonn-litgpt");
  EXPECT_EQ(read_platform("frontier", {}, "fused").software.name, "fused");
  EXPECT_EQ(read_platform("crossbar").software.name, "fused");
}

TEST(Software, MayBeLikeOneThatIsLikeAnother) {
  const auto file = [](const char* name, const std::string& text) {
    const auto path = scratch(name);
    std::ofstream(path) << text;
    return path.string();
  };
  const std::string first =
      file("first.toml", head + "layer_norm = { kernels = [\"read 2\"], source = \"first\" }\n");
  const std::string second =
      file("second.toml", "title = \"second\"\nlike = \"" + first +
                              "\"\nbeside_products = { value = true, source = \"second\" }\n");
  const std::string third = file("third.toml", "title = \"third\"\nlike = \"" + second + "\"\n");

  const Software software = read_software(third);

  EXPECT_EQ(software.title, "third");
  EXPECT_TRUE(software.beside_products);
  EXPECT_EQ(software.beside_products_source, "second");
  EXPECT_EQ(software.rules.front().source, "first");
  EXPECT_FALSE(read_software(first).beside_products);
}

TEST(Software, ThatIsInTheEndLikeItselfIsRefused) {
  const std::string path = scratch("round.toml").string(), other = scratch("other.toml").string();
  for (const std::string& next : {path, other}) {
    std::ofstream(path) << "title = \"a\"\nlike = \"" << next << "\"\n";
    std::ofstream(other) << "title = \"b\"\nlike = \"" << path << "\"\n";
    for (const std::string& asked : {path, other}) {
      EXPECT_THAT(tests::refusal<std::runtime_error>([&] { read_software(asked); }),
                  HasSubstr("is in the end like a file that is like it"));
    }
  }
}

TEST(Software, ThatComesWithFourfoldIsRead) {
  EXPECT_THAT(known_software(), IsSupersetOf({"fused", "axonn-litgpt", "megatron-core"}));
  for (const std::string& name : known_software()) {
    const Software software = read_software(name);
    EXPECT_EQ(software.name, name);
    std::set<std::string> described;
    for (const MapRule& rule : software.rules) {
      EXPECT_FALSE(rule.source.empty()) << rule.name;
      EXPECT_TRUE(described.insert(rule.name).second) << name << " says " << rule.name << " twice";
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
