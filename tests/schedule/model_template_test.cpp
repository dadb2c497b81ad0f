// The file that `fourfold models template` prints is a model, and names every field.
#include "schedule/models/model_template.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "schedule/models/model.hpp"
#include "schedule/models/model_file.hpp"
#include "support/field.hpp"
#include "support/whole_file.hpp"

namespace fourfold::tests {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(ModelTemplate, IsReadBackAsTheModelThatItWasMadeOf) {
  const std::string path = testing::TempDir() + "fourfold_model_template.toml";
  write_whole_file(path, model_template());

  const Model model = read_model(path);

  EXPECT_EQ(model_fields().values(model), model_fields().values(read_model("gpt2-124m")));
  std::filesystem::remove(path);
}

TEST(ModelFileText, IsReadBackAsTheModelWhateverItsBlock) {
  const std::string path = testing::TempDir() + "fourfold_model_file_text.toml";
  for (const std::string& name : known_models()) {
    const Model model = read_model(name);
    write_whole_file(path, model_file_text(model));

    EXPECT_EQ(model_fields().values(read_model(path)), model_fields().values(model)) << name;
  }
  std::filesystem::remove(path);
}

TEST(ModelTemplate, ExplainsEveryKey) {
  const std::string text = model_template();

  for (const FieldFacts& field : model_fields().facts()) {
    EXPECT_THAT(text, HasSubstr("# " + field.key + ": "));
    EXPECT_THAT(text,
                AnyOf(HasSubstr("\n" + field.key + " = "), HasSubstr("\n#" + field.key + " = "),
                      HasSubstr("\n# " + field.key + " =\n")));
  }
}

}  // namespace
}  // namespace fourfold::tests
