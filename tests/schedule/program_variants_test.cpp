// Printed programs of other blocks and options: the lines that the plain one does not have, and how
// many of its own are missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "schedule/fold/print.hpp"
#include "support/field.hpp"
#include "tests/golden.hpp"
#include "tests/shapes.hpp"

namespace fourfold {
namespace {

const Model gpt{"gpt-tiny", 1, 48, 12, 16, 128};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// With one blank where there are several.
std::string narrow(const std::string& line) {
  std::string text;
  for (char letter : line) {
    if (letter != ' ' || !text.ends_with(' ')) text += letter;
  }
  return text;
}

// Lines that `from` does not have, or less often.
std::string difference(const std::string& from, const std::string& to) {
  std::map<std::string, int> left;
  for (const std::string& line : lines_of(from)) ++left[line];
  std::string text;
  for (const std::string& line : lines_of(to)) {
    if (left[line]-- <= 0) text += narrow(line) + '\n';
  }
  int missing = 0;
  for (const auto& [line, times] : left) missing += std::max(0, times);
  return text + std::to_string(missing) + " lines are missing\n";
}

TEST(ProgramVariants, OfOtherBlocksDifferAsTheGoldenText) {
  const std::string plain = print_program(gpt, {});
  std::string text;
  for (const Model& model : shapes_of(gpt)) {
    text += "==== " + model.name + '\n' + difference(plain, print_program(model, {}));
  }

  expect_golden("program_of_blocks.txt", text);
}

// Each option alone that a program of one stage shows, and some that need another.
TEST(ProgramVariants, OfOtherOptionsDifferAsTheGoldenText) {
  const std::vector<std::vector<std::pair<std::string, std::string>>> variants{
      {{"--precision", "fp32"}},
      {{"--recompute", "none"}},
      {{"--recompute", "selective"}, {"--attention", "unfused"}},
      {{"--attention", "unfused"}},
      {{"--overlap", "none"}},
      {{"--overlap", "oag"}},
      {{"--weight-gather", "keep"}},
      {{"--gradient-reduction", "accumulated"}},
      {{"--data-reduction", "beside-backward"}},
      {{"--zero", "1"}},
      {{"--zero", "2"}},
      {{"--zero", "3"}},
      {{"--zero", "1"}, {"--data-bucket", "30000"}},
      {{"--data-bucket", "10000"}},
      {{"--offload-bucket", "500"}},
      {{"--sequence-parallel", "on"}},
      {{"--grad-precision-z", "fp32"}},
      {{"--grad-precision-data", "bf16"}}};
  const std::string plain = print_program(gpt, {});
  std::string text;
  for (const auto& variant : variants) {
    StepOptions options;
    text += "====";
    for (const auto& [flag, word] : variant) {
      options = step_fields().with(options, flag, word);
      text += ' ' + flag + ' ' + word;
    }
    text += '\n' + difference(plain, print_program(gpt, options));
  }

  expect_golden("program_of_options.txt", text);
}

TEST(ProgramVariants, OfManyMicroBatchesPrintOne) {
  StepOptions many;
  many.micro_batches = 6;

  EXPECT_EQ(print_program(gpt, many), print_program(gpt, {}));
}

}  // namespace
}  // namespace fourfold
