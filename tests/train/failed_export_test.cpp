// An export or import that fails before its end, as on a full disk, leaves the folder as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/train/checkpoint/carried_files.hpp"
#include "support/owned_folder.hpp"
#include "tests/train/file_limit.hpp"
#include "tests/train/foreign_models.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

// The embedding has 3,200 bytes, and the first product of an MLP 4,096; each is a file.
TEST(failed_export, leaves_the_folder_as_it_was) {
  const SharedFolder folder;
  if (world_rank() != 0) return;  // an export is one rank's work
  ForeignCheckpoint foreign;
  foreign.model = {"small", 1, 16, 4, 12, 50};
  const Matrices matrices = matrices_of(foreign.model, [] { return 0.0F; });
  const std::string path = folder.file("empty");
  std::filesystem::create_directories(path);
  const auto export_to = [&](const std::string& folder) {
    return refusal([&] { write_foreign(folder, foreign, matrices, 1); });
  };
  {
    const FileLimit limit(4'000);

    EXPECT_THAT(export_to(path), HasSubstr("cannot write " + path + "/model-"));
    EXPECT_THAT(export_to(path + "/new"), HasSubstr("cannot write " + path + "/new/model-"));
  }

  EXPECT_TRUE(std::filesystem::is_empty(path));
  EXPECT_EQ(export_to(path), "");
  EXPECT_TRUE(std::filesystem::exists(path + "/config.json"));
}

// What comes with a model is written first: it goes with the folders that were made for it, unless
// the checkpoint is there in the end.
TEST(failed_import, leaves_the_folder_as_it_was) {
  const SharedFolder folder;
  if (world_rank() != 0) return;
  const std::string above = folder.file("above"), path = above + "/new";
  const CarriedFiles carried{{"merges.txt", "few"}, {"vocab.json", std::string(5'000, ' ')}};
  {
    const FileLimit limit(4'000);

    EXPECT_THAT(refusal([&] { keep_files(path, carried).is_whole(); }),
                HasSubstr("cannot write " + path + "/carried/vocab.json"));
    EXPECT_FALSE(std::filesystem::exists(above));
  }
  for (const CarriedFiles& files : {CarriedFiles(), carried}) {
    {
      const FilledFolder given_up = keep_files(path, files);
      EXPECT_TRUE(std::filesystem::exists(path));
    }
    EXPECT_FALSE(std::filesystem::exists(above));
  }
  std::filesystem::create_directories(path);
  {
    const FileLimit limit(3);

    EXPECT_THAT(refusal([&] { const OwnedFolder owned(path); }), HasSubstr("cannot write " + path));
  }
  EXPECT_TRUE(std::filesystem::is_empty(path));
  keep_files(path, carried).is_whole();
  EXPECT_EQ(kept_files(path), carried);
}

}  // namespace
}  // namespace fourfold::tests
