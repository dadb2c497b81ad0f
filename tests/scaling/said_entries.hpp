// Entries of JSON objects that are to stand there, whatever else does.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fourfold::tests {

inline void expect_says(const nlohmann::json& object, const nlohmann::json& entries) {
  nlohmann::json changed = object;
  changed.merge_patch(entries);
  EXPECT_EQ(nlohmann::json::diff(object, changed), nlohmann::json::array());
}

}  // namespace fourfold::tests
