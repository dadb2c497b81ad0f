// What mpirun says around a job is taken away, and nothing else.
#include "scaling/jobs/mpirun_words.hpp"

#include <gtest/gtest.h>

#include "support/ranks_started.hpp"

namespace fourfold::tests {
namespace {

const std::string frame = std::string(74, '-') + "\n";
const std::string killed =
    frame +
    "Primary job  terminated normally, but 1 process returned\n"
    "a non-zero exit code. Per user-direction, the job has been aborted.\n" +
    frame + frame +
    "mpirun noticed that process rank 3 with PID 0 on node vm exited on signal 9 (Killed).\n" +
    frame;

std::string own_words(const std::string& said) {
  MpirunWords words;
  words.own(std::string(ranks_started) + "\n");
  const std::string own = words.own(said);
  return own + words.rest();
}

TEST(MpirunWords, LeavesTheSentenceOfARankThatAborts) {
  const std::string said =
      "fourfold: rank 1: it broke\n" + frame +
      "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n\n"
      "NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.\n"
      "You may or may not see output from other processes, depending on\n"
      "exactly when Open MPI kills them.\n" +
      frame;

  EXPECT_EQ(own_words(said), "fourfold: rank 1: it broke\n");
}

// Whichever is heard first, a job that fails has one sentence: the cause.
TEST(MpirunWords, LeavesOneSentenceOfAFailure) {
  const std::string call = "fourfold: rank 0: MPI_Wait failed: MPI_ERR_OTHER: known error\n",
                    other_call = "fourfold: rank 2: MPI_Bcast failed: MPI_ERR_INTERN\n",
                    cause = "fourfold: rank 1: it broke\n";

  EXPECT_EQ(own_words(call), call);
  EXPECT_EQ(own_words(call + other_call), call);
  for (const std::string& said :
       {call + cause + other_call, cause + call, call + other_call + cause}) {
    EXPECT_EQ(own_words(said), cause);
  }
  for (const std::string& said : {call + killed, killed + call, other_call + killed + call}) {
    EXPECT_EQ(own_words(said), "");  // which rank died of which signal is said by who asks for it
  }
  EXPECT_EQ(own_words(cause + killed), cause);
}

TEST(MpirunWords, KnowsWhetherMpirunSaidAnythingItself) {
  for (const std::string& said :
       {killed, frame + "There are not enough slots\n" + frame,
        std::string(
            "[vm:1] [[2,0],0] ORTE_ERROR_LOG: Out of resource in file launch.c at line 9\n")}) {
    MpirunWords words;
    words.own(said);
    EXPECT_TRUE(words.mpirun_spoke()) << said;
  }
  MpirunWords ranks_only;
  ranks_only.own("fourfold: rank 0 said this\n-- and this\n");
  EXPECT_FALSE(ranks_only.mpirun_spoke());
}

// And hears which rank died of which signal.
TEST(MpirunWords, TakesTheStreamInAnyPieces) {
  MpirunWords words;
  words.own(std::string(ranks_started) + "\n");
  std::string own;
  for (char letter : "a\n" + killed + "\nb\n") own += words.own({&letter, 1});

  EXPECT_EQ(own, "a\n\nb\n");
  ASSERT_TRUE(words.death().has_value());
  EXPECT_EQ(words.death()->rank, 3);
  EXPECT_EQ(words.death()->signal, 9);
}

TEST(MpirunWords, PassesEverythingElseOn) {
  const std::string other = frame + "No protocol specified\n\n  Exit code\n" + frame + "\nthe end";
  EXPECT_EQ(own_words(other), other);
  EXPECT_EQ(own_words(frame), frame);

  std::string mixed = killed;
  mixed.insert(mixed.find("a non-zero"), "somebody else's line\n");
  EXPECT_EQ(own_words(mixed), "somebody else's line\n");
}

// Nor what mpirun says of its own notices.
TEST(MpirunWords, LeavesOutWhatTheNeighboursOfADeadRankMeet) {
  const std::string read = "[vm:1] Read -1, expected 16384, errno = ",
                    error = "[vm:1] [[2,0],0] ORTE_ERROR_LOG: ",
                    notice = " in file ../../../orte/util/show_help.c at line 507\n";

  EXPECT_EQ(own_words(read + "3\n" + read + "14\n"), "");
  EXPECT_EQ(own_words(read + "1\n"), read + "1\n");
  for (const std::string trouble :
       {"Out of resource", "Data unpack would read past end of buffer"}) {
    EXPECT_EQ(own_words(error + trouble + notice), "");
  }
  const std::string other = error + "Out of resource in file launch.c at line 9\n";
  EXPECT_EQ(own_words(other), other);
}

// A page of mpirun's becomes one sentence, a failure of several ranks the first one's.
TEST(MpirunWords, MakesASentenceOfWhatKeepsRanksFromStarting) {
  const std::string page = frame + "A component was not found.\n\nHost:   vm\n" + frame + frame +
                           "An internal error has occurred\n" + frame +
                           "[vm:1] [[2,0],0] ORTE_ERROR_LOG: Error in file session_dir.c\n";
  MpirunWords words;
  EXPECT_EQ(words.own(page) + words.rest(), "");
  EXPECT_EQ(words.not_started(), "A component was not found. Host:   vm");

  MpirunWords started;
  EXPECT_EQ(started.own(page + std::string(ranks_started) + "\n"), "");
  EXPECT_EQ(started.warning(), "A component was not found. Host:   vm");
  EXPECT_EQ(started.warning(), "");
  EXPECT_EQ(started.not_started(), "");

  MpirunWords unframed;
  EXPECT_EQ(unframed.own("[vm:1] PMIX ERROR: OUT-OF-RESOURCE\n") + unframed.rest(), "");
  EXPECT_EQ(unframed.not_started(), "[vm:1] PMIX ERROR: OUT-OF-RESOURCE");

  // Of a rank whose page got lost as another one ended the job.
  MpirunWords alone;
  const std::string error = "[vm:1] *** An error occurred in MPI_Init_thread";
  EXPECT_EQ(alone.own(error + "\n[vm:1] *** on a NULL communicator\n") + alone.rest(), "");
  EXPECT_EQ(alone.not_started(), error);
}

// Where two ranks have the same to say mpirun may lose both: the end is not silent.
TEST(MpirunWords, SaysThatWordsAreLostWhereNobodyElseSpeaks) {
  const std::string lost =
      "[vm:1] [[2,0],0] ORTE_ERROR_LOG: Out of resource in file ../orte/util/show_help.c at line "
      "5\n";
  for (const auto& [before, sentence] :
       {std::pair{"", "it has lost the words that say why"},
        std::pair{"fourfold: 2 ranks share 1 core\n", "it has lost the words that say why"},
        std::pair{"fourfold: rank 0: no room\n", ""}, std::pair{"of a plug-in\n", ""},
        std::pair{"fourfold: rank 0: MPI_Init failed\n", ""}}) {
    MpirunWords words;
    std::string said = words.own(before + lost + lost);
    said += words.rest();
    EXPECT_EQ(said, before);
    EXPECT_EQ(words.not_started(), sentence) << before;
  }
}

TEST(MpirunWords, HearsTheFirstOfSeveralRanksThatFail) {
  const std::string others = "fourfold: 2 ranks share 1 core\n";
  for (const std::string& before : {std::string(), std::string(ranks_started) + "\n"}) {
    EXPECT_EQ(own_words(before + others + "fourfold: rank 1: no room\nfourfold: rank 0: no room\n" +
                        others + "fourfold: rank 12: gone\n"),
              others + "fourfold: rank 1: no room\n" + others);
  }
}

}  // namespace
}  // namespace fourfold::tests
