// Logs of several runs, as nccl-tests, rccl-tests, OSU's benchmarks and IMB-MPI1 print them, behind
// every prefix that launchers and schedulers put before lines and with other output between: what
// was printed is what is read.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "scaling/calibrate/collective_log.hpp"
#include "schedule/collectives/collective.hpp"
#include "support/random.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_at(seed_, 1, place_++) %
                                     static_cast<std::uint64_t>(limit));
  }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(below(std::ssize(all)))];
  }

 private:
  std::uint64_t seed_, place_ = 0;
};

// What launchers put before a line of the first rank, and schedulers before every line.
using Prefix = std::function<std::string(std::int64_t line)>;
const std::vector<Prefix>& prefixes() {
  const auto seconds = [](std::int64_t line) {
    return fmt::format("{:02}:{:02}:{:02}", 9 + line / 3600, line / 60 % 60, line % 60);
  };
  static const std::vector<Prefix> all{
      [](auto) { return ""; }, [](auto) { return "0: "; }, [](auto) { return " 0: "; },
      [](auto) { return "[0] "; }, [](auto) { return "[1,0]<stdout>: "; },
      [](auto) { return "[prterun-9n04-33@1,0]<stdout>:"; }, [](auto) { return "launcher-0  | "; },
      [](auto) { return "[pod/nccl-launcher-7x2/main] "; },
      [=](auto line) {
        return fmt::format("2026-11-25T{}.{}Z ", seconds(line), 1 + line * 7 % 991);
      },
      [=](auto line) { return fmt::format("[2026-11-25 {},{:03}] ", seconds(line), line % 1000); },
      [=](auto line) {
        return fmt::format("Nov {} {} 12node7 slurmstepd[31{}]: ", 5 + line / 9, seconds(line),
                           line);
      },
      [](auto line) { return fmt::format("{}.{:06} ", 1764100054 + line, line * 37 % 1000000); },
      // A clock that leaves out a fraction of 0, and a name in colour.
      [=](auto line) {
        return fmt::format("2026-11-25T{}{}Z ", seconds(line),
                           line % 3 == 0 ? "" : fmt::format(".{}", line * 7 % 991));
      },
      [](auto) { return "\x1b[36mworker_0-1 | \x1b[0m"; }};
  return all;
}

struct Drawn {
  std::vector<std::string> lines;
  std::vector<CollectiveSample> samples;
};

struct Named {
  CollectiveKind kind;
  const char *nccl, *mpi;
};
const std::vector<Named> collectives{
    {CollectiveKind::all_reduce, "all_reduce", "Allreduce"},
    {CollectiveKind::all_gather, "all_gather", "Allgather"},
    {CollectiveKind::reduce_scatter, "reduce_scatter", "Reduce_scatter"}};

// As getFloatStr of nccl-tests with seven places.
std::string seven_places(double value) {
  return fmt::format("{:7.{}f}", value, value < 9999.0 ? 2 : value < 99999.0 ? 1 : 0);
}

std::string chatter(Draws& draws, std::int64_t i) {
  const std::vector<std::string> all{
      fmt::format("04n12:{}:1234 [0] NCCL INFO Channel 00/24 : 0 1 2 3", 100 + i),
      "",
      "10.0.0.1 is up",
      "12 nodes are ready",
      "3node warning: clock drift 12.5 ms",
      "srun: Step created for StepId=4.0",
      "Rank 0 says hello on node 3"};
  return draws.one_of(all);
}

// What other output puts behind a piece of a row.
const std::vector<std::string> interruptions{
    "4node:77:78 [0] NCCL INFO Connected all rings",
    "n7:77:78 [0] transport/net_ib.cc:123 NCCL WARN a link is down",
    "[2026-11-25 10:00:00] ip-10-0-0-1:77:78 [0] misc/socket.cc:1 NCCL WARN again",
    "[1764100054.123] [node:77:0] ucp_context.c:1 UCX  WARN network devices"};

std::vector<std::pair<double, std::string>> sizes_and_times(Draws& draws, double latency) {
  std::vector<std::pair<double, std::string>> rows;
  for (double size = 1024 << draws.below(4); size < 1e9;
       size *= static_cast<double>(2 << draws.below(3))) {
    rows.emplace_back(size, seven_places(latency + size / 4e4));
  }
  return rows;
}

