// Ranks that read other words under the same names are told of, by number; files read twice, too.
#include "engine/train/run/same_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/train/data/repeated_files.hpp"
#include "support/random.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const Model bytes{"bytes", 1, 8, 2, 8, 256};

// Each rank has a file of its own, as if on a node of its own.
Data own_data(const SharedFolder& folder, const std::vector<std::string>& by_rank) {
  std::vector<std::string> paths;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    const std::string name = std::to_string(rank) + ".txt";
    paths.push_back(folder.write(name, by_rank[rank]));
  }
  DataOptions options;
  options.files = {paths[static_cast<std::size_t>(world_rank())]};
  return Data(options, bytes);
}

TEST(SameData, AreAskedOfAllRanks) {
  const SharedFolder folder;
  const World world;
  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<std::string> texts(ranks, std::string(400, 'x'));

  EXPECT_EQ(refusal([&] { digest_of_all(own_data(folder, texts), world); }), "");
  if (ranks == 1) return;
  texts.back()[300] = 'y';
  EXPECT_THAT(
      refusal([&] { digest_of_all(own_data(folder, texts), world); }),
      AllOf(HasSubstr("the data of rank " + std::to_string(ranks - 1) + " are not those of rank 0"),
            HasSubstr("as long, but other words")));
  texts.back() += "a word more";
  EXPECT_THAT(refusal([&] { digest_of_all(own_data(folder, texts), world); }),
              HasSubstr("369 words to train on and 42 to validate on, instead of 360 and 40"));
  texts.assign(ranks, std::string(500, 'x'));
  texts.front() = std::string(400, 'x');
  if (ranks > 2) {
    EXPECT_THAT(refusal([&] { digest_of_all(own_data(folder, texts), world); }),
                HasSubstr("the data of ranks 1, 2"));
  }
}

TEST(SameData, AreAskedOfRanksThatShareSequencesInEveryStep) {
  const ProcessGrid grid(2, 1, 2, 2);  // ranks 0 and 1, 2 and 3, ... have the same words
  std::vector<double> told{1, 1, 2, 2, 3, 3, 4, 4};

  EXPECT_EQ(refusal([&] { expect_same_words(told, grid); }), "");
  told[5] = 7;
  EXPECT_THAT(refusal([&] { expect_same_words(told, grid); }),
              HasSubstr("rank 5 read other words than rank 4"));
  const LocalBatch one{1, {1, 2}, {2, 3}}, other{1, {1, 2}, {2, 4}};
  EXPECT_EQ(fingerprint(one), fingerprint(one));
  EXPECT_NE(fingerprint(one), fingerprint(other));
}

TEST(RepeatedFiles, AreNamedByWhatTheyAreAndHold) {
  const SharedFolder folder;
  const std::string one = folder.write("one.txt", std::string(100, 'a'));
  const std::string same = folder.write("same.txt", std::string(100, 'a'));
  const std::string other = folder.write("other.txt", std::string(100, 'b'));
  const std::string longer = folder.write("longer.txt", std::string(101, 'a'));
  if (world_rank() == 0) std::filesystem::create_symlink(one, folder.file("link.txt"));
  MPI_Barrier(MPI_COMM_WORLD);
  const auto said = [](const std::vector<std::string>& training,
                       const std::vector<std::string>& validation) {
    DataOptions options;
    options.files = training;
    options.validation_files = validation;
    return repeated_files(Data(options, bytes));
  };

  EXPECT_THAT(said({one, other, longer}, {}), ElementsAre());
  EXPECT_THAT(said({other}, {longer}), ElementsAre());
  EXPECT_THAT(said({one, other, one}, {}), ElementsAre(one + " is trained on twice"));
  EXPECT_THAT(said({one, folder.file("link.txt")}, {}),
              ElementsAre(folder.file("link.txt") + " is trained on twice: it is " + one));
  EXPECT_THAT(said({one, same}, {other}),
              ElementsAre(same + " is trained on twice: it holds what " + one + " holds"));
  EXPECT_THAT(said({other, one}, {same}),
              ElementsAre(same + " is validated on, and trained on as well: it holds what " + one +
                          " holds"));
  EXPECT_THAT(said({one}, {one}), ElementsAre(one + " is validated on, and trained on as well"));
  EXPECT_THAT(said({one}, {other, other}), ElementsAre(other + " is validated on twice"));
  EXPECT_THAT(
      said({other, longer}, {one}),
      ElementsAre(one + " is validated on, and trained on as well: it is a part of " + longer));
  EXPECT_THAT(
      said({one, other}, {longer}),
      ElementsAre(longer + " is validated on, and trained on, in part: it holds all of " + one));
}

// Wherever the part begins and ends, also where the whole is read in pieces; and with a word that
// differs it is none.
TEST(RepeatedFiles, FindPartsWhereverTheyStand) {
  const SharedFolder folder;
  constexpr std::size_t words = 2'500'000, read_at_once = 1 << 20;
  std::string text(words, ' ');
  for (std::size_t i = 0; i < words; ++i) {
    text[i] = static_cast<char>('a' + random_at(7, 0, i) % 20);
  }
  DataOptions options;
  options.files = {folder.write("whole.txt", text)};
  for (const std::size_t begin : {std::size_t{0}, read_at_once - 10, words - 3000}) {
    for (const bool changed : {false, true}) {
      std::string part = text.substr(begin, 3000);
      if (changed) part.back() = '!';
      options.validation_files = {folder.write("part.txt", part)};
      EXPECT_EQ(repeated_files(Data(options, bytes)).size(), changed ? 0U : 1U) << begin;
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
