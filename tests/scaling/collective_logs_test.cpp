// Logs of collectives of every kind and damage, and the constants of libraries that fit them: what
// is read and written, in golden texts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "scaling/calibrate/collective_log.hpp"
#include "scaling/calibrate/library_fit.hpp"
#include "schedule/collectives/collective.hpp"
#include "tests/golden.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

// As nccl-tests print, of so many ranks on each of these nodes.
std::string nccl_log(const std::string& program, const std::vector<int>& ranks, double part) {
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
  for (const double size : {0.0, 1024.0, 1048576.0, 268435456.0}) {
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

std::string samples_of(const std::string& name, const std::string& log, const LogRanks& ranks) {
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
    text += words + "\n" + samples_of(name, log, ranks);
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

// Times that a library of ours would take, so that a fit has something to find.
std::vector<CollectiveSample> drawn_samples(const std::vector<std::pair<int, int>>& groups,
                                            const std::vector<CollectiveKind>& kinds) {
  std::vector<CollectiveSample> samples;
  for (const auto& [nodes, in_each] : groups) {
    for (const CollectiveKind kind : kinds) {
      for (const double bytes : {1e4, 1e6, 1e8}) {
        const double part = part_sent(kind, nodes * in_each);
        const double rate = (nodes > 1 ? 20e9 : 100e9) * in_each;
        const double hops = 2e-5 + 5e-6 * nodes + 1e-6 * in_each;
        samples.push_back({kind, nodes, in_each, {bytes}, {hops + bytes * part / rate}});
      }
    }
  }
  return samples;
}

// One table is recorded, and what is refused; in all, what a log says stands without a mark, all
// else is the base's and marked, and the fit finds what the samples were drawn with.
TEST(LibraryFits, SayWhatALogSaysAndWhatTheyAssume) {
  using enum CollectiveKind;
  std::string text;
  const auto add = [&](const std::string& words, const std::vector<CollectiveSample>& samples,
                       const LibraryBase& base) {
    SCOPED_TRACE(words);
    std::string table;
    const std::string said = refusal<std::invalid_argument>([&] {
      const LibraryFit fit = fit_library(samples, base);
      table = library_toml(fit, "a library", "a log");
      EXPECT_LT(fit.mean_error, 0.12);
    });
    if (said != "accepted" || text.empty()) text += "==== " + words + "\n" + table + said + "\n";
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      if (line.find("value = ") == std::string::npos) continue;
      const bool measured = line.find("source = \"a log\"") != std::string::npos;
      const bool defined = line.find("source = \"definition") != std::string::npos;
      EXPECT_EQ(line.find("unconfirmed = true") == std::string::npos, measured || defined) << line;
    }
  };
  const LibraryBase nothing = nccl_on_perlmutter();
  LibraryBase known = nothing;
  known.whose = "somebody's";
  known.library.across = {{1, {7e9}}, {4, {25e9}}};
  known.library.in_node = {{2, {50e9}}, {4, {90e9}}};
  known.library.interference = 0.125;
  known.library.base_in_node = {1e-6};
  known.library.simple.tree_hop_factor = 3.25;
  add("in a node", drawn_samples({{1, 2}, {1, 4}}, {all_reduce, all_gather}), nothing);
  add("across, whole nodes, no rate inside", drawn_samples({{2, 4}}, {all_reduce}), nothing);
  add("across, one rank a node", drawn_samples({{2, 1}, {4, 1}}, {all_gather}), nothing);
  add("across and inside", drawn_samples({{1, 4}, {2, 4}, {2, 2}}, {all_reduce, reduce_scatter}),
      nothing);
  add("across, over a base", drawn_samples({{2, 4}, {4, 4}}, {all_gather}), known);
  add("inside, over a base", drawn_samples({{1, 4}}, {all_reduce}), known);
  add("nothing", {}, known);
  expect_golden("library_fits.txt", text);
}

TEST(LibraryFits, TakeTheMedianOfTheLargestBuffersOfEachWidth) {
  using enum CollectiveKind;
  std::vector<CollectiveSample> samples;
  const auto add = [&](int nodes, int in_each, double bytes, double rate) {
    const double part = part_sent(all_gather, nodes * in_each);
    samples.push_back({all_gather, nodes, in_each, {bytes}, {bytes * part / rate}});
  };
  add(1, 2, 1e8, 30e9);
  add(1, 2, 1e6, 99e9);  // of fewer bytes
  add(1, 4, 1e7, 60e9);  // the largest of its width
  add(1, 4, 1e7, 80e9);
  add(1, 4, 1e7, 70e9);
  add(2, 4, 1e8, 10e9);
  add(4, 4, 1e8, 20e9);
  const LibraryFit fit = fit_library(samples);
  ASSERT_EQ(fit.library.in_node.size(), 2u);
  EXPECT_EQ(fit.library.in_node[0].devices, 2);
  EXPECT_NEAR(fit.library.in_node[0].bus_bandwidth.value, 30e9, 1.0);
  EXPECT_EQ(fit.library.in_node[1].devices, 4);
  EXPECT_NEAR(fit.library.in_node[1].bus_bandwidth.value, 70e9, 1.0);
  ASSERT_EQ(fit.library.across.size(), 1u);
  EXPECT_NEAR(fit.library.across[0].bus_bandwidth.value, 15e9, 1.0);
}

TEST(LibraryFits, StandInThePlaceOfTheTablesThatWereThere) {
  const std::string platform =
      "title = \"t\"\n[library]\nname = \"old\"\n[library.simple]\nx = 1\n"
      "[library.across_at_once]\nkept = 1\n[library.across]\nold = 2\n"
      "[library.in_node_by_stride]\nkept = 2\n[network]\nkind = \"torus\"\n";
  EXPECT_EQ(with_library(platform, "[library]\nnew = 1\n"),
            "title = \"t\"\n[library]\nnew = 1\n\n[library.across_at_once]\nkept = 1\n"
            "[library.in_node_by_stride]\nkept = 2\n[network]\nkind = \"torus\"\n");
  EXPECT_EQ(with_library("title = \"t\"\n", "[library]\nnew = 1\n"),
            "title = \"t\"\n\n[library]\nnew = 1\n");
  EXPECT_EQ(with_library("[libraryish]\na = 1\n", "[library]\nb = 2\n"),
            "[libraryish]\na = 1\n\n[library]\nb = 2\n");
}

}  // namespace
}  // namespace fourfold::tests