void nccl_run(Draws& draws, Drawn& into) {
  const Named& named = draws.one_of(collectives);
  const std::int64_t nodes = 1 + draws.below(3), each = 2 << draws.below(2);
  const std::int64_t groups = nodes > 1 && draws.below(3) == 0 ? each : 1;
  const std::int64_t members = nodes * each / groups;
  const bool old = draws.below(3) == 0;  // rccl-tests, without roots and counts of wrong results
  const auto say = [&](const std::string& line) { into.lines.push_back(line); };
  const bool starting = draws.below(2) == 0;
  if (!starting) say(fmt::format("+ srun --mpi=pmix ./build/{}_perf -b 1K -e 1G -f 2", named.nccl));
  if (starting) say(fmt::format("# Collective test starting: {}_perf", named.nccl));
  say("# nThread 1 nGpus 1 minBytes 1024 maxBytes 1073741824 step: 2(factor) warmup iters: 5");
  say("# Using devices");
  const bool cgroups = draws.below(2) == 0;  // each rank sees its device as the first
  for (std::int64_t rank = 0; rank < nodes * each; ++rank) {
    say(fmt::format(
        "#  Rank {:2} {}Pid {:6} on {:>10} device {:2} [0x{:02x}] NVIDIA H100 80GB HBM3", rank,
        old && groups == 1 ? "" : fmt::format("Group {:2} ", rank % groups), 900 + rank,
        fmt::format("{}n0", 10 + rank / each), cgroups ? 0 : rank % each, 16 + rank % each));
  }
  say("#                                out-of-place                       in-place");
  const bool stamped = !old && draws.below(4) == 0;
  const std::string stamp = stamped ? "  2026-11-25 10:00:00" : "";
  say((old ? "#       size         count    type     time   algbw   busbw  error     time   algbw  "
             " "
             "busbw  error"
           : "#       size         count      type   redop    root     time   algbw   busbw #wrong "
             " "
             "   time   algbw   busbw #wrong") +
      std::string(stamped ? "  timestamp" : ""));
  say("#        (B)    (elements)                               (us)  (GB/s)  (GB/s)");
  for (const auto& [size, time] : sizes_and_times(draws, 20.0)) {
    const double us = std::stod(time), rate = size / us * 1e-3;
    const std::string body =
        fmt::format("  {}  {:6.2f}  {:6.2f}  {:>5}", time, rate,
                    rate * part_sent(named.kind, members), old ? "0e+00" : "0");
    const std::string head = fmt::format("{:12.0f}  {:12.0f}  {:>8}", size, size / 4, "float") +
                             (old                                        ? ""
                              : named.kind == CollectiveKind::all_gather ? "    none      -1"
                                                                         : "     sum      -1");
    const std::int64_t pieces = old ? 1 : draws.below(8);
    if (pieces == 0) {
      say(head + draws.one_of(interruptions));
      say("10n0:77:78 [1] NCCL INFO comm 0x5 rank 1 nranks 4");
      say(body + body + stamp);
    } else if (pieces == 2) {
      say(head + draws.one_of(interruptions));
      say(body + draws.one_of(interruptions));
      say(body + stamp);
    } else {
      say(head + body + body + stamp);
    }
    if (draws.below(5) == 0) say(chatter(draws, std::ssize(into.lines)));
    into.samples.push_back({named.kind, nodes, each / groups, {size}, {us * 1e-6}, groups});
  }
  say("# Out of bounds values : 0 OK");
  say("# Avg bus bandwidth    : 61.3");
  say("#");
  if (starting) say(fmt::format("# Collective test concluded: {}_perf", named.nccl));
}

void osu_run(Draws& draws, const LogRanks& given, Drawn& into) {
  const Named& named = draws.one_of(collectives);
  const auto say = [&](const std::string& line) { into.lines.push_back(line); };
  struct Columns {
    const char *title, *names, *row;
  };
  const Columns columns = draws.one_of(std::vector<Columns>{
      {"MPI", "Avg Latency(us)", "{1}"},
      {"NCCL-CUDA", "Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations",
       "{1} 1.00 9.00 100"},
      {"MPI-CUDA", "Avg Latency(us)        Validation", "{1}     Pass"},
      {"MPI Non-blocking",
       "Overall(us)       Compute(us)    Coll. Init(us)      MPI_Test(us)      "
       "MPI_Wait(us)    Pure Comm.(us)        Overlap(%)",
       "9.00 8.00 7.00 6.00 5.00 {1} 3.00"}});
  say("");
  say(fmt::format("# OSU {} {}{} Latency Test v7.4", columns.title, named.mpi,
                  draws.below(4) == 0 ? " Persistent" : ""));
  say("# Datatype: MPI_CHAR.");
  say(fmt::format("# Size       {}", columns.names));
  const double scale = named.kind == CollectiveKind::all_gather
                           ? static_cast<double>(given.nodes * given.in_each)
                           : 1.0;
  for (const auto& [size, time] : sizes_and_times(draws, 3.0)) {
    const std::string us = fmt::format("{:.2f}", std::stod(time));
    say(fmt::format("{:<10.0f}", size) + fmt::format(fmt::runtime(columns.row), "", us));
    if (draws.below(6) == 0) say(chatter(draws, std::ssize(into.lines)));
    into.samples.push_back(
        {named.kind, given.nodes, given.in_each, {size * scale}, {std::stod(us) * 1e-6}});
  }
}

