// Every model that comes with Fourfold reads, and bad model files are refused in words.
#include "schedule/models/model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "schedule/models/model_file.hpp"

namespace fourfold {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// A file in the temporary folder that goes when the test does.
class ModelFile {
 public:
  explicit ModelFile(const std::string& text)
      : path_(::testing::TempDir() + "fourfold_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".toml") {
    std::ofstream(path_) << text;
  }
  ~ModelFile() { std::remove(path_.c_str()); }
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string refusal(const std::string& name_or_path) {
  try {
    read_model(name_or_path);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal_of(const std::string& text) {
  return refusal(ModelFile(text).path());
}

constexpr const char* good =
    "layers = 2\nhidden = 16\nheads = 4\nsequence_tokens = 8\nvocabulary = 32\n";

std::string with(const std::string& piece, const std::string& replacement) {
  std::string text = good;
  return text.replace(text.find(piece), piece.size(), replacement);
}

TEST(Models, AllRead) {
  for (const std::string& name : known_models()) {
    const Model model = read_model(name);

    EXPECT_EQ(model.name, name);
    EXPECT_EQ(model.hidden % model.heads, 0) << name;
  }
}

TEST(Models, BeyondWhatIsCountedAreRefusedWithABound) {
  EXPECT_THAT(refusal_of(with("layers = 2", "layers = 10001")),
              HasSubstr("layers = 10001, but it must be at most 10000, as every operation"));
  EXPECT_THAT(refusal_of(with("hidden = 16", "hidden = 1048580")), HasSubstr("at most 1048576"));
  EXPECT_THAT(refusal_of(with("sequence_tokens = 8", "sequence_tokens = 16777217")),
              HasSubstr("at most 16777216"));
  EXPECT_THAT(refusal_of(with("vocabulary = 32", "vocabulary = 16777217")),
              HasSubstr("at most 16777216"));
  EXPECT_EQ(refusal_of(with("layers = 2", "layers = 10000")), "accepted");
}

TEST(Models, HaveAboutTheParametersOfTheirName) {
  int named_by_size = 0;
  for (const std::string& name : known_models()) {
    double size = 0.0;
    char unit = 0;
    if (std::sscanf(name.c_str(), "gpt%*[2]-%lf%c", &size, &unit) != 2 &&
        std::sscanf(name.c_str(), "gpt-%lf%c", &size, &unit) != 2) {
      continue;  // gpt2-mini, gpt-bytes
    }
    ++named_by_size;
    const double named = size * (unit == 't' ? 1e12 : unit == 'b' ? 1e9 : 1e6);

    EXPECT_NEAR(parameter_count(read_model(name)) / named, 1, 0.06) << name;
  }
  EXPECT_GE(named_by_size, 10);
}

TEST(Models, AreThoseOfThePaper) {
  const Model model = read_model("gpt-80b");

  EXPECT_EQ(model.layers, 42);
  EXPECT_EQ(model.hidden, 12288);
  EXPECT_EQ(model.heads, 96);
  EXPECT_EQ(model.sequence, 2048);
}

TEST(Models, AnUnknownNameIsAnsweredWithTheNearest) {
  EXPECT_THAT(refusal("gpt-80"), HasSubstr("unknown model \"gpt-80\"; did you mean \"gpt-80b\"?"));
}

TEST(Models, AFileOfYourOwnGoesByItsPath) {
  const ModelFile file(good);

  const Model model = read_model(file.path());

  EXPECT_EQ(model.layers, 2);
  EXPECT_EQ(model.hidden, 16);
  EXPECT_EQ(model.heads, 4);
  EXPECT_EQ(model.sequence, 8);
  EXPECT_EQ(model.vocabulary, 32);
  EXPECT_EQ(model.name, std::filesystem::path(file.path()).stem().string());
}

TEST(Models, RefusesAFileThatIsNotThere) {
  EXPECT_EQ(refusal("/nowhere/my.toml"),
            "cannot read the model file /nowhere/my.toml: No such file or directory");
}

TEST(Models, RefusesAnUnknownKeyAndNamesTheNearest) {
  EXPECT_THAT(refusal_of(std::string(good).append("headz = 4\n")),
              HasSubstr("unknown key \"headz\"; did you mean \"heads\"?"));
}

TEST(Models, RefusesMissingAndImpossibleValues) {
  const auto must = [](const std::string& key) {
    return "\"" + key + "\" must be a whole number, at least 1";
  };
  EXPECT_THAT(refusal_of(with("layers = 2\n", "")), EndsWith(must("layers")));
  EXPECT_THAT(refusal_of(with("hidden = 16", "hidden = 0")), EndsWith(must("hidden")));
  EXPECT_THAT(refusal_of(with("heads = 4", "heads = -4")), EndsWith(must("heads")));
  EXPECT_THAT(refusal_of(with("vocabulary = 32", "vocabulary = 32.5")),
              EndsWith(must("vocabulary")));
  EXPECT_THAT(refusal_of(with("sequence_tokens = 8", "sequence_tokens = \"8\"")),
              EndsWith(must("sequence_tokens")));
}

TEST(Models, RefusesHeadsThatDoNotDivide) {
  EXPECT_THAT(refusal_of(with("heads = 4", "heads = 5")),
              EndsWith("hidden = 16 does not divide into 5 heads"));
}

TEST(Models, RefusesWhatIsNoToml) {
  EXPECT_THAT(refusal_of("layers = 2\nhidden 16\n"), HasSubstr(": line 2: "));
}

}  // namespace
}  // namespace fourfold
