// Every model that comes with Fourfold reads, and bad model files are refused in words.
#include "schedule/models/model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "schedule/models/model_file.hpp"
#include "schedule/models/parameter_count.hpp"
#include "support/field.hpp"
#include "tests/paths.hpp"
#include "tests/refusal.hpp"
#include "tests/shapes.hpp"

namespace fourfold::tests {
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
  return tests::refusal<std::runtime_error>([&] { read_model(name_or_path); });
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
  EXPECT_TRUE(std::ranges::is_sorted(known_models()));
  for (const std::string& name : known_models()) {
    const Model model = read_model(name);

    EXPECT_EQ(model.name, name);
    EXPECT_EQ(contradiction(model), "") << name;
  }
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

struct Published {
  const char* model;
  double digits;    // as printed
  double unit = 1;  // of the last of them
};

// To the last digit that is printed: of Llama as config.json and weights on Hugging Face have it,
// of GPT-2 as its repository corrects the paper's table, of GPT-3 as its table D.1 says.
TEST(Models, HaveThePublishedParameters) {
  for (const auto& [name, digits, unit] :
       {Published{"gpt2-124m", 124, 1e6}, Published{"gpt2-355m", 355, 1e6},
        Published{"gpt2-774m", 774, 1e6}, Published{"gpt2-1558m", 1558, 1e6},
        Published{"gpt2-124m", 124'439'808}, Published{"gpt3-175b", 174'600, 1e6},
        Published{"llama2-7b", 6'738'415'616}, Published{"llama2-13b", 13'015'864'320},
        Published{"llama2-70b", 68'976'648'192}, Published{"llama3.1-8b", 8'030'261'248},
        Published{"llama3.1-70b", 70'553'706'496}, Published{"llama3.1-405b", 405'853'388'800},
        Published{"tinyllama-1.1b", 1'100'048'384}, Published{"qwen3-8b", 8'190'735'360},
        Published{"gemma2-9b", 9'241'705'984}, Published{"mistral-7b", 7'241'732'096},
        Published{"olmo2-7b", 7'298'617'344}}) {
    const double counted = parameter_count(read_model(name)) / unit;

    // GPT-3's is printed to four digits of its six.
    const double step = unit == 1e6 && digits > 1e5 ? 100 : 1;
    EXPECT_EQ(std::round(counted / step) * step, digits) << name;
  }
}

std::string text_of(const std::string& model) {
  std::ifstream file(source_path("schedule/models/" + model + ".toml"));
  return {std::istreambuf_iterator<char>(file), {}};
}

// Names that the counts contradict are marked in the files.
TEST(Models, MarkWhereASourceContradictsItself) {
  EXPECT_THAT(text_of("llama2-70b"), HasSubstr("69.0 billion: its name says 70"));
  EXPECT_THAT(text_of("gpt3-175b"),
              HasSubstr("174.6 billion parameters in its table D.1, 175.0 in its"));
  EXPECT_THAT(text_of("llama3.1-405b"), HasSubstr("its name cuts off"));
  EXPECT_THAT(text_of("gpt2-1558m"), HasSubstr("the paper's table of 2019"));
}

TEST(Models, HaveTheShapeThatTheirFilesSay) {
  EXPECT_EQ(block_shape(read_model("gpt2-124m")), "");
  EXPECT_EQ(block_shape(read_model("llama2-7b")),
            "RMS norm, rotary positions, SwiGLU of 11008, no biases, untied embeddings");
  EXPECT_EQ(block_shape(read_model("llama3.1-70b")),
            "RMS norm, scaled rotary positions, 8 key-value heads, SwiGLU of 28672, no biases, "
            "untied embeddings");
}

// A record says of the block what differs from GPT's, and reads back what it says.
TEST(Models, GoThroughTheirFieldsUnchanged) {
  const Model gpt{"gpt", 2, 12, 4, 5, 11};
  EXPECT_EQ(model_record_fields().values(gpt).size(), 6U);
  for (const Model& model : shapes_of(gpt)) {
    const FieldValues values = model_record_fields().values(model);
    Model read;
    model_record_fields().set(read, values);

    EXPECT_GT(values.size(), 6U) << model.name;
    EXPECT_EQ(model_record_fields().values(read), values);
    EXPECT_EQ(described(read), described(model));
  }
}

TEST(Models, AreThoseOfThePaper) {
  EXPECT_EQ(described(read_model("gpt-80b")),
            "gpt-80b (42 layers, hidden 12288, 96 heads, 2048 tokens, vocabulary 51200)");
}

TEST(Models, AnUnknownNameIsAnsweredWithTheNearest) {
  EXPECT_THAT(refusal("gpt-80"), HasSubstr("unknown model \"gpt-80\"; did you mean \"gpt-80b\"?"));
  EXPECT_THAT(refusal("nothing-like-it"),
              HasSubstr("unknown model \"nothing-like-it\"; `fourfold models` lists all"));
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

TEST(Models, RefusesMissingUnknownAndImpossibleValues) {
  EXPECT_THAT(refusal_of(with("layers = 2\n", "")), EndsWith("\"layers\" is missing"));
  EXPECT_THAT(refusal_of(with("hidden = 16", "hidden = 0")),
              EndsWith("\"hidden\" must be a whole number, 1 or more"));
  EXPECT_THAT(refusal_of(with("heads = 4", "heads = -4")),
              EndsWith("\"heads\" must be a whole number, 1 or more"));
  EXPECT_THAT(refusal_of(with("heads = 4", "heads = 5")),
              EndsWith("hidden = 16 does not divide into 5 heads"));
  EXPECT_THAT(refusal_of(with("layers = 2", "layers = 10001")),
              HasSubstr("layers = 10001, but it must be at most 10000, as every operation"));
  EXPECT_EQ(refusal_of(with("layers = 2", "layers = 10000")), "accepted");
  const auto of = [](const std::string& line) { return refusal_of(good + line + "\n"); };
  EXPECT_THAT(of("headz = 4"), HasSubstr("unknown key \"headz\"; did you mean \"heads\"?"));
  EXPECT_THAT(of("norm = \"rsm\""),
              EndsWith("\"norm\" must be \"layer\" or \"rms\"; did you mean \"rms\"?"));
  EXPECT_THAT(of("norm_epsilon = 0"), EndsWith("norm_epsilon = 0, but it must be at least 1e-12"));
  EXPECT_THAT(of("mlp_width = 0"), EndsWith("\"mlp_width\" must be a whole number, 1 or more"));
  EXPECT_EQ(of("rotary_base = 500000\nposition = \"rotary\""), "accepted");
  EXPECT_EQ(of("rotary_scaling = 1\nposition = \"rotary\""), "accepted");
}

TEST(Models, RefusesWhatCannotTakeEffect) {
  const auto of = [](const std::string& lines) { return refusal_of(good + lines + "\n"); };
  EXPECT_THAT(of("rotary_base = 500"),
              EndsWith("rotary_base cannot take effect without position = \"rotary\""));
  EXPECT_THAT(of("position = \"learned\"\nrotary_scaling = 8"),
              EndsWith("rotary_scaling cannot take effect without position = \"rotary\""));
  EXPECT_THAT(of("position = \"rotary\"\nrotary_high = 8"),
              EndsWith("rotary_high cannot take effect without a rotary_scaling other than 1"));
  EXPECT_THAT(of("position = \"rotary\"\nrotary_trained_tokens = 8192"),
              EndsWith("rotary_trained_tokens cannot take effect without a rotary_scaling other "
                       "than 1"));
}

TEST(Models, RefusesWhatIsNoToml) {
  EXPECT_THAT(refusal_of("layers = 2\nhidden 16\n"), HasSubstr(", line 2: this is not TOML: "));
}

}  // namespace
}  // namespace fourfold::tests