void imb_run(Draws& draws, const LogRanks& given, Drawn& into) {
  const Named& named = draws.one_of(collectives);
  const auto say = [&](const std::string& line) { into.lines.push_back(line); };
  const std::int64_t nodes = 1 + draws.below(given.nodes);
  say("#----------------------------------------------------------------");
  say(fmt::format("# Benchmarking {} ", named.mpi));
  say(fmt::format("# #processes = {} ", nodes * given.in_each));
  say("#----------------------------------------------------------------");
  say("       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]");
  say("            0         1000         0.05         0.06         0.05");
  const double scale =
      named.kind == CollectiveKind::all_gather ? static_cast<double>(nodes * given.in_each) : 1.0;
  for (const auto& [size, time] : sizes_and_times(draws, 3.0)) {
    const std::string us = fmt::format("{:.2f}", std::stod(time));
    say(fmt::format("{:13.0f} {:12} {:>12} {:>12} {:>12}", size, 100, "1.00", "9.00", us));
    into.samples.push_back(
        {named.kind, nodes, given.in_each, {size * scale}, {std::stod(us) * 1e-6}});
  }
}

std::string text_of(const std::vector<std::string>& lines, const Prefix& prefix, const char* end) {
  std::string text;
  std::int64_t number = 0;
  for (const std::string& line : lines) text += prefix(number++) + line + end;
  return text;
}

TEST(DrawnLogs, AreReadAsTheRunsThatWerePrinted) {
  const TemporaryFolder folder;
  const std::string path = folder.file("log.txt");
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed);
    const LogRanks given{2 + draws.below(3), 2 + draws.below(3)};
    Drawn log;
    for (std::int64_t runs = 1 + draws.below(4); runs > 0; --runs) {
      switch (draws.below(3)) {
        case 0:
          nccl_run(draws, log);
          break;
        case 1:
          osu_run(draws, given, log);
          break;
        default:
          imb_run(draws, given, log);
      }
      log.lines.push_back(chatter(draws, runs));
    }
    std::string text =
        text_of(log.lines, draws.one_of(prefixes()), draws.below(2) == 0 ? "\n" : "\r\n");
    if (draws.below(2) == 0) text.insert(0, "\xef\xbb\xbf");
    write_content(path, text);

    std::vector<CollectiveSample> read;
    ASSERT_EQ(refusal<std::exception>([&] { read = samples_of(read_collective_log(path, given)); }),
              "accepted")
        << text;

    ASSERT_EQ(read.size(), log.samples.size()) << text;
    for (std::size_t i = 0; i < read.size(); ++i) {
      const CollectiveSample &one = read[i], &expected = log.samples[i];
      ASSERT_EQ(one.kind, expected.kind) << i << text;
      ASSERT_EQ(one.nodes, expected.nodes) << text;
      ASSERT_EQ(one.in_each, expected.in_each) << text;
      ASSERT_EQ(one.at_once, expected.at_once) << text;
      ASSERT_DOUBLE_EQ(one.buffer.value, expected.buffer.value) << text;
      ASSERT_DOUBLE_EQ(one.time.value, expected.time.value) << text;
    }
  }
}

// Wherever a log of nccl-tests ends before its last line, and wherever the last number of another
// lacks digits, nothing is read.
TEST(DrawnLogs, ThatWereCutOffAreRefused) {
  const TemporaryFolder folder;
  const auto refuses = [&](const std::string& text) {
    write_content(folder.file("log.txt"), text);
    return refusal<std::exception>([&] { read_collective_log(folder.file("log.txt"), {2, 2}); });
  };
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Draws draws(seed);
    Drawn nccl, osu;
    nccl_run(draws, nccl);
    osu_run(draws, {2, 2}, osu);
    std::string text = text_of(nccl.lines, prefixes()[0], "\n");
    const std::size_t end = text.find("# Avg bus");
    const std::size_t begin = text.find("# nThread");
    for (int cut = 0; cut < 10; ++cut) {
      const std::size_t at =
          begin + 60 + static_cast<std::size_t>(draws.below(std::ssize(text))) % (end - begin - 60);
      EXPECT_NE(refuses(text.substr(0, at)), "accepted") << text.substr(0, at);
    }
    while (osu.lines.back().find("  ") == std::string::npos ||
           osu.lines.back().find('.') == std::string::npos) {
      osu.lines.pop_back();
    }
    text = text_of(osu.lines, prefixes()[0], "\n");
    text.resize(text.rfind('.') + 2);
    EXPECT_NE(refuses(text), "accepted") << text;
  }
}

