// How many ranks a test has, and a temporary folder that all of them share: made by rank 0, gone
// when all are done.
#pragma once

#include <gtest/gtest.h>
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#include <stdlib.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace fourfold::tests {

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

inline int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

class SharedFolder {
 public:
  SharedFolder() {
    std::array<char, 64> pattern{};
    if (world_rank() == 0) {
      std::strcpy(pattern.data(), "/tmp/fourfold-XXXXXX");
      if (mkdtemp(pattern.data()) == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Bcast(pattern.data(), static_cast<int>(pattern.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = pattern.data();
  }
  ~SharedFolder() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0) std::filesystem::remove_all(path_);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  // Written by rank 0 when all have come here, there for all when the call returns.
  std::string write(const std::string& name, const std::string& content) const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0) std::ofstream(file(name), std::ios::binary) << content;
    MPI_Barrier(MPI_COMM_WORLD);
    return file(name);
  }

 private:
  std::string path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The sentence that `work` throws, or nothing.
template <typename Work>
std::string refusal(const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

// For tests that more ranks need not run: those that speak to nobody, and those of what a run does
// after which step and with which files, all replicas alike.
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

// Each test has a folder of its own.
template <typename Ranks = ::testing::Test>
class InAFolder : public Ranks {
 protected:
  const SharedFolder folder;
};

}  // namespace fourfold::tests
