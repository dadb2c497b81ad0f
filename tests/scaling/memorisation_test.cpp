// A memorisation study's buckets, what is read in which order, and what is made of its records.
#include "scaling/study/memorisation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
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

std::map<std::string, std::int64_t> times_read(const std::string& text, std::size_t length) {
  std::map<std::string, std::int64_t> times;
  for (std::size_t i = 0; i + length <= text.size(); i += length) ++times[text.substr(i, length)];
  return times;
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

TEST(Memorisation, DocumentsAreReadAsOftenAsTheirBucketSaysBehindTheWarmUp) {
  const MemorisationStudy study = small_study();
  const Corpus corpus = make_corpus(study, text_of(200));
  const std::string text = curriculum(study, corpus, 1);

  EXPECT_EQ(study.continued_steps(), 2 + 3 * 6 / 2);
  EXPECT_EQ(std::ssize(text), study.continued_steps() * 4 * 12 + 1);
  const auto times = times_read(text, 12);
  for (std::size_t b = 0; b < 3; ++b) {
    for (const std::string& document : corpus.buckets[1][b]) {
      EXPECT_EQ(times.contains(document) ? times.at(document) : 0, study.repetitions[b]);
    }
    for (const std::string& document : corpus.buckets[0][b]) EXPECT_FALSE(times.contains(document));
  }
  const auto before = times_read(text.substr(0, 2 * 4 * 12), 12);
  for (const auto& bucket : corpus.buckets[1]) {
    for (const std::string& document : bucket) EXPECT_FALSE(before.contains(document));
  }
  EXPECT_EQ(text, curriculum(study, corpus, 1));
  EXPECT_NE(text, curriculum(study, corpus, 0));
}

// "9999" ends every other document.
TEST(Memorisation, ADocumentWhoseEndStandsElsewhereIsInNoBucket) {
  std::string text;
  for (std::int64_t i = 0; i < 200; ++i) {
    text += "text at ";
    text += i % 2 == 0 ? std::to_string(1000 + i) : std::string("9999");
  }
  for (const auto& buckets : make_corpus(small_study(), text).buckets) {
    for (const auto& bucket : buckets) {
      for (const std::string& document : bucket) EXPECT_THAT(document, Not(HasSubstr("9999")));
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

MemorisationRecord record(const std::string& model, std::int64_t seed, bool goldfish,
                          std::vector<std::int64_t> matches) {
  MemorisationRecord result;
  result.key = model + std::to_string(seed) + (goldfish ? "g" : "");
  result.model = model;
  result.parameters = model == "small" ? 1e6 : 2e6;
  result.seed = seed;
  result.goldfish = goldfish;
  result.matches = std::move(matches);
  result.equal_words = {0.5, 1.5, 2.5};
  return result;
}

TEST(Memorisation, SeriesAreMeansOverSeedsWithTheirEnds) {
  const auto series = series_of(
      small_study(), {record("small", 1, false, {0, 1, 3}), record("small", 2, false, {0, 0, 2}),
                      record("large", 1, true, {0, 0, 1})});

  ASSERT_EQ(series.size(), 2U);
  EXPECT_THAT(series[0].mean, ElementsAre(0.0, testing::DoubleNear(100 / 6.0, 1e-9),
                                          testing::DoubleNear(500 / 6.0, 1e-9)));
  EXPECT_NEAR(series[0].low[2], 200 / 3.0, 1e-9);
  EXPECT_NEAR(series[0].high[2], 100.0, 1e-9);
  EXPECT_TRUE(series[1].goldfish);
  const std::string csv = memorisation_csv(small_study(), series);
  EXPECT_THAT(csv, HasSubstr("\"small, 1.00 million parameters\",0,2,5,83.33,66.67,100.00\n"));
  const std::string table = memorisation_table(small_study(), series);
  EXPECT_THAT(table, HasSubstr("matches rise with repetitions"));
  EXPECT_THAT(table, HasSubstr("with Goldfish loss (k 2, h 3) the largest model completes 33.3 %"));
}

TEST(Memorisation, ARecordIsReadAsItWasWritten) {
  const MemorisationRecord written = record("small", 3, true, {0, 1, 2});
  const MemorisationRecord read = parse_memorisation_record(to_json(written));

  EXPECT_EQ(to_json(read), to_json(written));
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

TEST(Memorisation, MistakesInTheFileAreNamed) {
  const std::string path = source_path("scaling/campaigns/memorisation.toml");
  const auto refusal_of = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json file = read_toml(path);
    file["memorisation"][key] = value;
    return refusal<std::runtime_error>([&] { read_memorisation(file, path); });
  };

  EXPECT_THAT(refusal_of("ending_tokens", 128), HasSubstr("less than 'document_tokens'"));
  EXPECT_THAT(refusal_of("repetitions", "often"), HasSubstr("a list of whole numbers"));
  EXPECT_THAT(refusal_of("seed", 1), HasSubstr("seed"));
}

}  // namespace
}  // namespace fourfold::tests
