// Tables and findings of memorisation studies whose records are made up, in a golden text, their
// buckets of documents and the order in which these are read.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "scaling/study/memorisation_record.hpp"
#include "scaling/words/toml_file.hpp"
#include "tests/golden.hpp"
#include "tests/paths.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

// No two of its numbers are alike.
MemorisationStudy study_of(const std::vector<std::int64_t>& repetitions,
                           const std::vector<std::int64_t>& seeds) {
  MemorisationStudy study;
  study.title = "A study";
  study.text_folder = "somewhere";
  study.document_tokens = 12;
  study.ending_tokens = 4;
  study.documents = 8;
  study.repetitions = repetitions;
  study.seeds = seeds;
  study.goldfish_k = 3;
  study.goldfish_h = 13;
  study.pretraining_steps = 100;
  study.pretraining = {16, 10, 1e-3, 0.1};
  study.continued = {6, 5, 2e-3, 0.2};
  study.injected = 4;
  study.models = {{"medium", 2, 16, 2}, {"large", 4, 32, 4}, {"small", 1, 8, 2}};
  return study;
}

MemorisationRecord record(const std::string& model, double parameters, std::int64_t seed,
                          bool goldfish, std::vector<std::int64_t> matches) {
  MemorisationRecord result;
  result.key = fmt::format("{} {} {}", model, seed, goldfish);
  result.model = model;
  result.parameters = parameters;
  result.seed = seed;
  result.goldfish = goldfish;
  result.matches = std::move(matches);
  result.equal_words = {0.25, 1.5, 2.75};
  result.validation_loss = 1.125;
  result.words_per_second = 987.5;
  result.cpu_seconds = 61.5;
  return result;
}

TEST(Memorisations, AreTheGoldenTexts) {
  std::string text;
  const auto said = [](const MemorisationStudy& study,
                       const std::vector<MemorisationRecord>& records) {
    const auto series = series_of(study, records);
    return memorisation_table(study, series) + memorisation_csv(study, series);
  };
  const auto add = [&](const std::string& words, const MemorisationStudy& study,
                       const std::vector<MemorisationRecord>& records) {
    const std::string table = said(study, records);
    text +=
        "==== " + words + '\n' + (text.find(table) == std::string::npos ? table : "as before\n");
    for (const MemorisationRecord& one : records) {
      EXPECT_EQ(to_json(parse_memorisation_record(to_json(one))), to_json(one));
      if (text.find(to_json(one)) == std::string::npos) text += to_json(one) + "\n";
    }
  };
  const MemorisationStudy study = study_of({0, 1, 5}, {1, 2});
  const std::vector<MemorisationRecord> plain{
      record("large", 4e6, 1, false, {1, 3, 8}), record("large", 4e6, 2, false, {0, 4, 6}),
      record("small", 1e6, 1, false, {2, 1, 2}), record("medium", 2.5e6, 2, false, {0, 0, 0})};
  add("nothing", study, {});
  std::vector<MemorisationRecord> both = plain;
  both.push_back(record("small", 1e6, 1, true, {0, 0, 1}));
  both.push_back(record("large", 4e6, 2, true, {0, 1, 2}));
  both.push_back(record("large", 4e6, 1, true, {0, 0, 5}));
  add("both", study, both);
  // Without Goldfish the same is said, but for its own lines.
  EXPECT_EQ(std::regex_replace(said(study, both), std::regex("[^\n]*Goldfish[^\n]*\n"), ""),
            said(study, plain));
  add("Goldfish alone", study, {both.back()});
  add("of another model", study, {record("nobody's", 1e6, 1, false, {1, 2, 3})});
  add("one seed, nobody is a control", study_of({1, 2, 5}, {7}), plain);
  expect_golden("memorisations.txt", text);
}

// What the engine refuses would end a study behind its first hours.
TEST(Memorisations, HaveRatesThatTheEngineTakes) {
  const nlohmann::json good = read_toml(source_path("scaling/campaigns/memorisation.toml"));
  for (const auto& [key, number] : {std::pair("learning_rate", 0.0), {"last_learning_rate", 1.5}}) {
    nlohmann::json edited = good;
    edited["memorisation"]["continued"][key] = number;
    EXPECT_THAT(refusal<std::runtime_error>([&] { read_memorisation(edited, "a.toml"); }),
                HasSubstr(fmt::format("'{}' is {}, but must be from", key, number)));
  }
}

std::string text_of(int documents) {
  std::string text;
  for (int i = 0; i < documents; ++i) text += fmt::format("document{:04d}", 1000 + i);
  return text;
}

std::vector<std::string> documents_of(const std::string& text, std::size_t length) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at + length <= text.size(); at += length) {
    all.push_back(text.substr(at, length));
  }
  return all;
}

