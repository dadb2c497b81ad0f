// Logs of nccl-tests, rccl-tests and OSU's benchmarks: what is read from them, and how damaged ones
// are refused.
#include "scaling/calibrate/collective_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

const std::string nccl =
    "srun --nodes=2 ./all_reduce_perf -b 8 -e 1G -f 2\n"
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid   1887 on   worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   1888 on   worker-1 device  1 [0x91] NVIDIA H100 80GB HBM3\n"
    "#  Rank  2 Group  0 Pid   1885 on   worker-0 device  0 [0x8d] NVIDIA H100 80GB HBM3\n"
    "#  Rank  3 Group  0 Pid   1886 on   worker-0 device  1 [0x91] NVIDIA H100 80GB HBM3\n"
    "#\n"
    "#                                                      out-of-place                in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us) "
    " (GB/s)  (GB/s)\n"
    "           0             0     float     sum      -1     5.70    0.00    0.00      0     5.54 "
    "   0.00    0.00      0\n"
    "        1024           256     float     sum      -1    25.50    0.04    0.06      0    24.30 "
    "   0.04    0.06      0\n"
    "  1073741824     268435456     float     sum      -1  10737.4  100.00  150.00      0  10700.1 "
    " 100.35  150.52      0\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 75.03\n";

// Older ones have neither roots nor counts of wrong results; ranks' lines have no group.
const std::string rccl =
    "# nThread 1 nGpus 2 minBytes 65536 maxBytes 131072 step: 2(factor) warmup iters: 5\n"
    "rccl-tests: Version develop:83d38d9\n"
    "# Using devices\n"
    "   Rank  0 Pid   1320 on g100n126 device  0 [0000:05:00] AMD Instinct MI250X\n"
    "   Rank  1 Pid   1320 on g100n126 device  1 [0000:06:00] AMD Instinct MI250X\n"
    "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  "
    "error\n"
    "       65536          8192   float    16.57    3.96    1.98  0e+00    13.83    4.74    2.37  "
    "0e+00\n"
    "      131072         16384   float    23.07    5.68    2.84  0e+00    19.36    6.77    3.39  "
    "0e+00\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 2.645\n";

const std::string osu =
    "[1,0]<stdout>: # OSU MPI-CUDA Allgather Latency Test v7.3\n"
    "[1,0]<stdout>: # Datatype: MPI_CHAR.\n"
    "[1,0]<stdout>: # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
    "[1,0]<stdout>: 1024                  53.34             24.80            158.96        1000\n"
    "[1,0]<stdout>: 2048                  54.59             23.98            125.60        1000\n";

std::string written(const std::string& text, const std::string& name = "log.txt") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("fourfold-logs-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name) << text;
  return (folder / name).string();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

std::string refusal_of(const std::string& text, const LogRanks& ranks = {}) {
  try {
    read_collective_log(written(text), ranks);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(CollectiveLog, OfNcclTestsSaysNodesSizesAndTimesOutOfPlace) {
  const auto samples = samples_of(read_collective_log(written(nccl), {}));

  ASSERT_EQ(samples.size(), 2u);  // nothing was sent in the first row
  EXPECT_EQ(samples[0].kind, CollectiveKind::all_reduce);
  EXPECT_EQ(samples[0].nodes, 2);
  EXPECT_EQ(samples[0].in_each, 2);
  EXPECT_DOUBLE_EQ(samples[0].time.value, 25.5e-6);
  EXPECT_DOUBLE_EQ(samples[1].buffer.value, 1073741824.0);
  EXPECT_DOUBLE_EQ(samples[1].time.value, 10737.4e-6);
}

TEST(CollectiveLog, OfAnOldRcclTestsIsNamedByItsFile) {
  const auto samples = samples_of(read_collective_log(written(rccl, "all_gather_perf-2.txt"), {}));

  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[1].kind, CollectiveKind::all_gather);
  EXPECT_EQ(samples[1].nodes, 1);
  EXPECT_EQ(samples[1].in_each, 2);
  EXPECT_DOUBLE_EQ(samples[1].buffer.value, 131072.0);
}

TEST(CollectiveLog, OfOsuCountsWhatARankBringsToAnAllGather) {
  const auto samples = samples_of(read_collective_log(written(osu), {4, 2}));

  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].kind, CollectiveKind::all_gather);
  EXPECT_EQ(samples[0].nodes, 4);
  EXPECT_DOUBLE_EQ(samples[0].buffer.value, 8.0 * 1024.0);
  EXPECT_DOUBLE_EQ(samples[0].time.value, 53.34e-6);
}

