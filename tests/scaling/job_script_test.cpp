// Templates of job scripts: words are put in, and what is misspelt is named.
#include "scaling/jobs/job_script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scaling/study/campaign_run.hpp"
#include "scaling/study/report.hpp"
#include "support/markup_text.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

TEST(JobScripts, HaveTheirWordsPutIn) {
  EXPECT_EQ(filled("#{{name}}-{{name}}\n{{command}}", {{"name", "a"}, {"command", "run {x}"}}),
            "#a-a\nrun {x}");
}

TEST(JobScripts, RefuseWordsThatAreUnknownOrMissing) {
  const auto said = [](const std::string& text) {
    return refusal<std::runtime_error>([&] { filled(text, {{"command", "c"}, {"name", "n"}}); });
  };

  EXPECT_THAT(said("{{command}} {{nmae}}"), HasSubstr("did you mean \"name\"?"));
  EXPECT_THAT(said("{{name}}"), HasSubstr("lacks {{command}}"));
  EXPECT_THAT(said("{{command}} {{name"), HasSubstr("lacks a }}"));
}

TEST(JobScripts, FillTheTemplatesThatComeWithFourfold) {
  for (const Launcher& launcher : launchers()) {
    for (const JobKind kind : {JobKind::slices, JobKind::measured}) {
      std::map<std::string, std::string> words{{"command", "run it"},
                                               {"quoted_command", "'run it'"}};
      for (const char* word : {"name", "time", "minutes", "folder", "directory"}) words[word] = "w";
      const std::vector<const char*> own = kind == JobKind::slices
                                               ? std::vector{"slices"}
                                               : std::vector{"devices", "nodes", "ranks_per_node",
                                                             "cores_per_rank", "cores_per_node"};
      for (const char* word : own) words[word] = "7";

      const std::string text = filled(content_of(template_of(launcher, kind)), words);

      EXPECT_THAT(text, HasSubstr("run it")) << launcher.name;
      EXPECT_EQ(text.find("{{"), std::string::npos) << launcher.name;
      EXPECT_EQ(text.find("{ranks}") != std::string::npos, kind == JobKind::measured)
          << launcher.name;
    }
  }
}

TEST(Slices, AreAPartOfAWhole) {
  EXPECT_EQ(slice_in("3/8").index, 3);
  EXPECT_EQ(slice_in("3/8").count, 8);
}

TEST(Reports, EncodeBytesAsBase64) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe foobar"), "//4gZm9vYmFy");
}

TEST(Reports, ShowNoTextAsMarkup) {
  EXPECT_EQ(markup_text("<a href=\"b\">&"), "&lt;a href=&quot;b&quot;&gt;&amp;");
}

}  // namespace
}  // namespace fourfold::tests
