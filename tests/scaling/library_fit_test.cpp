// Constants of a library from samples: those that made the samples are found again, the text that
// is written reads back as the same library, in any file in the place of the old, and says what is
// assumed.
#include "scaling/calibrate/library_fit.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <sstream>

#include "scaling/calibrate/collective_errors.hpp"
#include "scaling/calibrate/plateaus.hpp"
#include "scaling/calibrate/toml_edit.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/golden.hpp"
#include "tests/paths.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double micro = 1e-6;

// What a library of known constants would have measured.
std::vector<CollectiveSample> samples_of(const CollectiveLibrary& library) {
  std::vector<CollectiveSample> samples;
  for (CollectiveKind kind :
       {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
    for (std::int64_t nodes : {1, 2, 4}) {
      for (std::int64_t in_each : {2, 4}) {
        for (double bytes = 1024.0; bytes <= 4e9; bytes *= 8.0) {
          CollectiveSample sample{kind, nodes, in_each, {bytes}, {}};
          sample.time = modelled(library, sample);
          samples.push_back(sample);
        }
      }
    }
  }
  return samples;
}

std::vector<double> numbers_of(const CollectiveLibrary& library) {
  std::vector<double> numbers{library.base_across.value, library.base_in_node.value,
                              library.overlap_exponent};
  for (const Protocol& one : {library.low_latency, library.simple}) {
    numbers.insert(numbers.end(), {one.hop_across.value, one.hop_in_node.value,
                                   one.bandwidth_fraction_across, one.bandwidth_fraction_in_node,
                                   one.tree_hop_factor, one.tree_bandwidth_fraction,
                                   one.ring_base_factor, one.bandwidth_exponent_across});
  }
  return numbers;
}

TEST(LibraryFit, BeginsWithTheLibraryOfPerlmutter) {
  const std::vector<double> begins = numbers_of(nccl_on_perlmutter().library),
                            has = numbers_of(read_platform("perlmutter").library);

  for (std::size_t i = 0; i < has.size(); ++i) EXPECT_NEAR(begins[i], has[i], 1e-12) << i;
}

// Runs of groups of another kind, beside them in the same files, change no plateau.
TEST(LibraryFit, HasPlateausOfEachKindOfGroupsByItself) {
  int reached = 0, rising = 0;
  for (std::int64_t number = 0; number < 200; ++number) {
    const Draw draw(number, 0);
    std::vector<CollectiveSample> samples;
    for (std::int64_t i = 0; i < 12; ++i) {
      const std::string own = std::to_string(i);
      const std::int64_t nodes = draw.of<std::int64_t>("nodes " + own, {1, 2});
      const double bytes = std::ldexp(1024.0, static_cast<int>(draw.below("bytes " + own, 20)));
      const double rate = 1e9 * static_cast<double>(1 + draw.below("rate " + own, 4));
      const std::int64_t at_once = nodes == 1 ? 1 : draw.of<std::int64_t>("groups " + own, {1, 4});
      samples.push_back(
          {CollectiveKind::all_reduce, nodes, 2, {bytes}, {20.0 * micro + bytes / rate}, at_once});
    }
    for (const GroupKind& kind : group_kinds()) {
      std::vector<CollectiveSample> own;
      for (const CollectiveSample& one : samples) {
        if (kind.holds(one)) own.push_back(one);
      }
      const std::vector<MeasuredPlateau> all = plateaus(samples, kind), alone = plateaus(own, kind);
      ASSERT_EQ(all.size(), alone.size());
      for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].row.bus_bandwidth, alone[i].row.bus_bandwidth) << number;
        EXPECT_EQ(all[i].reached, alone[i].reached) << number << ' ' << kind.table;
        ++(alone[i].reached ? reached : rising);
      }
    }
  }
  EXPECT_GT(reached, 50);
  EXPECT_GT(rising, 50);
}

CollectiveLibrary known_library() {
  CollectiveLibrary library = read_platform("perlmutter").library;
  library.sharing_a_node = 0;
  library.base_in_node = {12.0 * micro};
  library.low_latency.hop_across = {9.0 * micro};
  library.simple.hop_across = {40.0 * micro};
  library.simple.hop_in_node = {6.0 * micro};
  return library;
}

TEST(LibraryFit, FindsTheConstantsThatMadeTheSamples) {
  const LibraryFit fit = fit_library(samples_of(known_library()));

  EXPECT_LT(fit.mean_error, 0.03);
  EXPECT_NEAR(fit.library.low_latency.hop_across.value, 9.0 * micro, 1.0 * micro);
  EXPECT_NEAR(fit.library.base_in_node.value, 12.0 * micro, 1.5 * micro);
}

