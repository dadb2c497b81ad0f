// Heads of safetensors files that say a thing twice, or that other readers would stumble over.
#include "engine/train/checkpoint/safetensors.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

// Of two tensors of one name readers would take different ones; text that is no text breaks others.
TEST(Safetensors, AHeadSaysEachNameOnceAndItsMetadataAreTexts) {
  const auto why = [](const std::string& head) {
    return refusal<std::runtime_error>([&] { safetensors_entries(head); });
  };
  EXPECT_EQ(safetensors_entries(R"({"a": {"b": 1}, "c": {"b": 1}})").size(), 2u);
  EXPECT_EQ(safetensors_entries(R"({"__metadata__": {"format": "pt"}})").size(), 1u);
  for (const char* twice :
       {R"({"a": {}, "a": {}})", R"({"b": {"a": 1, "a": 2}})",
        R"({"__metadata__": {"a": "1", "a": "1"}})", R"({"a": 1, "\u0061": 2})"}) {
    EXPECT_NE(why(twice).find("speaks of a twice"), std::string::npos) << twice;
  }
  for (const char* odd : {"1", "null", "[]", "\"text\"", R"(["a"])", R"({"a": 1})", R"({"a": {}})",
                          R"({"a": null})", R"({"a": ["b"]})"}) {
    EXPECT_NE(why(std::string(R"({"__metadata__": )") + odd + "}").find("no map of text to text"),
              std::string::npos)
        << odd;
  }
}

}  // namespace
}  // namespace fourfold::tests
