// Logs of collectives of every kind and damage: what is read of them, in a golden text; those that
// are not whole, not one, or not what their name says are refused with their own cause, and no row
// is lost without a word; long because it goes through what each benchmark prints.
#include "scaling/calibrate/collective_log.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "schedule/collectives/collective.hpp"
#include "support/random.hpp"
#include "support/text_file.hpp"
#include "tests/golden.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// As nccl-tests print, of so many ranks on each of these nodes.
std::string nccl_log(const std::string& program, const std::vector<int>& ranks, double part,
                     const std::vector<double>& sizes = {0.0, 1024.0, 1048576.0, 268435456.0}) {
  std::string text = "# nThread 1 nGpus 1\n# Collective test: " + program + "\n#\n";
  int rank = 0;
  for (std::size_t node = 0; node < ranks.size(); ++node) {
    for (int i = 0; i < ranks[node]; ++i, ++rank) {
      text += fmt::format("#  Rank {:2} Group  0 Pid 1 on node-{} device {} [0x8d] NVIDIA H100\n",
                          rank, node, i);
    }
  }
  text +=
      "#       size    count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw "
      "#wrong\n#        (B)  (elements)  (us)  (GB/s)  (GB/s)\n";
  for (const double size : sizes) {
    const double time = size == 0 ? 4.0 : 20.0 + size / 1e4;
    const double rate = size / time * 1e-3;
    text += fmt::format("{:.0f} 256 float {} -1 {:.2f} {:.2f} {:.2f} 0 {:.2f} {:.2f} {:.2f} N/A\n",
                        size, program.starts_with("all_gather") ? "none" : "sum", time, rate,
                        rate * part, time * 1.1, rate / 1.1, rate * part / 1.1);
  }
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 61.3\n#\n";
}

std::string osu_log(const std::string& title) {
  return "# OSU MPI " + title +
         " Latency Test v7.3\n# Size       Avg Latency(us)\n4   1.50\n1048576  250.25\n";
}

std::string samples_text(const std::string& name, const std::string& log, const LogRanks& ranks) {
  const TemporaryFolder folder;
  write_content(folder.file(name), log);
  std::string text;
  const std::string said = refusal<std::exception>([&] {
    for (const CollectiveSample& one : samples_of(read_collective_log(folder.file(name), ranks))) {
      text += fmt::format("  {} on {} x {}: {} B {:.8g} us\n", fourfold::name(one.kind), one.nodes,
                          one.in_each, one.buffer.value, 1e6 * one.time.value);
    }
  });
  if (said == "accepted") return text;
  std::string sentence = said;
  const std::size_t at = sentence.find(folder.file(""));
  if (at != std::string::npos) sentence.erase(at, folder.file("").size());
  return "  " + sentence + "\n";
}