TEST(DrawnLogs, OfLinksAreRead) {
  const TemporaryFolder folder;
  write_content(
      folder.file("log.txt"),
      "nvbandwidth Version: v0.8\nRunning host_to_device_memcpy_ce.\n"
      "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n"
      " 0     55.50     55.60\n\nSUM host_to_device_memcpy_ce 111.10\n\n"
      "# OSU MPI-CUDA Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n1024  900.00\n4194304  "
      "24500.00\n"
      "# OSU MPI Multiple Bandwidth / Message Rate Test v7.3\n# [ pairs: 4 ] [ window size: 64 ]\n"
      "# Size                  MB/s        Messages/s\n4194304  96000.00  22888.18\n"
      "# OSU MPI Bcast Latency Test v7.3\n# Size  Avg Latency(us)\n4  1.00\n"
      "# OSU MPI Bi-Directional Bandwidth Test v7.3\n# Size  Bandwidth (MB/s)\n4  1.00\n");
  const std::vector<LogRun> links = read_collective_log(folder.file("log.txt"), {});
  ASSERT_EQ(links.size(), 5u);
  EXPECT_THAT(links[4].left_out, HasSubstr("messages"));
  EXPECT_NEAR(links[0].links.at(0).rate.value, 55.55e9, 0.06e9);
  EXPECT_DOUBLE_EQ(links[1].links.at(0).rate.value, 24.5e9);
  EXPECT_EQ(links[2].links.at(0).pairs, 4);
  EXPECT_THAT(links[3].left_out, HasSubstr("none of the collectives"));
}

TEST(DrawnLogs, OfLinksInJsonAreRead) {
  const TemporaryFolder folder;
  const std::string path = folder.file("log.json");
  write_content(path, R"({"nvbandwidth": {"testcases": [
    {"name": "host_to_device_memcpy_ce", "bandwidth_matrix": [["50.0", "54.0", "N/A"], [59.0]]},
    {"name": "device_to_device_memcpy_read_ce", "bandwidth_matrix": [["N/A", "400"], ["0", 420]]},
    {"name": "device_local_copy", "bandwidth_matrix": [["1500.0"]]},
    {"name": "host_to_device_memcpy_sm", "status": "Waived"}]}})");
  const std::vector<LogRun> runs = read_collective_log(path, {});
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_EQ(runs[0].title, "nvbandwidth host_to_device_memcpy_ce");
  EXPECT_EQ(runs[0].links.at(0).what, "host to device");
  EXPECT_DOUBLE_EQ(runs[0].links[0].rate.value, 54e9);
  EXPECT_EQ(runs[1].links.at(0).what, "device to device");
  EXPECT_DOUBLE_EQ(runs[1].links[0].rate.value, 410e9);
  EXPECT_EQ(runs[2].left_out, "measures no link as a training step uses it");
  EXPECT_EQ(runs[3].left_out, "has no results");
  EXPECT_TRUE(runs[2].links.empty() && runs[3].links.empty());
  for (const auto& [text, why] :
       {std::pair{R"({"other": {}})", "is neither of nccl-tests nor of nvbandwidth"},
        {R"({"nvbandwidth": {}})", "lacks what nccl-tests and nvbandwidth write"}}) {
    write_content(path, text);
    EXPECT_EQ(refusal<std::exception>([&] { read_collective_log(path, {}); }),
              path + ": this JSON " + why);
  }
}

TEST(DrawnLogs, WhoTookPartIsChecked) {
  const TemporaryFolder folder;
  Draws draws(0);
  Drawn log;
  while (log.samples.empty() || log.samples[0].nodes != 2 || log.samples[0].at_once > 1) {
    log = {};
    nccl_run(draws, log);
  }
  const std::string good = text_of(log.lines, prefixes()[0], "\n");
  const auto said = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    write_content(folder.file("log.txt"), text);
    return refusal<std::exception>([&] { read_collective_log(folder.file("log.txt"), {}); });
  };
  EXPECT_EQ(said("Rank  0", "Rank  0"), "accepted");
  EXPECT_THAT(said("Rank  1", "Rank  0"), HasSubstr("rank 0 stands here and in line"));
  EXPECT_THAT(said("#  Rank  1", "#  Bank  1"), HasSubstr("rank 1 is missing"));
  EXPECT_THAT(said("11n0", "10n0"), HasSubstr("two hosts have one name"));
}

}  // namespace
}  // namespace fourfold::tests
