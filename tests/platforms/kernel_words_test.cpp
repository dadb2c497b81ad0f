// The words of software files: kernels counted against the same words said as numbers, each name
// and the functions it speaks of, and every sentence about words that are none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "platforms/software.hpp"
#include "schedule/program/function.hpp"
#include "tests/platforms/written_machine.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

std::string head(const std::string& attention, const std::string& products) {
  return "title = \"a title\"\nattention = { kernel = \"" + attention +
         "\", source = \"of attention\" }\nproducts = { layouts = \"" + products +
         "\", source = \"of products\" }\ndispatch_us = { value = 6, source = \"of dispatch\" }\n"
         "[maps]\n";
}

std::string file_of(const std::string& text) {
  const auto path = scratch("words.toml");
  std::ofstream(path) << text;
  return path.string();
}

std::string rule_of(const std::string& name, const std::string& kernels) {
  return name + " = { kernels = [" + kernels + "], source = \"of " + name + "\" }\n";
}

// Drawn kernels: as words, and what these move.
TEST(KernelWords, MoveWhatTheySay) {
  std::mt19937 random(3);
  const auto below = [&](unsigned limit) { return static_cast<int>(random() % limit); };
  for (int round = 0; round < 400; ++round) {
    const int times = below(2) == 0 ? 1 : 1 + below(100);
    std::string words = times > 1 ? fmt::format("{} x", times) : "";
    double stored = 0.0, bytes = 0.0;
    for (const char* way : {" read", " write"}) {
      words += way;
      for (int i = below(4) + 1; i > 0; --i) {
        const int width = 1 << below(4);
        words += fmt::format(" {}", width);
        (width == 2 ? stored : bytes) += width == 2 ? 1.0 : width;
      }
    }
    if (below(2) == 0) {
      const int below_line = 1 + below(6);
      const int above_line = 1 + below(static_cast<unsigned>(below_line));
      words += fmt::format(" of {}/{}", above_line, below_line);
      stored *= static_cast<double>(above_line) / below_line;
      bytes *= static_cast<double>(above_line) / below_line;
    }

    const MapKernels kernels = map_kernels(words);

    ASSERT_EQ(kernels.size(), static_cast<std::size_t>(times)) << words;
    for (const MapKernel& kernel : kernels) {
      EXPECT_DOUBLE_EQ(kernel.stored, stored) << words;
      EXPECT_DOUBLE_EQ(kernel.bytes, bytes) << words;
      EXPECT_EQ(kernel.time.value, 0.0) << words;
    }
  }
}

TEST(KernelWords, MayBeMeasuredTimesAndPartsWithoutALine) {
  const MapKernels measured = map_kernels("0.5 ns");
  ASSERT_EQ(measured.size(), 1U);
  EXPECT_DOUBLE_EQ(measured[0].time.value, 0.5e-9);
  EXPECT_EQ(measured[0].stored + measured[0].bytes, 0.0);
  EXPECT_DOUBLE_EQ(map_kernels("write 4 of 0.25")[0].bytes, 1.0);
  EXPECT_DOUBLE_EQ(map_kernels("write 2 of 1")[0].stored, 1.0);
  EXPECT_DOUBLE_EQ(map_kernels("write 8 of 3/3")[0].bytes, 8.0);
  EXPECT_DOUBLE_EQ(map_kernels("read 2 read 4")[0].bytes, 4.0);
  EXPECT_EQ(map_kernels("1 x read 2").size(), 1U);
  EXPECT_EQ(map_kernels("100 x read 2").size(), 100U);
}

