// Software files: what is read from them, what is refused and where, and which one a machine has.
#include "platforms/software.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "schedule/program/function.hpp"
#include "tests/platforms/platform_files.hpp"

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

std::string refusal_of(const std::string& text) {
  try {
    read_software(written(text));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(Software, KernelsAreCountedByTheirWidths) {
  const MapKernels twice = map_kernels("2 x read 2 2 1 write 4 of 1/2");

  ASSERT_EQ(twice.size(), 2u);
  EXPECT_DOUBLE_EQ(twice[1].stored, 1.0);
  EXPECT_DOUBLE_EQ(twice[1].bytes, 2.5);
  EXPECT_DOUBLE_EQ(map_kernels("0.41 ns").front().time.value, 0.41e-9);
  for (const char* wrong : {"0 ns", "-1 ns", "fast ns", "", "read", "2 2", "read 3", "reads 2",
                            "0 x read 2", "read 2 of 3/2", "read 2 of half", "read 2 write 2 of"}) {
    EXPECT_THROW(map_kernels(wrong), std::invalid_argument) << wrong;
  }
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

TEST(Software, IsRefusedWithLineAndNearestKey) {
  EXPECT_THAT(
      refusal_of(head + "layer_nrom = { kernels = [], source = \"test\" }\n"),
      ::testing::AllOf(HasSubstr(", line 6: "), HasSubstr("layer_nrom"), HasSubstr("layer_norm")));
  EXPECT_THAT(refusal_of(head + "bias = { kernels = [] }\n"), HasSubstr("no source"));
  EXPECT_THAT(refusal_of(head + "bias = { kernels = [\"read 3\"], source = \"test\" }\n"),
              HasSubstr(", line 6: bias: \"read 3\" is no kernel"));
  EXPECT_THAT(refusal_of(replaced(head, "flash-2", "flash-9")),
              ::testing::AllOf(HasSubstr(", line 2: "), HasSubstr("flash-1\", \"flash-2")));
  EXPECT_THAT(refusal_of(replaced(head, "value = 6", "value = -6")), HasSubstr("0 or more"));
  EXPECT_THAT(refusal_of(replaced(head, ", source = \"test\", unconfirmed", ", unconfirmed")),
              HasSubstr("no source"));
  EXPECT_THAT(refusal_of("title = \"test\"\n"), HasSubstr("\"attention\" is missing"));
}

TEST(Software, ThatIsUnknownNamesTheNearest) {
  try {
    read_platform("crossbar", {}, "axonn-litgtp");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("axonn-litgpt"));
  }
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
      try {
        read_software(asked);
        FAIL() << asked;
      } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), HasSubstr("is in the end like a file that is like it"));
      }
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
