// Published rows: read, found, and refused where they make no sense.
#include "scaling/study/published.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/paths.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

Published read(const std::string& text) {
  const TemporaryFolder folder;
  write_content(folder.file("rows.csv"), text);
  return read_published(folder.file("rows.csv"));
}

std::string refusal(const std::string& text) {
  return tests::refusal<std::runtime_error>([&] { read(text); });
}

TEST(Published, RefusesRowsThatSayNothing) {
  const std::string header = "machine,devices,model,batch_s,pflops\n";

  EXPECT_THAT(refusal("machine,devices\n"), HasSubstr("line 1: the columns must be"));
  EXPECT_THAT(refusal(header + "alps,6144,gpt-60b,,\n"), HasSubstr("line 2: neither"));
  EXPECT_THAT(refusal(header + "alps,6144,gpt-60b,-1,\n"), HasSubstr("no number above 0"));
  EXPECT_THAT(refusal(header + "alps,6144,gpt-60b\n"), HasSubstr("5 cells"));
  EXPECT_THAT(refusal(header + ",6144,gpt-60b,1,\n"), HasSubstr("line 2: machine and model"));
  EXPECT_THAT(refusal(header), HasSubstr("has no rows"));
  EXPECT_THAT(refusal(""), HasSubstr("has no rows"));
}

TEST(Published, RefusesARowThatIsThereTwice) {
  EXPECT_THAT(refusal("machine,devices,model,batch_s,pflops\nalps,6144,gpt-60b,5,\n"
                      "alps,6144,gpt-60b,6,\n"),
              HasSubstr("line 3: gpt-60b on 6144 devices of alps is there twice"));
}

TEST(Published, TheRowsOfTheMainJobNameTheirSource) {
  const Published published =
      read_published(source_path("scaling/campaigns/sc24_weak_published.csv"));

  EXPECT_THAT(published.source, HasSubstr("arXiv:2502.08145"));
  EXPECT_EQ(published.rows.size(), 11u);
}

}  // namespace
}  // namespace fourfold::tests
