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

}  // namespace
}  // namespace fourfold::tests
