// For tests that speak to nobody: they run on one rank, and more ranks skip them.
#pragma once

#include <gtest/gtest.h>

#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {

class OneRank : public ::testing::Test {
 protected:
  void SetUp() override {
    if (world_size() > 1) GTEST_SKIP() << "one rank alone finds what all would find";
  }
};

}  // namespace fourfold::tests
