// How many ranks a test has, and a temporary folder that all of them share: made by rank 0, gone
// when all are done.
#pragma once

#include <gtest/gtest.h>
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <array>
#include <exception>
#include <optional>
#include <string>

#include "tests/temporary_folder.hpp"

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
    std::array<char, 4096> path{};
    if (world_rank() == 0) {
      try {
        own_.emplace();
      } catch (const std::exception&) {  // the others would wait for its name
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
      own_->path().copy(path.data(), path.size() - 1);
    }
    MPI_Bcast(path.data(), static_cast<int>(path.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = path.data();
  }
  ~SharedFolder() { MPI_Barrier(MPI_COMM_WORLD); }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  // Written by rank 0 when all have come here, there for all when the call returns.
  std::string write(const std::string& name, const std::string& content) const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0) write_content(file(name), content);
    MPI_Barrier(MPI_COMM_WORLD);
    return file(name);
  }

 private:
  std::optional<TemporaryFolder> own_;  // of rank 0
  std::string path_;
};

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
