// Starting executables side by side and attached: their input, output, complaints, ends and
// interrupts.
#include "scaling/jobs/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "scaling/jobs/attached.hpp"
#include "scaling/jobs/interrupt.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

std::string refused(const std::function<void()>& call) {
  return refusal<std::exception>(call);
}

TEST(Launch, ResultsComeInTheOrderOfTheJobs) {
  // The first waits for nothing but takes longer to say more.
  const std::vector<JobResult> results = run_side_by_side(
      {{{"sh", "-c", "sleep 0.2; cat; exit 3"}, "first"}, {{"sh", "-c", "cat"}, "second"}});

  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].output, "first");
  EXPECT_EQ(results[0].status, 3);
  EXPECT_EQ(results[1].output, "second");
  EXPECT_EQ(results[1].status, 0);
}

TEST(Launch, CarriesMoreThanAPipeHoldsAndInputsOfUpToAMebibyte) {
  const std::string long_one(1'048'576, 'x');
  EXPECT_EQ(run_side_by_side({{{"sh", "-c", "yes | head -c 1000000"}, ""}})[0].output.size(),
            1'000'000u);
  EXPECT_EQ(run_side_by_side({{{"wc", "-c"}, long_one}})[0].output, "1048576\n");
  EXPECT_EQ(refused([&] {
              run_side_by_side({{{"cat"}, long_one + "x"}});
            }),
            "the input is too long");
}

TEST(Launch, EndsWhatTakesMoreCpuThanAllowed) {
  const auto results = run_side_by_side({{{"sh", "-c", "while :; do :; done"}, "", 1}});

  EXPECT_EQ(results[0].status, over_cpu_limit);
}

TEST(Launch, SaysWhatCannotBeStarted) {
  EXPECT_THAT(refused([] {
                run_side_by_side({{{"/nowhere/x"}, ""}});
              }),
              HasSubstr("cannot start /nowhere/x"));
  EXPECT_EQ(refused([] { run_attached({"/nowhere/x"}); }),
            "cannot start /nowhere/x: No such file or directory");
  EXPECT_THAT(beside_this_executable("fourfold-replay"), ::testing::EndsWith("/fourfold-replay"));
  EXPECT_THAT(refused([] { beside_this_executable("no-such-program"); }),
              HasSubstr("no-such-program is missing"));
}

TEST(Launch, KeepsTheEndOfWhatWasSaidWithoutProgress) {
  std::vector<std::pair<std::size_t, double>> heard;
  const auto results = run_side_by_side(
      {{{"sh", "-c", "echo begin >&2; yes 123456789 | head -n 1000 >&2; echo the end >&2; exit 4"},
        ""},
       {{"sh", "-c",
         "echo progress 0.25 >&2; echo oops >&2; echo progress 0.5 >&2; echo progressive >&2"},
        ""}},
      [&](std::size_t job, double done) { heard.emplace_back(job, done); });
  EXPECT_EQ(results[0].complaint.size(), 4096u);
  EXPECT_TRUE(results[0].complaint.ends_with("123456789\nthe end\n"));
  EXPECT_EQ(results[0].status, 4);
  EXPECT_EQ(results[1].complaint, "oops\nprogressive\n");
  ASSERT_FALSE(heard.empty());
  EXPECT_EQ(heard.back(), (std::pair<std::size_t, double>(1, 0.5)));
}

TEST(Attached, HasNoInputIsHeardToTheEndAndSaysHowItEnded) {
  std::string output, complaint;
  const Hearers hearers{[&](std::string_view said) { output += said; },
                        [&](std::string_view said) { complaint += said; }};
  AttachedResult result = run_attached(
      {"sh", "-c", "cat; yes | head -c 200000 >&2; yes | head -c 100000; exit 5"}, hearers);
  EXPECT_EQ(result.status, 5);
  EXPECT_EQ(result.signal, 0);
  EXPECT_FALSE(result.interrupted);
  EXPECT_EQ(output.size(), 100'000U);
  EXPECT_EQ(complaint.size(), 200'000U);
  for (const std::string stream : {"1", "2"}) {  // more than is read at once, at the very end
    for (int turn = 0; turn < 5; ++turn) {
      output = complaint = "";
      run_attached({"sh", "-c", "exec head -c 60000 /dev/zero >&" + stream}, hearers);
      EXPECT_EQ((stream == "1" ? output : complaint).size(), 60'000U);
    }
  }
  result = run_attached({"sh", "-c", "kill -15 $$"}, hearers);
  EXPECT_EQ(result.signal, 15);
  EXPECT_EQ(result.status, 143);
}

// In a process of its own, as signals are.
TEST(InterruptDeathTest, IsNotedAndStopsLongWorkAndChildren) {
  EXPECT_EXIT(
      {
        watch_for_interrupts();
        stop_if_interrupted();
        std::raise(SIGTERM);
        std::raise(SIGINT);
        const bool counted = interrupts_so_far() == 1;  // both of one event
        const bool thrown = refused([] { stop_if_interrupted(); }) == "interrupted";
        const bool child = refused([] {
                             run_side_by_side({{{"sleep", "5"}, ""}});
                           }) == "interrupted";
        std::_Exit(counted && thrown && child ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace fourfold::tests