TEST(CollectiveLogs, SayTheGoldenSamples) {
  std::string text;
  const auto add = [&](const std::string& words, const std::string& name, const std::string& log,
                       const LogRanks& ranks = {}) {
    text += words + "\n" + samples_text(name, log, ranks);
  };
  const std::vector<std::pair<std::string, double>> programs{
      {"all_reduce_perf", 2.0}, {"all_gather_perf", 1.0}, {"reduce_scatter_perf", 1.0}};
  for (const auto& [program, factor] : programs) {
    add(program + " on 2 nodes of 2", "log.txt", nccl_log(program, {2, 2}, factor * 0.75));
    add(program + " on 1 node of 8", "log.txt", nccl_log(program, {8}, factor * 0.875));
    add(program + " on 4 nodes of 1", "log.txt", nccl_log(program, {1, 1, 1, 1}, factor * 0.75));
    add(program + " with another bus bandwidth", "log.txt", nccl_log(program, {2, 2}, factor));
  }
  const std::string good = nccl_log("all_reduce_perf", {2, 2}, 1.5);
  add("given ranks that are right", "a.txt", good, {2, 2});
  add("given nodes that are wrong", "a.txt", good, {4, 0});
  add("given ranks a node that are wrong", "a.txt", good, {0, 4});
  add("uneven nodes", "a.txt", nccl_log("all_reduce_perf", {2, 1}, 1.5));
  add("one rank", "a.txt", nccl_log("all_reduce_perf", {1}, 0.0));
  add("named by nothing", "a.txt", nccl_log("a_perf", {2, 2}, 1.5));
  add("named by its file", "reduce-scatter.txt", nccl_log("a_perf", {2, 2}, 0.75));
  add("of another collective", "a.txt", nccl_log("all_gatherv_perf", {2, 2}, 0.75));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string log = good;
    return log.replace(log.find(from), from.size(), to);
  };
  add("wrong at the end", "a.txt", changed("values : 0 OK", "values : 3 FAILED"));
  add("without its end", "a.txt", changed("# Avg bus bandwidth    : 61.3\n", ""));
  add("a row with wrong results, the second time", "a.txt", changed("N/A\n1048576", "7\n1048576"));
  add("a row with wrong results, the first time", "a.txt", changed(" 0 137.34", " 5 137.34"));
  add("no number", "a.txt", changed("float sum -1 20.10", "float sum -1 many"));
  add("a negative number", "a.txt", changed("float sum -1 20.10", "float sum -1 -20.10"));
  add("no time", "a.txt", changed("float sum -1 20.10", "float sum -1 0.00"));
  add("another rate", "a.txt", changed("float sum -1 124.86 8.40", "float sum -1 124.86 9.40"));
  add("cut off in a row", "a.txt", good.substr(0, good.find("268435456") + 30));
  add("cut off before the first row", "a.txt", good.substr(0, good.find("1024 256")));
  add("cut off before the columns", "a.txt", good.substr(0, good.find("#       size")));
  std::string tagged;
  std::istringstream lines(good);
  for (std::string line; std::getline(lines, line);) tagged += "[1,0]<stdout>: " + line + "\n";
  add("tagged", "a.txt", tagged);
  for (const char* title : {"Allreduce", "Allgather", "Reduce_scatter", "Allgatherv", "Bcast",
                            "Non-blocking Allreduce"}) {
    add(std::string("OSU's ") + title, "a.txt", osu_log(title), {2, 3});
  }
  add("OSU's without ranks", "a.txt", osu_log("Allreduce"));
  add("OSU's without nodes", "a.txt", osu_log("Allreduce"), {0, 4});
  add("empty", "a.txt", "");
  expect_golden("collective_logs.txt", text);
}

std::int64_t drawn(std::uint64_t seed, std::uint64_t place, std::int64_t limit) {
  return static_cast<std::int64_t>(random_at(seed, 7, place) % static_cast<std::uint64_t>(limit));
}

class LogFaults : public ::testing::Test {
 protected:
  std::vector<CollectiveSample> samples(const std::string& text) { return samples_of(read(text)); }
  std::string refused(const std::string& text, const std::string& name = "log.txt") {
    return refusal<std::exception>([&] { read(text, name); });
  }
  std::vector<LogRun> read(const std::string& text, const std::string& name = "log.txt") {
    write_content(folder_.file(name), text);
    return read_collective_log(folder_.file(name), {2, 2});
  }

 private:
  TemporaryFolder folder_;
};

