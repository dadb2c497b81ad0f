// Every model that comes with Fourfold reads, bad model files are refused in words, and the file
// that `fourfold models template` prints is a model and names every field.
#include "schedule/models/model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <stdexcept>
#include <variant>

#include "schedule/models/model_file.hpp"
#include "schedule/models/model_template.hpp"
#include "schedule/models/parameter_count.hpp"
#include "support/field.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string refusal(const std::string& name_or_path) {
  return tests::refusal<std::runtime_error>([&] { read_model(name_or_path); });
}

std::string refusal_of(const std::string& text) {
  return read_from(text, [](const std::string& path) { return refusal(path); });
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

TEST(Models, HaveTheShapeThatTheirFilesSay) {
  EXPECT_EQ(described(read_model("gpt-80b")),
            "gpt-80b (42 layers, hidden 12288, 96 heads, 2048 tokens, vocabulary 51200)");
  EXPECT_EQ(block_shape(read_model("gpt2-124m")), "");
  EXPECT_EQ(block_shape(read_model("llama3.1-70b")),
            "RMS norm, scaled rotary positions, 8 key-value heads, SwiGLU of 28672, no biases, "
            "untied embeddings");
}

TEST(Models, AnUnknownNameIsAnsweredWithTheNearest) {
  EXPECT_THAT(refusal("gpt-80"), HasSubstr("unknown model \"gpt-80\"; did you mean \"gpt-80b\"?"));
  EXPECT_THAT(refusal("nothing-like-it"),
              HasSubstr("unknown model \"nothing-like-it\"; `fourfold models` lists all"));
}

TEST(Models, AFileOfYourOwnGoesByItsPath) {
  EXPECT_EQ(described(read_from(good, read_model, "mine.toml")),
            "mine (2 layers, hidden 16, 4 heads, 8 tokens, vocabulary 32)");
  EXPECT_EQ(refusal("/nowhere/my.toml"),
            "cannot read the model file /nowhere/my.toml: No such file or directory");
}

// Values of another kind are in model_blocks_test.cpp.
TEST(Models, RefuseMissingUnknownAndImpossibleValuesAndWhatCannotTakeEffect) {
  EXPECT_THAT(refusal_of(with("layers = 2\n", "")), EndsWith("\"layers\" is missing"));
  EXPECT_THAT(refusal_of(with("heads = 4", "heads = -4")),
              EndsWith("\"heads\" must be a whole number, 1 or more"));
  EXPECT_THAT(refusal_of(with("heads = 4", "heads = 5")),
              EndsWith("hidden = 16 does not divide into 5 heads"));
  EXPECT_THAT(refusal_of(with("layers = 2", "layers = 10001")),
              HasSubstr("layers = 10001, but it must be at most 10000, as every operation"));
  EXPECT_EQ(refusal_of(with("layers = 2", "layers = 10000")), "accepted");
  const std::string rotary = "position = \"rotary\"\n";
  const std::string without_rotary = " cannot take effect without position = \"rotary\"";
  const std::string without_scaling = " cannot take effect without a rotary_scaling other than 1";
  for (const auto& [lines, end] : std::vector<std::pair<std::string, std::string>>{
           {"headz = 4", "unknown key \"headz\"; did you mean \"heads\"?"},
           {"norm = \"rsm\"", "\"norm\" must be \"layer\" or \"rms\"; did you mean \"rms\"?"},
           {"norm_epsilon = 0", "norm_epsilon = 0, but it must be at least 1e-12"},
           {"mlp_width = 0", "\"mlp_width\" must be a whole number, 1 or more"},
           {rotary + "rotary_base = 500000", "accepted"},
           {rotary + "rotary_scaling = 1", "accepted"},
           {"rotary_base = 500", "rotary_base" + without_rotary},
           {"position = \"learned\"\nrotary_scaling = 8", "rotary_scaling" + without_rotary},
           {rotary + "rotary_high = 8", "rotary_high" + without_scaling},
           {rotary + "rotary_trained_tokens = 8192", "rotary_trained_tokens" + without_scaling}}) {
    EXPECT_THAT(refusal_of(good + lines + "\n"), EndsWith(end));
  }
  EXPECT_THAT(refusal_of("layers = 2\nhidden 16\n"), HasSubstr(", line 2: this is not TOML: "));
}

TEST(ModelTemplate, IsReadBackAsTheModelThatItWasMadeOf) {
  EXPECT_EQ(model_fields().values(read_from(model_template(), read_model)),
            model_fields().values(read_model("gpt2-124m")));
}

TEST(ModelTemplate, ExplainsEveryKey) {
  const std::string text = model_template();
  const std::string unwrapped = std::regex_replace(text, std::regex("\n# "), " ");

  for (const FieldFacts& field : model_fields().facts()) {
    EXPECT_THAT(text, HasSubstr("# " + field.key + ": "));
    const bool on_off = std::holds_alternative<OnOff>(field.kind);
    EXPECT_EQ(unwrapped.find(field.help + "; true or false") != std::string::npos, on_off)
        << field.key;
    EXPECT_THAT(text, ::testing::AnyOf(HasSubstr("\n" + field.key + " = "),
                                       HasSubstr("\n#" + field.key + " = "),
                                       HasSubstr("\n# " + field.key + " =\n")));
  }
}

}  // namespace
}  // namespace fourfold::tests
