// For tests that more ranks need not run: those that speak to nobody, and those of what a run does
// after which step and with which files, all replicas alike.
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

class FewRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (world_size() > 2) GTEST_SKIP() << "one rank and two find what more would find";
  }
};

}  // namespace fourfold::tests
