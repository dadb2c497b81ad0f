// Room for a checkpoint is taken for its data and its record at once, before either is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "engine/train/checkpoint/checkpoint_folder.hpp"
#include "tests/train/one_rank.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

class checkpoint_drafts : public OneRank {
 protected:
  CheckpointFiles files(std::int64_t data_bytes, std::int64_t record_bytes) const {
    return {folder_.file("step-00000010.safetensors"), folder_.file("step-00000010.json"),
            data_bytes, record_bytes};
  }
  std::int64_t count() const {
    const std::filesystem::directory_iterator entries(folder_.path());
    return std::distance(begin(entries), end(entries));
  }

  SharedFolder folder_;
};

TEST_F(checkpoint_drafts, have_the_disk_for_all_that_will_be_written) {
  const CheckpointFiles checkpoint = files(100'000, 5'000);
  const CheckpointDrafts drafts = reserve(checkpoint);

  for (const auto& [path, bytes] :
       {std::pair(drafts.data, 100'000), std::pair(drafts.record, 5'000)}) {
    struct stat on_disk {};
    ASSERT_EQ(stat(path.c_str(), &on_disk), 0) << path;
    EXPECT_EQ(on_disk.st_size, bytes);
    EXPECT_GE(512 * on_disk.st_blocks, bytes);
  }
  commit(checkpoint, drafts, std::string(5'000, 'r'));

  EXPECT_EQ(count(), 2);
  EXPECT_EQ(content_of(checkpoint.data).size(), 100'000);
  EXPECT_EQ(content_of(checkpoint.record), std::string(5'000, 'r'));
}

TEST_F(checkpoint_drafts, leave_nothing_where_one_of_them_finds_no_room) {
  struct rlimit before {};
  getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit small = before;
  small.rlim_cur = 4'096;
  setrlimit(RLIMIT_FSIZE, &small);

  const std::string words = refusal([&] { reserve(files(4'096, 4'097)); });
  setrlimit(RLIMIT_FSIZE, &before);

  EXPECT_THAT(words, HasSubstr("step-00000010.json cannot be written: it needs 4097 bytes"));
  EXPECT_EQ(count(), 0);
}

}  // namespace
}  // namespace fourfold::tests