TEST(LibraryFit, LeavesAloneWhatTheSamplesDoNotSpeakOf) {
  std::vector<CollectiveSample> in_node = samples_of(known_library());
  std::erase_if(in_node, [](const CollectiveSample& one) { return one.nodes > 1; });

  const LibraryFit fit = fit_library(in_node);

  EXPECT_THAT(fit.chosen, Contains("base_in_node_us"));
  EXPECT_THAT(fit.chosen, Not(Contains("base_across_us")));
  EXPECT_DOUBLE_EQ(fit.library.simple.hop_across.value, 26.7 * micro);
  EXPECT_THROW(fit_library({}), std::invalid_argument);
}

TEST(LibraryFit, LeavesTheBaseMachineWhereTheSamplesAreOfWholeNodesOnly) {
  std::vector<CollectiveSample> whole = samples_of(known_library());
  std::erase_if(whole,
                [](const CollectiveSample& one) { return one.nodes == 1 || one.in_each < 4; });
  const Platform machine = read_platform("frontier");

  const LibraryFit fit = fit_library(whole, {machine.library, "as frontier has it"});

  EXPECT_THAT(fit.chosen, Contains("across.4"));
  EXPECT_THAT(fit.chosen, Not(Contains("in_node.4")));
  ASSERT_EQ(fit.library.in_node.size(), machine.library.in_node.size());
  for (std::size_t row = 0; row < fit.library.in_node.size(); ++row) {
    EXPECT_EQ(fit.library.in_node[row].bus_bandwidth, machine.library.in_node[row].bus_bandwidth);
  }
  EXPECT_EQ(fit.library.across.back().bus_bandwidth, machine.library.across.back().bus_bandwidth);
  EXPECT_EQ(fit.library.base_in_node, machine.library.base_in_node);
  EXPECT_EQ(fit.library.interference, machine.library.interference);
  EXPECT_THROW(fit_library(whole), std::invalid_argument);
  EXPECT_THAT(library_toml(fit, "RCCL", "test"), HasSubstr("\"as frontier has it: nothing"));
}

TEST(LibraryFit, IsWrittenAsTablesThatAPlatformReads) {
  const LibraryFit fit = fit_library(samples_of(known_library()));
  const TemporaryFolder folder;
  write_content(folder.file("fit.toml"),
                with_library(content_of(source_path("platforms/machines/perlmutter.toml")),
                             library_toml(fit, "NCCL", "test")));

  const CollectiveLibrary library = read_platform(folder.file("fit.toml")).library;

  EXPECT_NEAR(library.simple.hop_across / fit.library.simple.hop_across, 1.0, 1e-3);
  ASSERT_EQ(library.across.size(), 2u);
  EXPECT_NEAR(library.across[1].bus_bandwidth.value, fit.library.across[1].bus_bandwidth.value,
              1e7);
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

// Whatever times are drawn, each constant can stand in a platform file.
TEST(LibraryFits, StayWithinWhatAFileHolds) {
  const std::regex number("value = ([-+.0-9e]+)");
  for (std::int64_t set = 0; set < 12; ++set) {
    const Draw draw(set, 0);
    std::vector<CollectiveSample> samples;
    for (const CollectiveKind kind :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
      for (const std::int64_t nodes : {1, 2}) {
        for (double bytes = 64; bytes < 1e8; bytes *= 16) {
          const std::int64_t more = draw.below(fmt::format("{} on {}", bytes, nodes), 5);
          const double us = 1.0 + static_cast<double>(more) + bytes / 2e4;
          samples.push_back({kind, nodes, 4, {bytes}, {us * 1e-6}});
        }
      }
    }
    const std::string text = library_toml(fit_library(samples), "NCCL", "a log");
    std::size_t found = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; ++at, ++found) {
      const double value = std::stod((*at)[1]);
      EXPECT_TRUE(value == 0.0 || (value >= 1e-6 && value <= 1e6)) << text;
    }
    EXPECT_GT(found, 10u);
  }
}

// Groups at once of fewer than a node has are completed by the row of a whole node.
TEST(LibraryFits, OfGroupsAtOnceEndWithAWholeNode) {
  for (const std::int64_t in_each : {1, 2, 4}) {
    std::vector<CollectiveSample> samples;
    for (double bytes = 1e4; bytes < 1e9; bytes *= 10) {
      const Seconds time{2e-5 + bytes / 1e10};
      samples.push_back({CollectiveKind::all_gather, 1, 8, {bytes}, {1e-5 + bytes / 1e11}});
      samples.push_back({CollectiveKind::all_gather, 2, 8, {bytes}, time});
      samples.push_back({CollectiveKind::all_gather, 2, in_each, {bytes}, time, 8 / in_each});
    }
    const LibraryFit fit = fit_library(samples);
    ASSERT_EQ(fit.library.across_at_once.size(), 2u);
    EXPECT_EQ(fit.library.across_at_once.back().devices, 8);
    EXPECT_EQ(fit.library.across_at_once.back().bus_bandwidth.value,
              fit.library.across.back().bus_bandwidth.value);
    EXPECT_THAT(library_toml(fit, "NCCL", "a log"), HasSubstr("has it to itself"));
  }
}

