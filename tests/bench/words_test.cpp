// The command lines of bench, regress and doctor: which plans they give, and what is said to words
// that are wrong or without effect, in a golden text.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "bench/cli/bench_verb.hpp"
#include "bench/cli/doctor_verb.hpp"
#include "bench/cli/regress_verb.hpp"
#include "bench/kinds/kinds.hpp"
#include "bench/regress/baseline.hpp"
#include "tests/edits.hpp"
#include "tests/golden.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using namespace std::string_literals;

using Verb = std::function<int(const Started&)>;

// What a verb prints to these words, or is refused with.
std::string said(const Verb& verb, const std::string& name, const std::vector<std::string>& words) {
  std::vector<std::string> all{"fourfold-bench", name};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  std::string text;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  try {
    const int status = verb({static_cast<int>(pointers.size()), pointers.data()});
    if (status != 0) text = fmt::format("status {}: ", status);
  } catch (const std::exception& error) {
    text = fmt::format("refused: {}\n", error.what());
  }
  const std::string output = ::testing::internal::GetCapturedStdout();
  return text + ::testing::internal::GetCapturedStderr() + output;
}

class Asked {
 public:
  Asked(Verb verb, std::string name) : verb_(std::move(verb)), name_(std::move(name)) {}

  void add(const std::vector<std::string>& words) {
    std::string answer = said(verb_, name_, words);
    if (!answer.ends_with('\n')) answer += '\n';
    const bool one_line = answer.find('\n') + 1 == answer.size();
    text_ +=
        fmt::format("{} {}{}{}", name_, fmt::join(words, " "), one_line ? ": " : "\n  ", answer);
  }
  // Words as they are typed, with blanks between.
  void add_line(const std::string& line) {
    std::istringstream words(line);
    add({std::istream_iterator<std::string>(words), {}});
  }
  const std::string& text() const { return text_; }

 private:
  Verb verb_;
  std::string name_, text_;
};

TEST(BenchWords, AreTheGoldenOnes) {
  Asked bench(run_bench_verb, "bench");
  for (const char* line : {"", "--plan", "--help"}) bench.add_line(line);
  for (const BenchKind& kind : bench_kinds()) {
    for (const char* flags :
         {"", "--ranks 3", "--ranks 0", "--shapes nt:8x16x24", "--libraries oneDNN",
          "--model gpt2-124m", "--sequences 2", "--precision bf16", "--grid 1x2x1x3",
          "--transports ring,window", "--sizes 8,64KiB", "--folder somewhere", "--platform alps",
          "--rounds 3 --json", "--csv"}) {
      bench.add_line(fmt::format("{} {} --plan", kind.name, flags));
    }
  }
  for (const char* wrong : {"gem",
                            "gemm --rounds 2",
                            "gemm --sequences 0",
                            "gemm --ranks -1",
                            "gemm --ranks 1048577",
                            "gemm --precision fp8",
                            "gemm --grid 2x2",
                            "gemm --grid 5x1x1x1",
                            "gemm --libraries mkl",
                            "gemm --model gpt2-mni",
                            "gemm --json --csv",
                            "collectives --ranks 1",
                            "collectives --grid 1x2x1x3 --ranks 6",
                            "collectives --grid 1x2x1x3 --ranks 5",
                            "collectives --grid 1x1x1x1",
                            "collectives --transports pigeon",
                            "p2p --ranks 1",
                            "checkpoint --grid 5x1x1x1",
                            "attention --sizes 0",
                            "maps maps"}) {
    bench.add_line(wrong + std::string(" --plan"));
  }
  expect_golden("bench_words.txt", bench.text());
}

// Shapes and sizes that are right are asked for as they stand; others are refused by what they are.
TEST(BenchWords, OfShapesAndSizesAreTakenOrRefusedByThemselves) {
  const auto bench = [](const char* kind, const char* flag, const char* word) {
    return said(run_bench_verb, "bench", {kind, flag, word, "--plan"});
  };
  for (const char* shape : {"8x16x24", "NN:8x16x24", "tn:1x1x1", "1048576x8x8"}) {
    EXPECT_EQ(bench("gemm", "--shapes", shape).find("refused"), std::string::npos) << shape;
  }
  for (const char* shape : {"8x8", "8x8x8x8", "0x8x8", "8x0x8", "8x8x0", "8x8x-8", "1048577x8x8",
                            "8x1048577x8", "8x8x1048577", "nn:", "x"}) {
    const std::string words = bench("gemm", "--shapes", shape);
    EXPECT_NE(words.find("refused"), std::string::npos) << shape << ": " << words;
    EXPECT_NE(words.find(shape), std::string::npos) << words;
  }
  for (const char* size : {"1", "3K", "3KiB", "2M", "2MiB", "1G", "1024G"}) {
    EXPECT_EQ(bench("p2p", "--sizes", size).find("refused"), std::string::npos) << size;
  }
  for (const char* size : {"1025G", "1KB", "-1", "0", "1.5M", "1M2", "M"}) {
    const std::string words = bench("p2p", "--sizes", size);
    EXPECT_NE(words.find("refused"), std::string::npos) << size << ": " << words;
    EXPECT_NE(words.find(size), std::string::npos) << words;
  }
}

