// Constants of a library from samples: those that made the samples are found again, and the text
// that is written reads back as the same library.
#include "scaling/calibrate/library_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "scaling/calibrate/collective_errors.hpp"
#include "scaling/calibrate/plateaus.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/paths.hpp"

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

// A MiB is the first size of the class that begins there.
TEST(CollectiveErrors, OfAClassOfSizesBeginWhereItSays) {
  constexpr double mebi = 1024.0 * 1024.0;
  std::vector<CollectiveSample> samples;
  for (double bytes : {mebi - 1.0, mebi, 64.0 * mebi - 1.0, 64.0 * mebi}) {
    samples.push_back({CollectiveKind::all_gather, 1, 4, {bytes}, {1e-3}});
  }

  const std::vector<CollectiveErrors> errors =
      collective_errors(read_platform("perlmutter").library, samples);

  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors[0].rows, 1);
  EXPECT_EQ(errors[1].rows, 2);
  EXPECT_EQ(errors[2].rows, 1);
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
  std::ifstream file(source_path("platforms/machines/perlmutter.toml"));
  std::ostringstream text;
  text << file.rdbuf();
  const auto path = std::filesystem::temp_directory_path() /
                    ("fourfold-fit-" + std::to_string(::getpid()) + ".toml");

  std::ofstream(path) << with_library(text.str(), library_toml(fit, "NCCL", "test"));
  const Platform platform = read_platform(path.string());
  std::filesystem::remove(path);

  EXPECT_NEAR(platform.library.simple.hop_across.value, fit.library.simple.hop_across.value,
              1e-3 * fit.library.simple.hop_across.value);
  ASSERT_EQ(platform.library.across.size(), 2u);
  EXPECT_NEAR(platform.library.across[1].bus_bandwidth.value,
              fit.library.across[1].bus_bandwidth.value, 1e7);
}

}  // namespace
}  // namespace fourfold::tests