TEST(KernelWords, ThatAreNoneAreRefusedInASentence) {
  const auto said = [](const std::string& words) {
    return tests::refusal<std::invalid_argument>([&] { map_kernels(words); });
  };
  for (const char* words : {"101 x read 2", "0 x read 2", "1.5 x read 2", "-2 x read 2",
                            "many x read 2", "2x x read 2"}) {
    EXPECT_EQ(said(words),
              fmt::format("\"{}\": what stands before \"x\" must be 1 to 100 launches", words));
  }
  for (const char* words : {"0 ns", "-1 ns", "fast ns", "1e ns"}) {
    EXPECT_EQ(
        said(words),
        fmt::format("\"{}\": what stands before \"ns\" must be a number from 1e-6 to 1e9", words));
  }
  for (const char* words :
       {"read 2 of 3/2", "read 2 of half", "read 2 of 1/0", "read 2 of 0/1", "read 2 of -1/2",
        "read 2 of 1/-2", "read 2 of 1.5", "read 2 of 1/2/3", "read 2 of /2", "read 2 of 1/"}) {
    EXPECT_EQ(said(words),
              fmt::format("\"{}\": what follows \"of\" must be a part such as 1/3", words));
  }
  for (const char* words :
       {"2 2", "read 3", "read 16", "reads 2", "read 2 of 1/2 write 2", "read 2 of", "x read 2",
        "2 x 3 x read 2", "read 2 2.5", "0.4 ns ns", "read 2 ns", "of 1/2 read 2"}) {
    EXPECT_EQ(said(words),
              fmt::format("\"{}\" is no kernel: a kernel is read and write, each with the widths "
                          "of an element in bytes (1, 2, 4 or 8), as in \"read 2 2 write 2\", or "
                          "\"0.4 ns\"",
                          words));
  }
  for (const char* words : {"", "read", "read write", "3 x", "2 x read"}) {
    EXPECT_EQ(said(words), fmt::format("\"{}\" moves nothing", words));
  }
}

// Functions by the names of software files.
std::map<std::string, std::vector<const Function*>> functions_by_name() {
  using namespace functions;
  return {{"add_position", {&add_position}},
          {"attention_input", {&attention, &scores}},
          {"attention_input_backward", {&attention_backward, &qkv_backward}},
          {"bias", {&bias}},
          {"bias_gelu", {&bias_gelu}},
          {"bias_residual", {&bias_residual}},
          {"cast", {&cast}},
          {"cast_current", {&cast_current}},
          {"cast_delayed", {&cast_delayed}},
          {"cast_mx", {&cast_mx}},
          {"causal_softmax", {&causal_softmax}},
          {"causal_softmax_backward", {&causal_softmax_backward}},
          {"col_sum", {&col_sum}},
          {"gelu_backward", {&gelu_backward}},
          {"layer_norm", {&layer_norm}},
          {"layer_norm_backward", {&layer_norm_backward}},
          {"layer_norm_parameters", {&layer_norm_parameters}},
          {"layer_norm_sums", {&layer_norm_sums}},
          {"position_sum", {&position_sum}},
          {"rms_norm", {&rms_norm}},
          {"rms_norm_backward", {&rms_norm_backward}},
          {"rms_norm_parameters", {&rms_norm_parameters}},
          {"rms_norm_sums", {&rms_norm_sums}},
          {"rotary", {&rotary}},
          {"rotary_backward", {&rotary_backward}},
          {"row_exp_and_target", {&row_exp_and_target}},
          {"row_max", {&row_max}},
          {"row_squares", {&row_squares}},
          {"row_sum", {&row_sum}},
          {"softmax_backward", {&softmax_backward}},
          {"softmax_loss", {&softmax_loss}},
          {"square_sum", {&square_sum}},
          {"swiglu", {&swiglu}},
          {"swiglu_backward", {&swiglu_backward}}};
}

TEST(KernelWords, OfANameReachItsFunctionsAndNoOthers) {
  const auto functions = functions_by_name();
  for (const std::string& name : known_maps()) {
    const Software software = read_software(
        file_of(head("flash-2", "default") + rule_of(name, "\"read 2\", \"2 x write 4 of 1/2\"")));

    ASSERT_EQ(software.rules.size(), 1U) << name;
    EXPECT_EQ(software.rules[0].name, name);
    EXPECT_EQ(software.rules[0].kernels.size(), 2U);
    EXPECT_EQ(software.rules[0].source, "of " + name);
    EXPECT_FALSE(software.rules[0].unconfirmed);
    const bool beside = name.starts_with("attention_input");
    for (const auto& [other, pointers] : functions) {
      for (const Function* function : pointers) {
        const MapKernels* instead = software.kernels_of(*function);
        const MapKernels* with = software.kernels_beside(*function);
        EXPECT_EQ(instead != nullptr, other == name && !beside) << name << " at " << other;
        EXPECT_EQ(with != nullptr, other == name && beside) << name << " at " << other;
        if (instead != nullptr) {
          EXPECT_EQ(instead->size(), 3U);
        }
      }
    }
    EXPECT_EQ(software.add() != nullptr, name == "add") << name;
    EXPECT_EQ(software.update() != nullptr, name == "update") << name;
    EXPECT_EQ(software.gradient_sum() != nullptr, name == "gradient_sum") << name;
    EXPECT_TRUE(functions.contains(name) || name == "add" || name == "update" ||
                name == "gradient_sum")
        << name;
  }
}