// A baseline of this build on this machine.
Baseline own_baseline() {
  Baseline baseline;
  baseline.provenance = provenance_now();
  baseline.libraries = "libraries";
  baseline.ranks = 3;
  baseline.fma_peak = 100.5;
  baseline.metrics = {
      {"product", Scale::own_product, {500.5, -0.06, 0.06, "Gflop/s"}, 0.9, {0.8, 0.9, 1.0}},
      {"memory", Scale::absolute, {9.5, -0.2, 0.2, "GB/s"}, 9.5, {9.0, 9.5}},
      {"bus", Scale::traffic, {3.5, -0.5, 0.5, "GB/s bus"}, 3.5, {3.4, 3.6}},
      {"projected", Scale::exact, {1.25, 0.0, 0.0, "Tflop/s"}, 1.25, {}}};
  return baseline;
}

TEST(BaselineFiles, EditedAreRefusedOrAnotherBaseline) {
  edits::Tree tree = edits::Tree::parse(to_json(own_baseline()));
  for (auto& [key, value] : tree["provenance"].items()) {
    if (value.is_string()) value = "a word";
  }
  edits::Sentences said;
  edits::expect_sound({"base.json",
                       tree,
                       [](const edits::Tree& file) {
                         return to_json(baseline_from_json(file.dump(), "base.json"));
                       },
                       {"negative /(fma_peak_Gflops|references/.*)", "huge .*",
                        "empty /(kernels|provenance/.*|references/.*)"},
                       {}},
                      said);
}

TEST(RegressWords, AreTheGoldenOnes) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.file("");
  const std::string base = folder + "base.json", other = folder + "other.json";
  std::ofstream(base) << to_json(own_baseline());
  Baseline baseline = own_baseline();
  baseline.provenance.cpu = "another processor";
  std::ofstream(other) << to_json(baseline);
  Asked regress(run_regress_verb, "regress");
  for (const std::string& line :
       {"--help"s, "--ranks 3 --plan"s, "--ranks -1 --plan"s, "--ranks 3 --quick --json --plan"s,
        "--baseline " + base + " --ranks 3 --plan", "--baseline " + base + " --ranks 4 --plan",
        "--baseline " + folder + "none.json --ranks 3 --plan"}) {
    regress.add_line(line);
  }
  regress.add({"--baseline", "", "--plan"});
  for (const std::string& line : {"--baseline " + base + " --record " + base + " --plan",
                                  "--record " + folder + "new.json --ranks 2 --plan",
                                  "--record " + folder + "nowhere/new.json --ranks 2 --plan",
                                  "--junit " + folder + "new.xml --ranks 2 --plan",
                                  "--junit " + folder + "nowhere/new.xml --ranks 2 --plan",
                                  "--junit " + folder + " --ranks 2 --plan", "--plam"s}) {
    regress.add_line(line);
  }
  std::string text = regress.text();
  for (std::size_t at = 0; (at = text.find(folder)) != std::string::npos;) {
    text.replace(at, folder.size(), "FOLDER/");
  }
  expect_golden("regress_words.txt", text);
  const std::string foreign =
      said(run_regress_verb, "regress", {"--baseline", other, "--ranks", "3", "--plan"});
  EXPECT_NE(foreign.find("does not fit: it was recorded on another processor, and this is "),
            std::string::npos)
      << foreign;
  EXPECT_FALSE(std::filesystem::exists(folder + "new.json"));
}

TEST(DoctorWords, AreTheGoldenOnes) {
  Asked doctor(run_doctor_verb, "doctor");
  for (const char* line : {"--help", "--plan", "--json --plan", "--jsno", "now"})
    doctor.add_line(line);
  expect_golden("doctor_words.txt", doctor.text());
}

}  // namespace
}  // namespace fourfold::tests
