// A memorisation study's buckets, what is read in which order, and what is made of its records.
#include "scaling/study/memorisation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "scaling/study/memorisation_record.hpp"
#include "scaling/words/toml_file.hpp"
#include "tests/paths.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

MemorisationStudy small_study() {
  MemorisationStudy study;
  study.title = "Small";
  study.text_folder = "somewhere";
  study.document_tokens = 12;
  study.ending_tokens = 4;
  study.documents = 3;
  study.repetitions = {0, 1, 5};
  study.seeds = {1, 2};
  study.goldfish_k = 2;
  study.goldfish_h = 3;
  study.continued = {4, 2, 1e-3, 0.1};
  study.injected = 2;
  study.models = {{"small", 1, 8, 2}, {"large", 2, 16, 2}};
  return study;
}

// Documents of 12 bytes whose last four differ.
std::string text_of(std::int64_t documents) {
  std::string text;
  for (std::int64_t i = 0; i < documents; ++i) {
    text += "text at " + std::to_string(1000 + i);
  }
  return text;
}

TEST(Memorisation, BucketsAreDisjointAndNobodyElseReadsThem) {
  const MemorisationStudy study = small_study();
  const Corpus corpus = make_corpus(study, text_of(200));

  std::set<std::string> all(corpus.background.begin(), corpus.background.end());
  all.insert(corpus.held_out.begin(), corpus.held_out.end());
  std::size_t documents = corpus.background.size() + corpus.held_out.size();
  ASSERT_EQ(corpus.buckets.size(), 2U);
  for (const auto& buckets : corpus.buckets) {
    ASSERT_EQ(buckets.size(), 3U);
    for (const auto& bucket : buckets) {
      EXPECT_EQ(bucket.size(), 3U);
      documents += bucket.size();
      all.insert(bucket.begin(), bucket.end());
    }
  }
  EXPECT_EQ(documents, 200U);
  EXPECT_EQ(all.size(), 200U);
}

// Every other document ends as one other does, which comes before or behind it.
TEST(Memorisation, ADocumentWhoseEndStandsElsewhereIsInNoBucket) {
  std::string text;
  for (std::int64_t i = 0; i < 200; ++i) {
    text += "text at " + std::to_string(i % 2 == 0 ? 1000 + i : 9000 + i / 2 % 50);
  }
  for (const auto& buckets : make_corpus(small_study(), text).buckets) {
    for (const auto& bucket : buckets) {
      for (const std::string& document : bucket) EXPECT_THAT(document, HasSubstr("at 1"));
    }
  }
}

// Fortunes lie beside their indices, which are no text, and beside links to them.
TEST(Memorisation, TextIsThatOfPlainFilesInTheOrderOfTheirNames) {
  const TemporaryFolder folder;
  const auto refused = [&] {
    return refusal<std::runtime_error>([&] { text_of_folder(folder.file("")); });
  };
  EXPECT_NE(refused().find("holds no text"), std::string::npos) << refused();
  for (const char* name : {"nowhere", "file"}) {
    write_content(folder.file("file"), "a text of its own\n");
    const std::string said =
        refusal<std::runtime_error>([&] { text_of_folder(folder.file(name)); });
    EXPECT_THAT(said, HasSubstr("must be a folder of text files")) << name;
  }
  std::filesystem::remove(folder.file("file"));
  std::filesystem::create_directory(folder.file("more"));
  write_content(folder.file("wisdom"), "b\n");
  write_content(folder.file("wisdom.dat"), "index");
  std::filesystem::create_symlink(folder.file("wisdom"), folder.file("again"));
  write_content(folder.file("art"), "a\n");

  EXPECT_EQ(text_of_folder(folder.file("")), "a\nb\n");
}

TEST(Memorisation, TooLittleTextIsRefused) {
  EXPECT_THAT(refusal<std::runtime_error>([] { make_corpus(small_study(), text_of(10)); }),
              HasSubstr("somewhere holds too little text: 10 documents of 12 bytes"));
}

TEST(Memorisation, ARecordThatIsNoneIsRefused) {
  EXPECT_THAT(refusal<std::runtime_error>([] { parse_memorisation_record("{\"key\": 1"); }),
              HasSubstr("is no record"));
}

TEST(Memorisation, TheShippedStudyIsRead) {
  const std::string path = source_path("scaling/campaigns/memorisation.toml");
  const MemorisationStudy study = read_memorisation(read_toml(path), path);

  EXPECT_GE(study.models.size(), 2U);
  EXPECT_GE(study.seeds.size(), 3U);
  EXPECT_THAT(study.repetitions, ElementsAre(0, 1, 4, 6, 16, 64));
  EXPECT_EQ(study.ending_tokens, 50);
}

}  // namespace
}  // namespace fourfold::tests
