// Watch on invented ranks: who holds the others up is named in time, and nobody else ever is.
#include "engine/train/run/watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double interval = 4.5;

// Ranks that train, three moves a look, and what is done to them.
struct Ranks {
  explicit Ranks(std::int64_t count, double hang_timeout = 600.0)
      : watch(patience_of(hang_timeout), count), signs(static_cast<std::size_t>(count)) {
    for (std::size_t i = 0; i < signs.size(); ++i) {
      signs[i] = Sign{i < 4 ? "here" : "there", 100 + static_cast<std::int64_t>(i)};
      signs[i]->doing = Doing::training;
      signs[i]->step = 7;
    }
  }

  Sign& sign(std::size_t rank) { return signs[rank].value(); }
  // A look, before which all beat and move but those that are stopped or still.
  Watch::View look() {
    for (std::size_t i = 0; i < signs.size(); ++i) {
      if (i != stopped) sign(i).beat += 1;
      if (i != stopped && !still) sign(i).moves += 3;
    }
    seconds += interval;
    return watch.look(signs, interval, asked);
  }
  // Until something is said or, if `to_end`, the job is ended, for so many seconds at most.
  Watch::View until(double most, bool to_end) {
    for (const double began = seconds; seconds - began <= most;) {
      Watch::View view = look();
      if (!view.end.empty() || (!to_end && !view.sentences.empty())) return view;
    }
    return {};
  }
  std::string said(double most) {
    const std::vector<std::string> sentences = until(most, false).sentences;
    return sentences.size() == 1 ? sentences[0] : "";
  }
  std::string ended(double most) { return until(most, true).end; }
  // Nobody is named for an hour, and the job goes on.
  void expect_quiet() {
    for (int i = 0; i < 1000; ++i) {
      const Watch::View view = look();
      ASSERT_THAT(view.sentences, IsEmpty());
      ASSERT_EQ(view.end, "");
    }
  }

  Watch watch;
  std::vector<std::optional<Sign>> signs;
  std::size_t stopped = 99;
  bool still = false, asked = false;
  double seconds = 0.0;
};

TEST(Watch, NamesARankThatIsSilentWithinAMinuteAndEndsTheJobWhenTold) {
  Ranks ranks(8);
  for (int i = 0; i < 20; ++i) EXPECT_THAT(ranks.look().sentences, IsEmpty());
  ranks.stopped = 5;
  const double began = ranks.seconds;

  const Watch::View named = ranks.until(60.0, false);

  EXPECT_EQ(named.end, "");
  EXPECT_THAT(named.sentences,
              ElementsAre(HasSubstr("rank 5 on there (process 105), last seen training in step 7; "
                                    "the job ends in 555 s unless")));
  EXPECT_THAT(ranks.ended(700.0), HasSubstr("rank 5 on there"));
  EXPECT_NEAR(ranks.seconds - began, 600.0, interval);
}

TEST(Watch, SaysThatARankGoesOn) {
  Ranks ranks(2);
  ranks.look();
  ranks.stopped = 1;
  EXPECT_NE(ranks.said(60.0), "");
  ranks.stopped = 99;

  EXPECT_THAT(ranks.look().sentences, ElementsAre("rank 1 on here (process 101) goes on"));
  EXPECT_EQ(ranks.ended(3600.0), "");
}

// Never, where it is to wait; sooner, where it is asked to stop.
TEST(Watch, EndsAJobWhenItMay) {
  Ranks waits(2, 0.0);
  waits.look();
  waits.stopped = 0;
  EXPECT_THAT(waits.said(60.0), HasSubstr("the job waits on"));
  EXPECT_EQ(waits.ended(100'000.0), "");
  Ranks asked(2);
  asked.look();
  asked.stopped = 1;
  asked.asked = true;
  EXPECT_THAT(asked.ended(25.0), HasSubstr("asked to stop, and no checkpoint can be written: no "
                                           "sign of life for"));
  EXPECT_TRUE(asked.watch.is_silent(1, true) && !asked.watch.is_silent(1, false));
}

TEST(Watch, TellsAnEndlessLoopByOthersThatWaitAndRanksThatAllWait) {
  for (const bool all : {false, true}) {
    Ranks ranks(3);
    ranks.look();
    ranks.still = true;
    ranks.sign(0).waits = ranks.sign(2).waits = true;
    ranks.sign(1).waits = all;

    EXPECT_THAT(ranks.said(60.0),
                HasSubstr(all ? "all ranks have waited for one another for"
                              : "in rank 1 on here (process 101), training in step 7, which others "
                                "wait for"));
    EXPECT_THAT(ranks.ended(600.0), HasSubstr(all ? "for 6" : "no progress for 6"));
  }
}

// Long operations of all ranks, long checkpoints, a late start, ranks that have ended.
TEST(Watch, NamesNobodyWhoOnlyTakesLong) {
  for (Doing doing : {Doing::starting, Doing::validating, Doing::checkpoint, Doing::sampling}) {
    SCOPED_TRACE(name(doing));
    Ranks ranks(4, 60.0);
    ranks.look();
    ranks.still = true;
    ranks.sign(0).doing = doing;
    for (std::size_t i = 1; i < 4; ++i) ranks.sign(i).waits = true;
    ranks.expect_quiet();
  }
  Ranks all_work(4, 60.0);
  all_work.still = true;
  all_work.expect_quiet();
  Ranks some_ended(4, 60.0);
  some_ended.look();
  some_ended.sign(1).doing = Doing::ended;
  some_ended.look();
  some_ended.stopped = 1;
  some_ended.expect_quiet();
}

// Drawn: pauses of any rank shorter than what is named, at any time, and steps as long as they
// like.
TEST(Watch, NamesNobodyInDrawnRunsThatGoOn) {
  std::mt19937 random(7);
  const auto draw = [&](std::size_t count) { return random() % count; };
  for (int run = 0; run < 200; ++run) {
    Ranks ranks(static_cast<std::int64_t>(2 + draw(7)));
    for (int i = 0; i < 200; ++i) {
      ranks.stopped = draw(4) == 0 ? draw(ranks.signs.size()) : 99;
      ranks.sign(draw(ranks.signs.size())).waits = draw(2) == 0;
      ranks.still = draw(3) == 0 && i % 9 != 0;
      ranks.asked = false;
      const Watch::View view = ranks.look();
      ASSERT_THAT(view.sentences, IsEmpty()) << run;
      ASSERT_EQ(view.end, "") << run;
    }
  }
}

TEST(Signs, AreReadAsTheyWereWritten) {
  Sign sign{"a-host", 4711, 3, 1LL << 60, true, 12, Doing::checkpoint};
  const std::string line = line_of(sign);

  EXPECT_EQ(line.size(), sign_bytes);
  EXPECT_EQ(line.back(), '\n');
  const std::optional<Sign> read = sign_in(line);
  ASSERT_TRUE(read);
  EXPECT_EQ(line_of(*read), line);
  sign.host = std::string(300, 'h');
  EXPECT_EQ(line_of(sign).size(), sign_bytes);
  EXPECT_TRUE(sign_in(line_of(sign)));
  std::string nameless(sign_bytes, ' ');
  nameless.back() = '\n';
  for (const std::string& bad : {nameless, std::string("a 1 2 3 waits 4 resting"),
                                 std::string("a 1 2 3 waits 4"), std::string("\0\0\0", 3)}) {
    EXPECT_FALSE(sign_in(bad)) << bad;
  }
}

}  // namespace
}  // namespace fourfold::tests