TEST(Curricula, GiveEachStepItsShareOfRepeatedDocuments) {
  for (const std::int64_t injected : {1, 3, 4, 6}) {
    for (const std::int64_t warm_up : {0, 1, 5}) {
      MemorisationStudy study = study_of({0, 1, 5}, {1, 2});
      study.injected = injected;
      study.continued.warm_up = warm_up;
      const Corpus corpus = make_corpus(study, text_of(400));
      ASSERT_EQ(corpus.buckets.size(), 2u);
      for (std::size_t seed = 0; seed < 2; ++seed) {
        const std::string read = curriculum(study, corpus, seed);
        const std::vector<std::string> all = documents_of(read, 12);
        const std::int64_t repeated = 8 * (0 + 1 + 5);
        EXPECT_EQ(study.continued_steps(), warm_up + (repeated + injected - 1) / injected);
        ASSERT_EQ(std::ssize(all), 6 * study.continued_steps());
        EXPECT_EQ(read.size(), 12 * all.size() + 1);
        std::map<std::string, std::int64_t> bucket_of;
        for (std::size_t b = 0; b < 3; ++b) {
          EXPECT_EQ(std::ssize(corpus.buckets[seed][b]), 8);
          for (const std::string& one : corpus.buckets[seed][b]) {
            bucket_of[one] = static_cast<std::int64_t>(b);
          }
        }
        std::map<std::string, std::int64_t> times;
        for (std::size_t i = 0; i < all.size(); ++i) {
          const auto step = static_cast<std::int64_t>(i) / 6;
          const auto place = static_cast<std::int64_t>(i) % 6;
          const bool of_bucket = bucket_of.contains(all[i]);
          const std::int64_t before = (step - warm_up) * injected + place;
          EXPECT_EQ(of_bucket, step >= warm_up && place < injected && before < repeated)
              << "step " << step << " place " << place;
          if (of_bucket) ++times[all[i]];
        }
        for (const auto& bucket : corpus.buckets[1 - seed]) {  // of another seed
          for (const std::string& one : bucket) EXPECT_EQ(std::ranges::count(all, one), 0);
        }
        EXPECT_EQ(curriculum(study, corpus, seed), read);
        for (const auto& [document, bucket] : bucket_of) {
          EXPECT_EQ(times[document], study.repetitions[static_cast<std::size_t>(bucket)]);
        }
      }
      EXPECT_NE(curriculum(study, corpus, 0), curriculum(study, corpus, 1));
    }
  }
}

TEST(Corpora, HoldOutATenthOfTheBackgroundAndNoMoreThanFourHundred) {
  MemorisationStudy study = study_of({0, 1}, {1});
  for (const auto& [documents, held_out] :
       std::vector<std::pair<int, std::size_t>>{{36, 2}, {116, 10}, {5016, 400}}) {
    const Corpus corpus = make_corpus(study, text_of(documents));
    EXPECT_EQ(corpus.held_out.size(), held_out);
    EXPECT_EQ(corpus.background.size() + held_out + 16, static_cast<std::size_t>(documents));
    std::set<std::string> all(corpus.background.begin(), corpus.background.end());
    all.insert(corpus.held_out.begin(), corpus.held_out.end());
    EXPECT_EQ(all.size() + 16, static_cast<std::size_t>(documents));
  }
  const auto said = [&](int documents) {
    return refusal<std::runtime_error>([&] { make_corpus(study, text_of(documents)); });
  };
  EXPECT_EQ(said(20), "somewhere holds no text beside the buckets");
  EXPECT_THAT(said(10), HasSubstr("somewhere holds too little text: 10 documents of 12 bytes"));
}

// Every other document ends as one other does, which comes before or behind it.
TEST(Corpora, ADocumentWhoseEndStandsElsewhereIsInNoBucket) {
  std::string text;
  for (std::int64_t i = 0; i < 200; ++i) {
    text += "text at " + std::to_string(i % 2 == 0 ? 1000 + i : 9000 + i / 2 % 50);
  }
  EXPECT_EQ(
      refusal<std::runtime_error>([&] {
        make_corpus(study_of({0, 1, 5}, {1, 2, 3, 4, 5}), text);
      }),
      "somewhere holds 200 documents of 12 bytes, but only 100 in ASCII whose last 4 stand nowhere "
      "else; the buckets take 120");
  for (const auto& buckets : make_corpus(study_of({0, 1, 5}, {1, 2}), text).buckets) {
    for (const auto& bucket : buckets) {
      for (const std::string& document : bucket) EXPECT_THAT(document, HasSubstr("at 1"));
    }
  }
}

// Fortunes lie beside their indices, which are no text, and beside links to them.
TEST(Corpora, HaveTheTextOfPlainFilesInTheOrderOfTheirNames) {
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

}  // namespace
}  // namespace fourfold::tests
