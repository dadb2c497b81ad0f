// A law: what is said of a name or a text of a file is one line, so that none looks like two
// sentences.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "scaling/jobs/progress.hpp"
#include "scaling/words/text_table.hpp"
#include "support/complaint.hpp"
#include "support/visible_text.hpp"
#include "tests/scaling/hostile_names.hpp"

namespace fourfold::tests {
namespace {

namespace files = std::filesystem;

// Line ends of a name make no second sentence, wherever a complaint, a remark, a line of progress
// or a table quotes it.
TEST(Complaints, AreOneLineWhateverTheyQuote) {
  const auto lines = [](const std::function<void()>& say) {
    ::testing::internal::CaptureStderr();
    say();
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(visible(said), said);
    EXPECT_TRUE(said.ends_with('\n'));
    return std::ranges::count(said, '\n');
  };
  TextTable table;
  table.columns = {{"machine", "", Align::left}, {"label", "", Align::left}};
  for (const std::string& name : hostile_names()) {
    const std::runtime_error ours("cannot read " + name + ": it is gone; give another");
    const files::filesystem_error theirs("cannot", name, std::make_error_code(std::errc::io_error));
    EXPECT_EQ(lines([&] { complain(ours, 2); }), 1) << name;
    EXPECT_EQ(lines([&] { complain(theirs, 2); }), 1) << name;
    EXPECT_EQ(lines([&] { complain(name, 2); }), 1) << name;
    EXPECT_EQ(lines([&] { complain(SeveralFaults(name, {name, name}), 2); }), 3) << name;
    EXPECT_EQ(lines([&] { remark(name); }), 1) << name;
    EXPECT_EQ(lines([&] {
                Progress progress(1, 1.0);
                progress.begin(name, 1.0);
                progress.finish(name);
              }),
              1)
        << name;
    table.rows.push_back({name, "b"});
  }
  const std::string text = format(table, Width::whole);
  EXPECT_EQ(std::ranges::count(text, '\n'), 2 + std::ssize(hostile_names())) << text;
}

// Nor do 300,000 letters of a word or of a sentence come back, of whatever flag or file; how many
// there were is said, as is the end, and paths stay whole.
TEST(Complaints, AreShortWhateverTheyQuote) {
  const auto said = [](const std::string& sentence) {
    ::testing::internal::CaptureStderr();
    complain(std::runtime_error(sentence), 2);
    complain(SeveralFaults(sentence, {sentence}), 2);
    return ::testing::internal::GetCapturedStderr();
  };
  std::string words;
  for (int i = 0; i < 100'000; ++i) words += "ab ";
  for (const std::string& hostile : {std::string(300'000, 'a'), words, std::string(5'000, 'a')}) {
    const std::string short_one = said("unknown value '" + hostile + "'; known: on, off");
    EXPECT_LT(short_one.size(), 6'000u);
    EXPECT_NE(short_one.find(" letters"), std::string::npos);
    EXPECT_NE(short_one.find("known: on, off"), std::string::npos);
  }
  const std::string path = "/" + std::string(4'000, 'p');
  EXPECT_NE(said("cannot read " + path).find(path + "\n"), std::string::npos);
}

}  // namespace
}  // namespace fourfold::tests
