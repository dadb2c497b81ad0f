// Scripts, boards and places of jobs, in golden texts and at their edges.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scaling/jobs/board.hpp"
#include "scaling/jobs/job_script.hpp"
#include "scaling/jobs/progress.hpp"
#include "scaling/jobs/slots.hpp"
#include "scaling/study/campaign_run.hpp"
#include "tests/golden.hpp"
#include "tests/paths.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Launchers, HaveTheirCommandsAndScripts) {
  std::string text;
  for (const Launcher& launcher : launchers()) {
    text +=
        fmt::format("==== {}: {}, {}\n", launcher.name, launcher.submit, launcher.submit_measured);
    EXPECT_EQ(&launcher_named(launcher.name), &launcher);
    for (const JobKind kind : {JobKind::slices, JobKind::measured}) {
      std::map<std::string, std::string> words;
      for (const char* word :
           {"command", "quoted_command", "name", "time", "minutes", "folder", "directory", "slices",
            "devices", "nodes", "ranks_per_node", "cores_per_rank", "cores_per_node"}) {
        words[word] = std::string("/") + word + "/";
      }
      text += filled(content_of(template_of(launcher, kind)), words) + "\n";
    }
  }
  expect_golden("job_scripts.txt", text);
  EXPECT_THAT(refusal<std::runtime_error>([] { launcher_named("slum"); }),
              HasSubstr("unknown launcher 'slum'"));
}

TEST(SlicesOfAWhole, AreReadOrRefused) {
  for (const char* right : {"1/1", "1/8", "8/8", "10/12"}) {
    const CampaignSlice slice = slice_in(right);
    EXPECT_EQ(fmt::format("{}/{}", slice.index, slice.count), right);
  }
  for (const char* wrong :
       {"", "/", "1", "1/", "/2", "0/2", "3/2", "-1/2", "1/2/3", "1/2 ", " 1/2", "a/b", "1.5/2"}) {
    EXPECT_EQ(refusal<std::runtime_error>([&] { slice_in(wrong); }),
              fmt::format("--slice '{}' is no part of a whole, such as 3/8", wrong));
  }
}

TEST(Parts, HaveFilesOfTheirOwn) {
  CampaignOrder order;
  Campaign campaign;
  campaign.name = "mine";
  EXPECT_EQ(folder_of(campaign, order), "results/mine");
  EXPECT_FALSE(order.is_part());
  order.devices = 16;
  EXPECT_TRUE(order.is_part());
  EXPECT_EQ(part_file("f", order), "f/records.devices-16.jsonl");
}

// Without the clocks, which differ.
std::string without_clocks(const std::string& line) {
  return line.substr(0, line.rfind(','));
}

TEST(Boards, CountTheWorkOfWhatIsDoneAndOfWhatIsUnderWay) {
  Board board(5, 200.0, {false, 100});
  const auto first = [&] { return without_clocks(board.lines().front()); };
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(board.lines(), std::vector<std::string>{
                               "0 of 5 points done, 0 % of the work, time left not known yet"});
  board.begin(3, "three", 40.0);
  board.begin(1, "one", 60.0);
  EXPECT_THAT(first(), "0 of 5 points done, 0 % of the work");
  EXPECT_THAT(board.lines()[1], HasSubstr("starting"));
  board.update(3, "half", 0.5);
  board.update(1, "a quarter", 0.25);
  EXPECT_EQ(first(), "0 of 5 points done, 18 % of the work");  // 20 + 15 of 200
  EXPECT_THAT(board.lines()[1], StartsWith("  one    a quarter "));
  EXPECT_THAT(board.lines()[1], HasSubstr(" 25 %     0:0"));
  EXPECT_THAT(board.lines()[2], StartsWith("  three  half "));
  for (std::size_t i = 1; i < 3; ++i) EXPECT_EQ(board.lines()[i].size(), 100u);
  board.finish(3, "done");
  EXPECT_EQ(first(), "1 of 5 points done, 28 % of the work");  // 40 + 15
  board.put_back(1, "it died");
  EXPECT_EQ(first(), "1 of 5 points done, 20 % of the work");
  board.begin(1, "one", 60.0);
  board.fail(1);
  EXPECT_EQ(first(), "2 of 5 points done, 1 failed, 50 % of the work");
  board.begin(2, std::string(80, 'l'), 100.0);
  board.update(2, std::string(80, 'a'), 1.0);
  EXPECT_THAT(board.lines()[1], StartsWith("  " + std::string(49, 'l') + "~  aaaa"));
  EXPECT_EQ(board.lines()[1].size(), 100u);
  EXPECT_THAT(board.lines()[1], HasSubstr("a~  100 %"));
  board.finish(2, "also done");
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("[1/5] three: done, "));
  EXPECT_THAT(said, HasSubstr("one: it died; it will be tried once more\n"));
  EXPECT_THAT(said, HasSubstr("[2/5] one: failed, "));
  EXPECT_THAT(said, HasSubstr("[3/5] " + std::string(80, 'l') + ": also done, about 0:00 left\n"));
  EXPECT_THAT(Board(0, 0.0, {false, 100}).lines().front(),
              StartsWith("0 of 0 points done, 0 % of the work"));
}

TEST(Boards, OfATerminalDrawOverWhatTheyDrewBefore) {
  ::testing::internal::CaptureStderr();
  {
    Board board(2, 2.0, {true, 60});
    board.begin(0, "a", 1.0);
    board.begin(1, "b", 1.0);
    board.finish(0, "done");
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, StartsWith("0 of 2 points done"));
  EXPECT_THAT(said, HasSubstr("\033[2A\r\033[J0 of 2 points done")) << "the second begins";
  EXPECT_THAT(said, HasSubstr("\033[3A\r\033[J[1/2] a: done"));
}

TEST(Progresses, SayWhichPointOfHowManyAndWhatCameOfIt) {
  ::testing::internal::CaptureStderr();
  {
    Progress progress(3, 4.0);
    progress.begin("two", 3.0);
    progress.update("at work", 0.5);  // a line each half minute
    progress.finish("fine");
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), StartsWith("[1/3] two: fine, about 0:00"));
  EXPECT_EQ(time_left_text(-1.0), "time left not known yet");
  EXPECT_EQ(time_left_text(61.0), "about 1:01 left");
  EXPECT_DOUBLE_EQ(seconds_left(10.0, 40.0, 100.0), 15.0);
  EXPECT_DOUBLE_EQ(seconds_left(10.0, 120.0, 100.0), 0.0);
  EXPECT_LT(seconds_left(10.0, 0.0, 100.0), 0.0);
}

// Of a worker with two further places: two more at once, and each given back when one ends.
TEST(ExtraPlaces, AreKeptForWhatRuns) {
  SlotPipe pipe;
  pipe.give();
  pipe.give();
  share_slots(&pipe);
  {
    ExtraSlots slots;
    EXPECT_TRUE(slots.take());
    EXPECT_TRUE(slots.take());
    EXPECT_FALSE(slots.take());
    slots.keep_for(3);
    EXPECT_FALSE(pipe.take());
    slots.keep_for(2);
    EXPECT_TRUE(pipe.take());
    EXPECT_FALSE(pipe.take());
    pipe.give();
  }
  EXPECT_TRUE(pipe.take());
  EXPECT_TRUE(pipe.take());
  EXPECT_FALSE(pipe.take());
  share_slots(nullptr);
  ExtraSlots free;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(free.take()) << "outside of a worker there is no limit";
}

}  // namespace
}  // namespace fourfold::tests