// Of two nodes of two ranks, line by line.
std::vector<std::string> nccl_lines(const std::string& program, const std::string& named = "") {
  std::vector<double> sizes;
  for (double size = 1024; size < 2e6; size *= 2) sizes.push_back(size);
  std::string text =
      nccl_log(program + "_perf", {2, 2}, program == "all_reduce" ? 1.5 : 0.75, sizes);
  if (!named.empty()) text.replace(text.find(program), program.size(), named);
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> osu_lines() {
  std::vector<std::string> lines{"# OSU MPI Allreduce Latency Test v7.4",
                                 "# Size       Avg Latency(us)"};
  for (double size = 4; size < 2e6; size *= 2) {
    lines.push_back(fmt::format("{:<10.0f}{:17.2f}", size, 3.0 + size / 2e4));
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines, const std::string& before = "") {
  std::string text;
  for (const std::string& line : lines) text += before + line + "\n";
  return text;
}

TEST_F(LogFaults, NoRowIsLostWithoutAWord) {
  const std::vector<std::string> strays{"",       "0: ",           "x y: ",          "[3] ",
                                        "slow: ", "10:00:01.5 - ", "2026-11-25 n1 ", "WARN 5 x "};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const bool nccl = drawn(seed, 0, 2) == 0;
    std::vector<std::string> lines = nccl ? nccl_lines("all_reduce") : osu_lines();
    const std::string before = drawn(seed, 1, 2) == 0 ? "" : "0: ";
    const std::size_t whole = samples(joined(lines, before)).size();
    // A row behind the first, and not the last, which might be half of one.
    const std::int64_t first = nccl ? 10 : 3;
    const std::int64_t row = first + drawn(seed, 2, 6);
    const std::string& stray = strays[static_cast<std::size_t>(drawn(seed, 3, 8))];
    std::string text;
    for (std::int64_t i = 0; i < std::ssize(lines); ++i) {
      text += (i == row ? stray : before) + lines[static_cast<std::size_t>(i)] + "\n";
    }
    const std::string said = refused(text);
    if (said == "accepted") {
      EXPECT_EQ(samples(text).size(), whole) << text;
    } else {
      EXPECT_THAT(said, HasSubstr(fmt::format(":{}: ", row + 1))) << text;
    }
  }
}

TEST_F(LogFaults, AMatrixThatWasCutOffIsRefused) {
  const std::string text =
      "Running host_to_device_memcpy_ce.\n"
      "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n"
      " 0     55.20     55.40\n\nSUM host_to_device_memcpy_ce 110.60\n\n"
      "Running device_to_device_memcpy_read_ce.\n"
      "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n"
      " 0       N/A    394.10\n 1    396.10       N/A\n\n"
      "SUM device_to_device_memcpy_read_ce 790.20\n";
  ASSERT_DOUBLE_EQ(read(text).at(1).links.at(0).rate.value, 395.1e9);
  const std::size_t begin = text.find("394.10"), end = text.find("SUM device") + 6;
  for (std::size_t at = begin; at < end; ++at) {
    const std::string said = refused(text.substr(0, at));
    if (said == "accepted") {
      EXPECT_EQ(read(text.substr(0, at)).at(1).left_out, "has no results") << text.substr(0, at);
    } else {
      EXPECT_THAT(said, HasSubstr("cut off")) << text.substr(0, at);
    }
  }
  std::string damaged = text;
  damaged.replace(damaged.find("396.10"), 6, "296.10");
  EXPECT_THAT(refused(damaged), HasSubstr("adds up to 690.20"));
}

TEST_F(LogFaults, ALastNumberThatWasCutOffIsSeenInOneRow) {
  const std::string text = "# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(us)\n";
  EXPECT_EQ(refused(text + "1048576    94.75"), "accepted");
  for (const char* last : {"94.7", "94.", "94", "9"}) {
    EXPECT_THAT(refused(text + "1048576    " + last), HasSubstr("cut off")) << last;
  }
}

TEST_F(LogFaults, HaveTheirOwnCause) {
  const std::vector<std::string> reduce = nccl_lines("all_reduce");
  EXPECT_THAT(refused(" \n\n"), HasSubstr("the log is empty"));
  std::vector<std::string> failed(reduce.begin(), reduce.end() - 5);
  failed.emplace_back("n1: Test NCCL failure common.cu:958 'unhandled system error'");
  failed.emplace_back("n2: Test NCCL failure common.cu:958 'remote process exited'");  // as it did
  EXPECT_THAT(refused(joined(failed)),
              AllOf(HasSubstr("the run failed: \"n1: Test NCCL failure"),
                    HasSubstr(fmt::format("log.txt:{}: ", failed.size() - 1))));
  std::string both;
  for (const std::string& line : reduce) both += "0: " + line + "\n1: " + line + "\n";
  EXPECT_THAT(refused(both), HasSubstr("two wrote into one log at once"));
  // A file whose name the columns contradict.
  for (const auto& [named, is] : std::vector<std::pair<std::string, std::string>>{
           {"reduce_scatter", "all_gather"}, {"all_gather", "reduce_scatter"}}) {
    EXPECT_THAT(refused(joined(nccl_lines(is, "some")), named + "_perf.txt"),
                HasSubstr("redop is not that of"));
    EXPECT_EQ(refused(joined(nccl_lines(is, "some")), is + "_perf.txt"), "accepted");
  }
  // One rank alone is no fault of a log with more.
  std::string alone =
      "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 1\n"
      "#  Rank  0 Group  0 Pid 9 on n0 device  0 [0x0] NVIDIA H100\n"
      "# size  count  type  redop  root  time  algbw  busbw #wrong\n"
      "1024 256 float sum -1 10.24 0.10 0.00 0\n# Avg bus bandwidth : 0\n";
  EXPECT_THAT(refused(alone), HasSubstr("has one rank alone"));
  EXPECT_EQ(samples(alone + joined(reduce)).size(), samples(joined(reduce)).size());
}

// Times from 10 s on are printed with one decimal.
TEST_F(LogFaults, AreNoneWhereATimeIsLong) {
  for (double us = 1.0e7; us < 1e9; us *= 1.21) {
    const double size = 1e9 * us, rate = 1e6;  // 1e15 bytes a second
    std::string text = joined(nccl_lines("all_reduce"));
    const std::string row = fmt::format("{:.0f}  9  float  sum  -1  {:.1e}  {:.0f}  {:.0f}  0",
                                        size, us, rate, rate * 1.5);
    text.insert(text.find("# Out of"), row + row.substr(row.find("  -1") + 4) + "\n");
    ASSERT_EQ(refused(text), "accepted") << us;
    EXPECT_NEAR(samples(text).back().time.value, us * 1e-6, us * 1e-9) << us;
  }
}

// Docker keeps each line as an object of its own.
TEST_F(LogFaults, OfAContainerIsReadAsWhatItPrinted) {
  std::string kept;
  for (const std::string& line : nccl_lines("all_reduce")) {
    kept += "{\"log\":\"" + line + "\\n\",\"stream\":\"stdout\",\"time\":\"2026\"}\n";
  }
  EXPECT_EQ(samples(kept).size(), samples(joined(nccl_lines("all_reduce"))).size());
  EXPECT_THAT(refused(kept.substr(0, kept.rfind("# Avg"))), HasSubstr("cut off"));
}

TEST_F(LogFaults, AndWhatIsLeftOutHaveReasonsOfTheirOwn) {
  const auto why = [&](const std::string& title, const std::string& columns) {
    return read("# OSU " + title + " Test v7.4\n# Size  " + columns + "\n4  1.00\n" +
                joined(osu_lines()))
        .front()
        .left_out;
  };
  for (const char* of :
       {"MPI", "MPI Multi-threaded", "MPI Multi", "MPI-CUDA", "MPI Multi-process"}) {
    EXPECT_THAT(why(of + std::string(" Latency"), "Avg Latency(us)"), HasSubstr("messages")) << of;
  }
  for (const char* of : {"MPI_Put", "MPI_Get", "MPI Bi-Directional", "MPI_Put Bi-directional"}) {
    EXPECT_THAT(why(of + std::string(" Bandwidth"), "Bandwidth (MB/s)"), HasSubstr("messages"))
        << of;
  }
  for (const char* of : {"All-to-All Personalized Exchange", "Neighborhood Allgather", "Broadcast",
                         "Allgatherv Persistent"}) {
    EXPECT_THAT(why(fmt::format("MPI {} Latency", of), "Avg Latency(us)"),
                HasSubstr("none of the collectives"))
        << of;
  }
  const std::string validated =
      "# OSU MPI-CUDA Allreduce Latency Test v7.4\n# Size  Avg Latency(us)   Validation\n4  1.00  ";
  EXPECT_EQ(refused(validated + "Pass\n"), "accepted");
  EXPECT_THAT(refused(validated + "Fail\n"), HasSubstr("results were wrong"));
  for (const char* half : {"P", "Pa", "Pas", "F", "Fai"}) {
    EXPECT_THAT(refused(validated + half), HasSubstr("half a word"));
  }
}

std::string json_log(const std::string& program, int groups) {
  std::string devices, results;
  const double part = (program == "all_reduce" ? 2.0 : 1.0) * (groups == 1 ? 0.75 : 0.5);
  for (int rank = 0; rank < 4; ++rank) {
    devices += fmt::format(
        "{}{{\"rank\":{},\"group\":{},\"hostname\":\"n{}\",\"device\":{},\"device_hex\":\"{}\"}}",
        rank == 0 ? "" : ",", rank, rank % groups, rank / 2, rank % 2, rank % 2);
  }
  for (double size = 1024; size < 1e6; size *= 4) {
    const double time = 20.0 + size / 1e3, rate = size / time * 1e-3;
    results += fmt::format(
        "{}{{\"size\":{},\"out_of_place\":{{\"time\":{},\"alg_bw\":{},\"bus_bw\":{},\"nwrong\":0.0}"
        "}"
        "}}",
        results.empty() ? "" : ",", size, time, rate, rate * part);
  }
  return fmt::format(
      "{{\"args\":[\"./{}_perf\",\"a \\\"}}{{ b\"],\"config\":{{\"nthreads\":1,\"ngpus\":1,"
      "\"devices\":[{}]}},\"results\":[{}],\"out_of_bounds\":{{\"count\":0}}}}",
      program, devices, results);
}

TEST_F(LogFaults, JsonIsReadHoweverItWasGathered) {
  const std::string a = json_log("all_reduce", 1), b = json_log("all_gather", 2);
  const std::vector<std::string> gathered{a + b, a + "\n" + b + "\n", "[" + a + ",\n" + b + "]\n",
                                          "\xef\xbb\xbf" + a + "\r\n\r\n" + b,
                                          "srun: job 5 queued\n" + a + "\nsrun: done\n" + b};
  for (const std::string& text : gathered) {
    const auto runs = read(text);
    ASSERT_EQ(runs.size(), 2u) << text;
    EXPECT_EQ(runs[0].samples.size(), 5u);
    const CollectiveSample &first = runs[0].samples.at(0), &second = runs[1].samples.at(0);
    EXPECT_EQ(first.kind, CollectiveKind::all_reduce);
    EXPECT_EQ(first.nodes, 2);
    EXPECT_EQ(first.in_each, 2);
    EXPECT_NEAR(first.time.value, 21.024e-6, 1e-12);
    EXPECT_EQ(second.kind, CollectiveKind::all_gather);
    EXPECT_EQ(second.at_once, 2);
  }
  EXPECT_THAT(refused(a + b.substr(0, 200)), HasSubstr("cut off"));
  // Times that fall are doubted as in text.
  std::string faster = a;
  faster.replace(faster.find("\"size\":4096"), 11, "\"size\":512 ");
  EXPECT_THAT(refused(faster), HasSubstr("damaged"));
}

// What people have in the place of text is named; how lines end makes no difference.
TEST(TextFiles, InAnotherGuiseAreReadOrNamed) {
  const TemporaryFolder folder;
  const std::string text = "# OSU MPI Allreduce\n4   1.50\n\n8   1.75\n";
  const auto said = [&](const std::string& content) {
    write_content(folder.file("a.txt"), content);
    return refusal<std::exception>([&] { read_text_file(folder.file("a.txt"), "the log"); });
  };
  const auto with_ends = [&](const std::string& end) {
    std::string changed;
    for (const char letter : text) changed += letter == '\n' ? end : std::string(1, letter);
    return changed;
  };
  for (const char* mark : {"", "\xef\xbb\xbf"}) {
    for (const char* end : {"\n", "\r\n", "\r"}) {
      ASSERT_EQ(said(mark + with_ends(end)), "accepted");
      EXPECT_EQ(read_text_file(folder.file("a.txt")), text);
    }
  }
  for (const bool little : {true, false}) {
    for (const bool marked : {true, false}) {
      std::string wide = !marked ? "" : little ? "\xff\xfe" : "\xfe\xff";
      for (const char letter : text) {
        wide += little ? std::string{letter, '\0'} : std::string{'\0', letter};
      }
      EXPECT_THAT(said(wide), HasSubstr("it is text in UTF-16; save it as UTF-8"));
    }
  }
  using namespace std::string_literals;
  EXPECT_THAT(said("\x1f\x8b\x08\0\0\0\0\0"s), HasSubstr("packed by gzip"));
  EXPECT_THAT(said("\x28\xb5\x2f\xfd\x24"s), HasSubstr("packed by zstd"));
  EXPECT_THAT(said("PK\x03\x04\x14\0"s), HasSubstr("zip archive"));
  EXPECT_EQ(said(text + "\0\0\0\0"s), "accepted");
}

}  // namespace
}  // namespace fourfold::tests
