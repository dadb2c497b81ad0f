// For tests of what a run does after which step and with which files, all replicas alike: one rank
// and two find it, and more ranks skip it.
#pragma once

#include <gtest/gtest.h>

#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {

class FewRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (world_size() > 2) GTEST_SKIP() << "one rank and two find what more would find";
  }
};

}  // namespace fourfold::tests