TEST(CollectiveLog, WhatIsNoLogIsRefused) {
  EXPECT_THAT(refusal_of("hello\n"), HasSubstr("this is no output of nccl-tests"));
  EXPECT_THAT(refusal_of(nccl.substr(0, nccl.find("        1024"))),
              HasSubstr("ended before its first result"));
  EXPECT_THAT(refusal_of(replaced(osu, "Allgather", "Alltoall"), {4, 2}),
              HasSubstr(":1: \"OSU MPI-CUDA Alltoall Latency\" is none"));
  EXPECT_THAT(refusal_of(replaced(osu, "Allgather", "Allgatherv"), {4, 2}),
              HasSubstr("none of the collectives of a training step"));
  EXPECT_THAT(refusal_of(osu), HasSubstr("give --nodes and --devices-per-node"));
  EXPECT_THAT(refusal_of(rccl), HasSubstr("nothing says which collective"));
}

TEST(CollectiveLog, DamagedRowsAreRefusedByLine) {
  EXPECT_THAT(refusal_of(nccl.substr(0, nccl.find("100.00  150.00"))),
              HasSubstr(":15: the row has 6 of 13 columns; the log was cut off here"));
  EXPECT_THAT(refusal_of(replaced(nccl, "10737.4", "1073.4")), HasSubstr("the log is damaged"));
  EXPECT_THAT(refusal_of(replaced(nccl, "25.50", "2s.50")), HasSubstr("\"2s.50\" in column time"));
  EXPECT_THAT(refusal_of(replaced(nccl, "25.50", " 0.00")), HasSubstr("cannot take 0 us"));
  EXPECT_THAT(refusal_of(replaced(nccl, "0.06      0", "0.06      7")),
              HasSubstr("computed 7 wrong results"));
  EXPECT_THAT(refusal_of(replaced(nccl, "worker-0", "worker-1")),
              HasSubstr("two hosts have one name"));
  EXPECT_THAT(refusal_of(replaced(nccl, "worker-0", "worker-2")),
              HasSubstr("give a run with as many on each node"));
}

TEST(CollectiveLog, WithoutItsEndOrWithWrongResultsIsRefusedByLine) {
  EXPECT_THAT(refusal_of(nccl.substr(0, nccl.find("# Avg"))),
              HasSubstr(":15: after this row the line \"# Avg bus bandwidth\" is missing"));
  EXPECT_THAT(refusal_of(replaced(nccl, "0 OK", "3 FAILED")),
              HasSubstr(":16: \"Out of bounds values : 3 FAILED\" says that results were wrong"));
  EXPECT_THAT(refusal_of(replaced(nccl, "150.52      0", "150.52      9")),
              HasSubstr(":15: the library computed 9 wrong results"));
}

TEST(CollectiveLog, WhoseRanksDoNotMakeItsBusBandwidthIsRefused) {
  EXPECT_THAT(refusal_of(replaced(nccl, "100.00  150.00", "100.00   99.99")),
              HasSubstr(":15: 1.07374e+09 bytes in 10737.4 us on 4 ranks are a bus bandwidth of "
                        "150.00 GB/s, but the row says 99.99"));
  EXPECT_EQ(refusal_of(nccl, {4, 4}), "");  // the log says it
}

}  // namespace
}  // namespace fourfold::tests