TEST(KernelWords, OfOtherOperationsAreTheirOwn) {
  const Software software = read_software(
      file_of(head("flash-2", "default") + rule_of("add", "\"read 2\"") +
              rule_of("gradient_sum", "\"read 4\"") + rule_of("update", "\"read 1\"")));

  EXPECT_EQ(software.add()->at(0).stored, 1.0);
  EXPECT_EQ(software.gradient_sum()->at(0).bytes, 4.0);
  EXPECT_EQ(software.update()->at(0).bytes, 1.0);
}

TEST(Software, KeepsItsSourcesMarksAndChoices) {
  const std::map<std::string, AttentionSoftware> kernels{{"unfused", AttentionSoftware::unfused},
                                                         {"flash-1", AttentionSoftware::flash_1},
                                                         {"flash-2", AttentionSoftware::flash_2},
                                                         {"flash-3", AttentionSoftware::flash_3}};
  for (const auto& [word, attention] : kernels) {
    for (const char* layouts : {"default", "tuned"}) {
      const Software software = read_software(
          file_of(head(word, layouts) +
                  "bias = { kernels = [\"0.5 ns\"], source = \"of bias\", unconfirmed = true }\n"
                  "cast = { kernels = [], source = \"of cast\", unconfirmed = false }\n"));

      EXPECT_EQ(software.attention, attention);
      EXPECT_EQ(word, name(attention));
      EXPECT_EQ(software.tuned_products, std::string(layouts) == "tuned");
      EXPECT_EQ(software.title, "a title");
      EXPECT_EQ(software.attention_source, "of attention");
      EXPECT_EQ(software.products_source, "of products");
      EXPECT_DOUBLE_EQ(software.dispatch.value, 6e-6);
      ASSERT_EQ(software.rules.size(), 2U);
      EXPECT_TRUE(software.rules[0].unconfirmed);
      EXPECT_FALSE(software.rules[1].unconfirmed);
      EXPECT_TRUE(software.kernels_of(functions::cast)->empty());
    }
  }
}

// A wrong number of the software is refused with its own file, whichever machine asks.
TEST(Software, IsRefusedWithItsOwnPathWhenAMachineAsks) {
  std::string text = head("flash-2", "tuned");
  text.replace(text.find("value = 6"), 9, "value = -6");
  const std::string file = file_of(text);

  const std::string said =
      tests::refusal<std::runtime_error>([&] { WrittenMachine().read({}, file); });

  EXPECT_EQ(said, file + ", line 4: software.dispatch_us is -6, but it must be 0 or more");
}

// A relative path in a machine's file is meant from where that file lies; one that is asked for is
// meant from here.
TEST(Software, OfAMachineMayLieBesideItsFile) {
  const std::string file = file_of(head("flash-3", "tuned"));
  WrittenMachine machine;
  machine.top = "software = \"" + std::filesystem::path(file).filename().string() + "\"\n";

  const Platform platform = machine.read();

  EXPECT_EQ(platform.default_software, file);
  EXPECT_EQ(platform.software.path, file);
  EXPECT_EQ(platform.software.attention, AttentionSoftware::flash_3);
  EXPECT_EQ(platform.facts.back().key, "software.dispatch_us");
  EXPECT_EQ(machine.read({}, "deepspeed").default_software, file);
  EXPECT_EQ(machine.read({}, "deepspeed").software.name, "deepspeed");
  machine.top = "software = \"nowhere.toml\"\n";
  EXPECT_EQ(machine.said(),
            "there is no software file \"" +
                (std::filesystem::path(file).parent_path() / "nowhere.toml").string() + "\"");
}

}  // namespace
}  // namespace fourfold::tests
