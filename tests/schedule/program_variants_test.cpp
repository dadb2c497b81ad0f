// Printed programs of other blocks and options: the lines that the plain one does not have, and how
// many of its own are missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "schedule/fold/print.hpp"
#include "support/field.hpp"
#include "tests/shapes.hpp"

namespace fourfold::tests {
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

// The lines that are new in the printed program, and how many are gone.
TEST(ProgramVariants, OfOtherBlocksHaveTheirOwnLines) {
  const std::string plain = print_program(gpt, {});
  std::set<std::string> seen;
  for (const Model& model : shapes_of(gpt)) {
    const std::string other = difference(plain, print_program(model, {}));
    EXPECT_TRUE(seen.insert(other).second) << model.name << " prints as another one";
    EXPECT_EQ(difference(print_program(model, {}), print_program(model, {})),
              "0 lines are missing\n");
  }
}

// Each option alone that a program of one stage shows: words of a line that is new, and words that
// no new line has.
TEST(ProgramVariants, OfOtherOptionsSayWhatIsOther) {
  struct Variant {
    std::vector<std::pair<std::string, std::string>> flags;
    std::vector<std::string> says, is_silent_of;
  };
  const std::vector<Variant> variants{
      {{{"--precision", "fp32"}}, {"gemm NN block.qkv tokens x 144 fp32"}, {"bf16", "map cast"}},
      {{{"--recompute", "none"}}, {"31 lines are missing"}, {"gemm", "start"}},
      {{{"--recompute", "selective"}, {"--attention", "unfused"}},
       {"attention scores block.scores", "map causal_softmax_backward block.dscores"},
       {"gemm", "start"}},
      {{{"--attention", "unfused"}},
       {"attention context block.attention", "attention context_backward"},
       {"gemm", "start"}},
      {{{"--overlap", "none"}}, {"0 lines are missing"}, {"gemm", "start", "map"}},
      {{{"--weight-gather", "keep"}}, {"10 lines are missing"}, {"gemm", "start"}},
      {{{"--gradient-reduction", "accumulated"}}, {"0 lines are missing"}, {"gemm", "start"}},
      {{{"--zero", "1"}},
       {"start reduce_scatter data block.qkv.dweight 48 x 144 fp32 rows {y} cols {x} pieces "
        "{z,data}"},
       {"gemm", "attention"}},
      {{{"--zero", "2"}},
       {"start reduce_scatter data block.qkv.dweight 48 x 144 bf16 rows {y} cols {x} pieces "
        "{z,data}"},
       {"gemm", "attention"}},
      {{{"--zero", "3"}},
       {"start all_gather data block.qkv.weight 48 x 144 bf16 rows {y} cols {x} pieces {z}"},
       {"attention"}},
      {{{"--zero", "1"}, {"--data-bucket", "30000"}},
       {"pack block.gradients pack of 4 values fp32 pieces {z,data}"},
       {"gemm", "attention"}},
      {{{"--data-bucket", "10000"}},
       {"start all_reduce data block.gradients pack of 2 values fp32 pieces {z}"},
       {"gemm", "attention"}},
      {{{"--offload-bucket", "500"}}, {"0 lines are missing"}, {"gemm", "start"}},
      {{{"--offload-activations", "on"}},
       {"to_host embedded.on_host tokens x 48 bf16 rows {data,z} cols {y}",
        "to_device embedded.on_host.fetched tokens x 48 bf16 rows {data,z} cols {y}"},
       {"gemm", "start"}},
      {{{"--sequence-parallel", "on"}},
       {"start reduce_scatter x embedding tokens x 48 bf16 rows {data,z,x} cols {y}"},
       {"attention "}},
      {{{"--grad-precision-z", "fp32"}},
       {"start reduce_scatter z block.up.dweight 48 x 192 fp32 rows {y} cols {x} pieces {z}"},
       {"gemm NN", "gemm NT", "all_gather"}},
      {{{"--grad-precision-data", "bf16"}},
       {"start all_reduce data block.gradients pack of 4 values bf16 pieces {z}"},
       {"gemm", "all_gather"}}};
  const std::string plain = print_program(gpt, {});
  for (const Variant& variant : variants) {
    StepOptions options;
    std::string words;
    for (const auto& [flag, word] : variant.flags) {
      options = step_fields().with(options, flag, word);
      words += flag + ' ' + word + ' ';
    }
    const std::string other = difference(plain, print_program(gpt, options));
    for (const std::string& one : variant.says) {
      EXPECT_NE(other.find(one), std::string::npos) << words << "does not say " << one;
    }
    for (const std::string& one : variant.is_silent_of) {
      EXPECT_EQ(other.find(one), std::string::npos) << words << "says " << one;
    }
  }
}

TEST(ProgramVariants, OfManyMicroBatchesPrintOne) {
  StepOptions many;
  many.micro_batches = 6;

  EXPECT_EQ(print_program(gpt, many), print_program(gpt, {}));
}

}  // namespace
}  // namespace fourfold::tests
