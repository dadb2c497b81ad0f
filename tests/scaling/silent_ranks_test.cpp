// Signs of life in a run's folder: what stands in their file's place and is none is never waited
// for.
#include "scaling/jobs/silent_ranks.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

TEST(SilentRanks, WaitForNoPipeLinkOrFolderInTheirFilesPlace) {
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe"), link = folder.file("link"),
                    place = folder.file("folder");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", link);
  std::filesystem::create_directory(place);
  for (const std::string& file : {pipe, link, place, folder.file("absent")}) {
    SilentRanks ranks(nlohmann::json{{"file", file},
                                     {"ranks", 2},
                                     {"name_after", 1.0},
                                     {"end_after", 2.0},
                                     {"end_when_asked_after", 2.0}});
    EXPECT_EQ(ranks.look(9.0, false).sentence, "") << file;
  }
}

}  // namespace
}  // namespace fourfold::tests
