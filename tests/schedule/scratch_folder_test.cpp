// Folders that are removed whole: ours alone.
#include "support/scratch_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/refusal.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

namespace files = std::filesystem;

class ScratchFolders : public testing::Test {
 protected:
  std::string said() const {
    return refusal<std::runtime_error>([&] { make_scratch_folder(root_ / "small-1"); });
  }
  TemporaryFolder folder_;
  const files::path root_ = files::path(folder_.file("x")).parent_path();
};

TEST_F(ScratchFolders, AreMadeAnewAndGo) {
  const files::path folder = root_ / "results/small-1";
  for (int i = 0; i < 2; ++i) {
    make_scratch_folder(folder);
    EXPECT_FALSE(files::exists(folder / "data"));
    std::ofstream(folder / "data") << i;
  }

  remove_scratch_folder(folder);

  EXPECT_FALSE(files::exists(folder));
  remove_scratch_folder(folder);
}

TEST_F(ScratchFolders, OfOthersStay) {
  files::create_directories(root_ / "small-1");
  std::ofstream(root_ / "small-1/thesis") << "kept";

  remove_scratch_folder(root_ / "small-1");
  EXPECT_THAT(said(), testing::HasSubstr("small-1 is in the way: it was not made for this"));

  EXPECT_TRUE(files::exists(root_ / "small-1/thesis"));
}

TEST_F(ScratchFolders, AreNoneThroughALink) {
  make_scratch_folder(root_ / "elsewhere");
  files::create_directory_symlink("elsewhere", root_ / "small-1");

  remove_scratch_folder(root_ / "small-1");
  EXPECT_THAT(said(), testing::HasSubstr("is in the way"));

  EXPECT_TRUE(files::exists(root_ / "elsewhere"));
}

}  // namespace
}  // namespace fourfold::tests