// 4 KiB are no plateau, and what nothing else says is marked.
TEST(LibraryFits, APlateauNeedsAPlateau) {
  const auto fit_of = [](double most) {
    std::vector<CollectiveSample> samples;
    for (double bytes = 1024; bytes <= most; bytes *= 2) {
      samples.push_back({CollectiveKind::all_reduce, 1, 8, {bytes}, {20e-6 + bytes / 200e9}});
    }
    return fit_library(samples);
  };
  const LibraryFit small = fit_of(4096), large = fit_of(1 << 30);
  EXPECT_EQ(small.rising.size(), 1u);
  EXPECT_THAT(library_toml(small, "NCCL", "a log"), HasSubstr("no plateau yet"));
  EXPECT_TRUE(large.rising.empty());
}

// Rows go before constants, so those of groups that were measured anew go, and no others.
TEST(LibraryFit, KeepsWhatTheMachineMeasuredOfOtherGroups) {
  const Platform frontier = read_platform("frontier");
  const std::string text = content_of(frontier.path);
  const TemporaryFolder folder;
  const auto rows = [](const CollectiveLibrary& library, const auto& counts) {
    std::size_t sum = 0;
    for (const auto& table : library.measured) sum += counts(table) ? table.rows.size() : 0;
    return sum;
  };
  for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather}) {
    for (const auto& [nodes, in_each] : {std::pair{1, 8}, {4, 1}, {4, 8}}) {
      SCOPED_TRACE(fmt::format("{} on {} x {}", name(kind), nodes, in_each));
      const std::vector<CollectiveSample> samples{{kind, nodes, in_each, {1e9}, {0.1}}};
      const LibraryFit fit = fit_library(samples, {frontier.library, "Frontier's"});
      write_content(folder.file("anew.toml"), with_library(text, library_toml(fit, "RCCL", "a log"),
                                                           kept_measurements(text, samples)));
      const CollectiveLibrary anew = read_platform(folder.file("anew.toml")).library;
      EXPECT_EQ(rows(anew, [](const auto&) { return true; }),
                rows(frontier.library, [&, nodes = nodes, in_each = in_each](const auto& table) {
                  return table.kind != kind || nodes == 1 || table.devices != in_each;
                }));
      EXPECT_EQ(anew.cliff.has_value(), nodes == 1 || kind == CollectiveKind::all_reduce);
    }
  }
}

TEST(Libraries, StandInAnyFileInThePlaceOfTheOld) {
  const std::string anew = "[library]\nname = \"new\"\n[library.simple]\nx = 3\n";
  const char* const files[]{
      "a = 1\n[library]\nname = 'old'\n[library.simple]\nx = 1\n[library.across_at_once]\nk = "
      "[\n[1], # [x]\n]\n[z]\nb = 2\n",
      "a = 1\n  [ \"library\" ]\nname = '''\n[z]\n'''\n\t[library . 'simple']\nx = "
      "1\n[library.across_at_once]\nk = [[1]]\n[z]\nb = 2\n",
      "library.name = \"old ] # \\\" \"\nlibrary.across_at_once.k = [[1]]\na = 1\n[z]\nb = 2",
      "library = { name = 'old', simple = { x = 1 }, across_at_once = { k = [[1]] } }\na = "
      "1\n[z]\nb = 2\n",
      "a = 1\nz.b = 2\n[[library.simple.entries]]\nx = 1\n[[library.simple.entries]]\nx = "
      "2\n[library.across_at_once]\nk = [[1]]\n",
      "a = 1\n[z]\nb = 2\n[library]\nacross_at_once = { k = [[1]] }\nname = "
      "\"\"\"\n\"[library]\"\"\"\"\n"};
  for (const std::string file : files) {
    SCOPED_TRACE(file);
    const std::string text = with_library(file, anew);
    EXPECT_EQ(text.find("old"), std::string::npos) << text;
    std::vector<std::string> paths;
    for (const TomlStatement& one : toml_statements(text)) {
      if (one.is_header()) continue;
      std::string path;
      for (const std::string& part : one.path) path += (path.empty() ? "" : ".") + part;
      paths.push_back(path);
    }
    EXPECT_THAT(paths,
                ::testing::UnorderedElementsAre("a", "z.b", "library.name", "library.simple.x",
                                                "library.across_at_once.k"))
        << text;
    EXPECT_EQ(with_library(text, anew), with_library(with_library(text, anew), anew));
  }
  EXPECT_EQ(with_library("[libraryish]\na = 1\n", "[library]\nb = 2\n"),
            "[libraryish]\na = 1\n\n[library]\nb = 2\n");
}

}  // namespace
}  // namespace fourfold::tests
