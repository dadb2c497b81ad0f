// The words of software files: kernels counted against the same words said as numbers, each name
// and the functions it speaks of, every sentence about words that are none; what is read, refused
// and taken over from another file, which software a machine has, and what one says about memory.
#include "platforms/software.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "platforms/software_memory.hpp"
#include "schedule/program/function.hpp"
#include "tests/platforms/platform_files.hpp"
#include "tests/platforms/written_machine.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

std::string head(const std::string& attention, const std::string& products) {
  return "title = \"a title\"\nattention = { kernel = \"" + attention +
         "\", source = \"of attention\" }\nproducts = { layouts = \"" + products +
         "\", source = \"of products\" }\ndispatch_us = { value = 6, source = \"of dispatch\", "
         "unconfirmed = true }\n"
         "[maps]\n";
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

template <typename... Functions>
std::vector<const Function*> addresses_of(const Functions&... all) {
  return {&all...};
}

// Functions that software files speak of by their own names, and those beside attention.
std::vector<const Function*> functions_spoken_of() {
  using namespace functions;
  return addresses_of(add_position, attention, scores, attention_backward, qkv_backward, bias,
                      bias_gelu, bias_residual, cast, cast_current, cast_delayed, cast_mx,
                      causal_softmax, causal_softmax_backward, col_sum, gelu_backward, layer_norm,
                      layer_norm_backward, layer_norm_sums, layer_norm_parameters, position_sum,
                      rms_norm, rms_norm_backward, rms_norm_parameters, rms_norm_sums, rotary,
                      rotary_backward, row_exp_and_target, row_max, row_squares, row_sum,
                      softmax_backward, softmax_loss, square_sum, swiglu, swiglu_backward);
}

bool speaks_of(const std::string& name, const Function& function) {
  using namespace functions;
  if (name == "attention_input") return &function == &attention || &function == &scores;
  if (name == "attention_input_backward") {
    return &function == &attention_backward || &function == &qkv_backward;
  }
  return name == function.name;
}

TEST(KernelWords, OfANameReachItsFunctionsAndNoOthers) {
  for (const std::string& name : known_maps()) {
    SCOPED_TRACE(name);
    const Software software = read_software(scratch_file(
        head("flash-2", "default") + rule_of(name, "\"read 2\", \"2 x write 4 of 1/2\"")));

    ASSERT_EQ(software.rules.size(), 1U);
    EXPECT_EQ(software.rules[0].name, name);
    EXPECT_EQ(software.rules[0].kernels.size(), 2U);
    EXPECT_EQ(software.rules[0].source, "of " + name);
    EXPECT_FALSE(software.rules[0].unconfirmed);
    const bool beside = name.starts_with("attention_input");
    int reached = 0;
    for (const Function* function : functions_spoken_of()) {
      const MapKernels* instead = software.kernels_of(*function);
      const MapKernels* with = software.kernels_beside(*function);
      const bool spoken_of = speaks_of(name, *function);
      EXPECT_EQ(instead != nullptr, spoken_of && !beside) << function->name;
      EXPECT_EQ(with != nullptr, spoken_of && beside) << function->name;
      reached += spoken_of ? 1 : 0;
      if (instead != nullptr) {
        EXPECT_EQ(instead->size(), 3U);
      }
    }
    EXPECT_EQ(software.add() != nullptr, name == "add");
    EXPECT_EQ(software.update() != nullptr, name == "update");
    EXPECT_EQ(software.gradient_sum() != nullptr, name == "gradient_sum");
    const bool other = name == "add" || name == "update" || name == "gradient_sum";
    EXPECT_EQ(reached, other ? 0 : beside ? 2 : 1);
  }
}

// A wrong number of the software is refused with its own file, whichever machine asks.
TEST(Software, IsRefusedWithItsOwnPathWhenAMachineAsks) {
  std::string text = head("flash-2", "tuned");
  text.replace(text.find("value = 6"), 9, "value = -6");
  const std::string file = scratch_file(text);

  const std::string said =
      tests::refusal<std::runtime_error>([&] { WrittenMachine().read({}, file); });

  EXPECT_EQ(said, file + ", line 4: software.dispatch_us is -6, but it must be 0 or more");
}

// A relative path in a machine's file is meant from where that file lies; one that is asked for is
// meant from here.
TEST(Software, OfAMachineMayLieBesideItsFile) {
  const std::string file = scratch_file(head("flash-3", "tuned"));
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

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

TEST(Software, IsReadWithItsNumbersAsFactsOfTheMachine) {
  const std::string file =
      scratch_file(head("flash-2", "default") + rule_of("layer_norm", "\"read 2 write 2\"") +
                   rule_of("row_sum", ""));

  const Platform platform = read_platform("crossbar", {{"software.dispatch_us", 2.0}}, file);

  EXPECT_DOUBLE_EQ(platform.software.dispatch.value, 12e-6);
  EXPECT_EQ(platform.facts.back().key, "software.dispatch_us");
  EXPECT_TRUE(platform.facts.back().unconfirmed);
  EXPECT_EQ(platform.software.kernels_of(functions::layer_norm)->size(), 1u);
  EXPECT_TRUE(platform.software.kernels_of(functions::row_sum)->empty());
  EXPECT_EQ(platform.software.kernels_of(functions::bias), nullptr);
}

TEST(Software, ThatIsUnknownNamesTheNearest) {
  EXPECT_THAT(
      tests::refusal<std::runtime_error>([] { read_platform("crossbar", {}, "axonn-litgtp"); }),
      HasSubstr("axonn-litgpt"));
}

TEST(Software, OfAMachineIsItsOwnUnlessAnotherIsAskedFor) {
  EXPECT_EQ(read_platform("frontier").software.name, "axonn-litgpt");
  EXPECT_EQ(read_platform("frontier", {}, "fused").software.name, "fused");
  EXPECT_EQ(read_platform("crossbar").software.name, "fused");
}

TEST(Software, MayBeLikeOneThatIsLikeAnother) {
  const std::string first =
      scratch_file(head("flash-2", "default") + rule_of("layer_norm", "\"read 2\""), "first.toml");
  const std::string second =
      scratch_file("title = \"second\"\nlike = \"" + first +
                       "\"\nbeside_products = { value = true, source = \"second\" }\n",
                   "second.toml");
  const std::string third =
      scratch_file("title = \"third\"\nlike = \"" + second + "\"\n", "third.toml");

  const Software software = read_software(third);

  EXPECT_EQ(software.title, "third");
  EXPECT_TRUE(software.beside_products);
  EXPECT_EQ(software.beside_products_source, "second");
  EXPECT_EQ(software.rules.front().source, "of layer_norm");
  EXPECT_FALSE(read_software(first).beside_products);
}

TEST(Software, ThatIsInTheEndLikeItselfIsRefused) {
  const std::string path = scratch("round.toml").string(), other = scratch("other.toml").string();
  for (const std::string& next : {path, other}) {
    std::ofstream(path) << "title = \"a\"\nlike = \"" << next << "\"\n";
    std::ofstream(other) << "title = \"b\"\nlike = \"" << path << "\"\n";
    for (const std::string& asked : {path, other}) {
      EXPECT_THAT(tests::refusal<std::runtime_error>([&] { read_software(asked); }),
                  HasSubstr("is in the end like a file that is like it"));
    }
  }
}

TEST(Software, ThatComesWithFourfoldIsRead) {
  EXPECT_THAT(known_software(), IsSupersetOf({"fused", "axonn-litgpt", "megatron-core"}));
  for (const std::string& name : known_software()) {
    const Software software = read_software(name);
    EXPECT_EQ(software.name, name);
    std::set<std::string> described;
    for (const MapRule& rule : software.rules) {
      EXPECT_FALSE(rule.source.empty()) << rule.name;
      EXPECT_TRUE(described.insert(rule.name).second) << name << " says " << rule.name << " twice";
    }
  }
}

std::string like_megatron(const std::string& name, const std::string& text) {
  return scratch_file("title = \"mine\"\nlike = \"megatron-core\"\n" + text, name + ".toml");
}

Platform with(const std::string& software, const Scales& scales = {}) {
  return read_platform("crossbar", scales, software);
}

double keeps(const SoftwareMemory& memory, const Function& function) {
  for (const FunctionBytes& one : memory.functions) {
    if (one.function == &function) return one.keeps;
  }
  return 0.0;
}

TEST(SoftwareMemory, IsTheStepsWhereASoftwareSaysNothing) {
  const SoftwareMemory memory = software_memory(with("fused"));

  EXPECT_TRUE(memory.functions.empty());
  EXPECT_FALSE(memory.weights.has_value());
}

TEST(SoftwareMemory, OfMegatronIs18BytesAParameterAndAMaskForEachDropout) {
  const SoftwareMemory memory = software_memory(with("megatron-core"));

  EXPECT_EQ(*memory.weights + *memory.gradients + *memory.optimizer, 18.0);
  EXPECT_TRUE(memory.gradients_ahead);
  EXPECT_EQ(keeps(memory, functions::bias_residual), 1.0);
}

TEST(SoftwareMemory, IsTakenOverFromAnotherUnlessTheFileHasItsOwn) {
  const std::string kept = like_megatron("kept", "");
  const std::string own =
      like_megatron("own", "[memory]\nweights = { value = 3, source = \"me\" }\n");

  EXPECT_EQ(software_memory(with(kept)).optimizer, 12.0);
  EXPECT_EQ(software_memory(with(own)).weights, 3.0);
  EXPECT_FALSE(software_memory(with(own)).optimizer.has_value());
}

TEST(SoftwareMemory, OfAFunctionThatNobodyKnowsIsRefused) {
  for (const char* manner : {"keeps", "gathers", "expands", "makes"}) {
    const std::string head = std::string("[memory.") + manner + "]\n";
    const auto said = [&](const std::string& function) {
      const std::string path =
          like_megatron("strange", head + function + " = { value = 1, source = \"me\" }\n");
      return refusal<std::runtime_error>([&] { with(path); });
    };
    EXPECT_EQ(said("rotary"), "accepted");
    EXPECT_THAT(said("rotari"), HasSubstr("is not known; did you mean \"rotary\"?")) << manner;
  }
}

TEST(SoftwareMemory, IsScaledAsItsFactsAre) {
  const Scales twice{{"software.memory.keeps.bias_residual", 2.0},
                     {"software.memory.workspaces_MiB", 0.5}};

  const SoftwareMemory scaled = software_memory(with("megatron-core", twice));

  EXPECT_EQ(keeps(scaled, functions::bias_residual), 2.0);
  EXPECT_EQ(scaled.workspaces * 2.0, software_memory(with("megatron-core")).workspaces);
}

}  // namespace
}  // namespace fourfold::tests
