// Words of Megatron-LM and GPT-NeoX as flags; see launch_flags.hpp.
#include "scaling/cli/launch_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cctype>
#include <optional>
#include <stdexcept>
#include <utility>

#include "scaling/cli/launch_job.hpp"
#include "scaling/find/strategy_words.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/models/launch_words.hpp"
#include "schedule/program/without_effect.hpp"
#include "support/counts_of_1024.hpp"
#include "support/prose.hpp"
#include "support/shell_word.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

using Flag = std::pair<std::string, std::string>;

std::string recompute_of(const LaunchWords& words) {
  const bool all = words.flag("checkpoint-activations") || words.flag("recompute-full");
  const std::string usual = all                                   ? "full"
                            : words.flag("recompute-activations") ? "selective"
                                                                  : "none";
  const std::string how = words.word({"recompute-granularity"}, usual);
  const std::string modules = words.word({"recompute-modules"}, "core_attn");
  if (how != "selective" || modules == "core_attn") return how;
  if (modules == "mlp") return "mlp";
  if (modules == "layernorm") return "norms";
  words.refuse("recompute-modules " + modules +
               " cannot be said here: it is one of core_attn, mlp and layernorm, alone");
}

// Of the layers of a stage, where not all are recomputed.
std::vector<Flag> recomputed_layers_of(const LaunchWords& words) {
  const std::string method = words.word({"recompute-method"}, "uniform");
  const std::int64_t layers = words.number({"recompute-num-layers", "checkpoint-num-layers"}, 1);
  if (method == "block" && layers > 0) return {{"--recompute-layers", fmt::to_string(layers)}};
  if (method != "uniform" || layers != 1) {
    words.refuse(
        "recompute is of every layer by itself here: recompute-method uniform with "
        "recompute-num-layers 1, or block with as many layers as are recomputed");
  }
  return {};
}

// Layers on the first and the last stage, where they are not as many as on the others.
std::vector<Flag> uneven_stages_of(const LaunchWords& words, const LaunchJob& job,
                                   std::int64_t layers) {
  std::int64_t inner = job.stages;
  const auto end = [&](const std::string& which) {
    const std::int64_t count = words.number({"decoder-" + which + "-pipeline-num-layers"}, 0);
    if (count > 0) --inner;
    return count;
  };
  const std::int64_t first = end("first"), last = end("last");
  if (job.stages == 1 || inner == job.stages) return {};
  const std::int64_t rest = layers - first - last;
  if (rest < 0 || (inner > 0 ? rest % inner != 0 : rest != 0)) {
    words.refuse(fmt::format("{} layers are left for {} stages, which do not share them evenly",
                             rest, inner));
  }
  std::vector<std::string> counts;
  if (first > 0) counts.push_back(fmt::to_string(first));
  if (inner > 0) counts.push_back(fmt::format("{}x{}", inner, rest / inner));
  if (last > 0) counts.push_back(fmt::to_string(last));
  return {{"--layers-per-stage", fmt::format("{}", fmt::join(counts, ","))}};
}

// Whether it is a whole word of a text: "fused" is none of "unfused".
bool has_word(const std::string& text, const std::string& word) {
  const auto inside = [&](std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 ||
                                text[at] == '_' || text[at] == '-');
  };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    if ((at == 0 || !inside(at - 1)) && !inside(at + word.size())) return true;
  }
  return false;
}

std::string attention_of(const LaunchWords& words) {
  const std::string kinds = words.word({"attention-config", "attention-backend"}, "");
  const auto says = [&](const char* kind) { return has_word(kinds, kind); };
  if (words.flag("use-flash-attn") || says("flash") || says("fused")) return "fused";
  return says("global") || says("unfused") || says("local") ? "unfused" : "";
}

// 16 bits, of either kind, or 32.
std::string precision_of(const LaunchWords& words) {
  const std::string said = words.word({"precision"}, "");
  const bool half = words.flag("bf16") || words.flag("fp16") || words.flag("fp16.enabled") ||
                    words.flag("bf16.enabled") || said.ends_with("16");
  return half ? "bf16" : "fp32";
}

// Megatron-LM reduces gradients of bf16 in fp32 of its own accord, those of fp16 as they are.
bool reduces_in_16_bits(const LaunchWords& words) {
  const bool in_fp32 = words.flag("accumulate-allreduce-grads-in-fp32");
  const bool as_fp16 = !words.is_neox() && words.flag("fp16") && !in_fp32;
  return words.flag("grad-reduce-in-bf16") || as_fp16;
}

struct Overlaps {
  std::string list, data_reduction;
};

Overlaps overlaps_of(const LaunchWords& words, bool interleaved) {
  const bool gradients =
      words.flag("overlap-grad-reduce") || words.flag("zero-optimization.overlap-comm");
  std::string list;
  const auto add = [&list](bool on, const char* word) {
    if (on) list += (list.empty() ? "" : ",") + std::string(word);
  };
  add(words.flag("tp-comm-overlap"), "oar");
  add(gradients, "ors");
  add(words.flag("overlap-param-gather"), "oag");
  add(interleaved && !words.flag("no-overlap-p2p-communication"), "messages");
  return {list.empty() ? "none" : list, gradients ? "beside-backward" : "after-backward"};
}

// The order and its chunks, which are layers on a stage by the number that they have.
std::vector<Flag> order_of(const LaunchWords& words, const LaunchJob& job, std::int64_t layers) {
  const std::int64_t of_a_chunk = words.number({"num-layers-per-virtual-pipeline-stage"}, 0);
  std::int64_t chunks = words.number({"num-virtual-stages-per-pipeline-rank"}, 1);
  if (of_a_chunk > 0) chunks = layers / job.stages / of_a_chunk;
  if (of_a_chunk > 0 && chunks * job.stages * of_a_chunk != layers) {
    words.refuse(fmt::format("{} layers on {} are no multiple of {} a virtual stage", layers,
                             counted(job.stages, "stage"), of_a_chunk));
  }
  if (job.stages == 1 || chunks <= 1) return {{"--order", "1f1b"}, {"--chunks", "1"}};
  return {{"--order", "interleaved"}, {"--chunks", fmt::to_string(chunks)}};
}

std::vector<Flag> step_of(const LaunchWords& words, const LaunchJob& job, std::int64_t layers) {
  const std::int64_t zero = words.number({"zero-optimization.stage", "zero-stage"},
                                         words.flag("use-distributed-optimizer") ? 1 : 0);
  const bool sequence_parallel = words.flag("sequence-parallel") && job.x > 1;
  std::vector<Flag> flags = order_of(words, job, layers);
  const Overlaps overlaps = overlaps_of(words, flags.front().second == "interleaved");
  flags.insert(flags.end(), {{"--precision", precision_of(words)},
                             {"--recompute", recompute_of(words)},
                             {"--overlap", overlaps.list},
                             {"--gradient-reduction", "accumulated"},
                             {"--data-reduction", overlaps.data_reduction},
                             {"--zero", fmt::to_string(job.shares != 1 ? zero : 0)},
                             {"--sequence-parallel", sequence_parallel ? "on" : "off"}});
  for (std::vector<Flag> more :
       {recomputed_layers_of(words), uneven_stages_of(words, job, layers)}) {
    flags.insert(flags.end(), more.begin(), more.end());
  }
  if (const std::string attention = attention_of(words); !attention.empty()) {
    flags.emplace_back("--attention", attention);
  }
  if (const std::int64_t unit = words.number({"make-vocab-size-divisible-by"}, 0); unit > 0) {
    flags.emplace_back("--pad-vocabulary", fmt::to_string(unit));
  }
  const bool in_cpu =
      words.flag("checkpoint-in-cpu") || words.flag("activation-checkpointing.cpu-checkpointing");
  if (in_cpu && recompute_of(words) == "full") flags.emplace_back("--offload-activations", "on");
  if (reduces_in_16_bits(words)) flags.emplace_back("--grad-precision-data", "bf16");
  // Megatron-LM counts what is left of gradients on a device, before data cuts them.
  const std::int64_t bucket = words.number({"ddp-bucket-size"}, 0);
  if (bucket > 0) {
    flags.emplace_back("--data-bucket", fmt::to_string(bucket * job.x));
    flags.emplace_back("--data-bucket-each", "0");
  }
  if (words.flag("tp-comm-overlap") && sequence_parallel) {
    flags.emplace_back("--software", "megatron-core-userbuffers");
  }
  return flags;
}

std::vector<Flag> flags_in(const std::string& text, const LaunchWords& words,
                           const BesideLaunch& typed, std::int64_t layers, bool wants_grid) {
  const LaunchJob job = launch_job(words, typed);
  if (wants_grid && job.devices == 0) {
    words.refuse(
        "how many devices there are is not said: give --devices, or nnodes and nproc-per-node");
  }
  std::vector<Flag> flags{{"--model", text}};
  flags.emplace_back(words.is_neox() ? "--software" : "--system",
                     words.is_neox() ? "gpt-neox" : "megatron-core");
  if (job.devices > 0) {
    flags.emplace_back("--devices", fmt::to_string(job.devices));
    flags.emplace_back("--grid",
                       fmt::format("x={},pipe={},data={}", job.x, job.stages, job.shares));
    const std::int64_t together = typed.micro_batches ? 0 : job.micro_batch * job.shares;
    if (together > 0 && job.batch % together != 0) {
      words.refuse(fmt::format("a batch of {} sequences is no multiple of {} x {} replicas",
                               job.batch, job.micro_batch, job.shares));
    }
    if (together > 0) flags.emplace_back("--micro-batches", fmt::to_string(job.batch / together));
  }
  if (job.batch > 0) flags.emplace_back("--global-batch-size", fmt::to_string(job.batch));
  for (Flag& flag : step_of(words, job, layers)) flags.push_back(std::move(flag));
  return flags;
}

// The verb that the first words name.
const CLI::App* verb_of(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* verb = &app;
  for (const std::string& word : words) {
    const auto known =
        verb->get_subcommands([&](const CLI::App* one) { return one->check_name(word); });
    if (known.empty()) break;
    verb = known.front();
  }
  return verb;
}

// Where a flag stands among the words, and its value: after it, or behind '='.
std::optional<std::string> value_of(const std::vector<std::string>& words,
                                    const std::string& flag) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(flag + "=")) return words[i].substr(flag.size() + 1);
    if (words[i] == flag) return i + 1 < words.size() ? words[i + 1] : "";
  }
  return std::nullopt;
}

void take_out(std::vector<std::string>& words, const std::string& flag) {
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (*word != flag && !word->starts_with(flag + "=")) continue;
    const bool apart = *word == flag && word + 1 != words.end();
    words.erase(word, word + (apart ? 2 : 1));
    return;
  }
}

// The number of a word, which may be 4M; 0 if it is none, or nothing was typed.
std::int64_t number_of(std::optional<std::string> word) {
  if (!word) return 0;
  counts_of_1024()(*word);
  const bool whole =
      word->size() < 18 && word->find_first_not_of("0123456789") == std::string::npos;
  return whole && !word->empty() ? std::stoll(*word) : 0;
}

// `launch` is "--megatron" or "--neox". A question of several sizes has not the grid that it says.
BesideLaunch beside_in(const std::vector<std::string>& words, const std::string& launch,
                       std::int64_t sequence) {
  for (const char* const flag : {"--grid", "--devices", "--nodes"}) {
    const auto word = value_of(words, flag);
    const bool of_grid = flag == std::string("--grid");
    if (!word || (of_grid ? !lists_grids(*word) : number_of(word) > 0 && flag[2] == 'd')) continue;
    throw std::runtime_error(fmt::format(
        "{} says one grid, and {} {} is not one: give {}, or what it says as --model, whose grids "
        "are searched",
        launch, flag, *word, of_grid ? "one" : "one number of --devices"));
  }
  BesideLaunch typed;
  if (const auto grid = value_of(words, "--grid")) typed.grid = ProcessGrid::parse(*grid);
  typed.devices = number_of(value_of(words, "--devices"));
  const std::int64_t asked = number_of(value_of(words, "--sequence"));
  typed.batch = number_of(value_of(words, "--global-batch-size"));
  if (const std::int64_t tokens = number_of(value_of(words, "--batch-tokens")); tokens > 0) {
    typed.batch = tokens / (asked > 0 ? asked : sequence);
  }
  typed.micro_batch = number_of(value_of(words, "--micro-batch-size"));
  typed.micro_batches = value_of(words, "--micro-batch-size") || value_of(words, "--micro-batches");
  return typed;
}

// Whether what was typed leaves no place for a flag that the launch says: it says the same
// otherwise, or leaves it nothing to do.
bool loses(const std::string& flag, const std::vector<std::string>& words,
           const StepOptions& options) {
  if (value_of(words, flag)) return true;
  for (const auto& [said, other] :
       {std::pair{"--global-batch-size", "--batch-tokens"}, std::pair{"--order", "--chunks"},
        std::pair{"--chunks", "--order"}, std::pair{"--layers-per-stage", "--grid"}}) {
    if (flag == said && value_of(words, other)) return true;
  }
  return std::ranges::any_of(step_fields().facts(), [&](const FieldFacts& field) {
    return field.flag == flag && why_without_effect(field.key, options);
  });
}

// The step of the launch's flags with those that were typed.
StepOptions step_with(const std::vector<Flag>& flags, const std::vector<std::string>& words) {
  StepOptions options;
  for (const std::string& flag : flags_of(step_fields().facts())) {
    const auto said = std::ranges::find(flags, flag, &Flag::first);
    const auto word = value_of(words, flag);
    if (!word && said == flags.end()) continue;
    try {
      options = step_fields().with(options, flag, word ? *word : said->second);
    } catch (const std::exception&) {
      continue;  // the flag itself refuses it, or takes it as a list to search
    }
  }
  return options;
}

}  // namespace

void add_launch_flags(CLI::App& verb) {
  verb.add_option("--megatron",
                  "\"ARGUMENTS\" of Megatron-LM instead: model, grid, batch, "
                  "recompute, ZeRO; flags typed besides win");
  verb.add_option("--neox", "FILE.yml of GPT-NeoX instead, in the same way");
}

std::vector<std::string> with_launch_flags(const CLI::App& app, std::vector<std::string> words) {
  // Arguments in one word begin like a flag, which none of them is.
  for (std::string& word : words) {
    const std::size_t end = word.find_first_of(" =");
    if (end == std::string::npos || !word.starts_with("--") || !says_launch(word)) continue;
    const CLI::App* const verb = verb_of(app, words);
    if (verb->get_option_no_throw(word.substr(0, end)) == nullptr &&
        word.find(" --") != std::string::npos) {
      word.insert(0, " ");
    }
  }
  for (const char* const name : {"--megatron", "--neox"}) {
    const auto text = value_of(words, name);
    const CLI::App* const verb = verb_of(app, words);
    if (!text || verb->get_option_no_throw(name) == nullptr) continue;
    const bool is_neox = name == std::string("--neox");
    if (!says_launch(*text) || LaunchWords::is_yml(*text) != is_neox) {
      throw std::runtime_error(
          fmt::format("{} takes {}", name,
                      is_neox ? fmt::format("a .yml file of GPT-NeoX, not '{}'", *text)
                              : "arguments of Megatron-LM, each after its --name"));
    }
    take_out(words, name);
    for (const char* const other : {"--megatron", "--neox"}) {
      if (!value_of(words, other)) continue;
      throw std::runtime_error(fmt::format("{} and {} are two questions; give one", name, other));
    }
    const LaunchWords launch(*text);
    const bool wants_grid = verb->get_option_no_throw("--grid") != nullptr &&
                            verb->get_option_no_throw("--platform") != nullptr;
    std::string said;
    const Model model = model_in_launch(launch).model;
    const BesideLaunch typed = beside_in(words, name, model.sequence);
    const std::vector<Flag> flags = flags_in(*text, launch, typed, model.layers, wants_grid);
    const StepOptions step = step_with(flags, words);
    const std::vector<std::string> before = words;
    for (const auto& [flag, value] : flags) {
      if (verb->get_option_no_throw(flag) == nullptr || loses(flag, before, step)) continue;
      words.push_back(flag + "=" + value);
      if (flag != "--model") said += " " + flag + " " + shell_argument(value);
    }
    say_line(fmt::format("note: {} says{}.", name, said));
    const std::vector<std::string> rest = launch.not_asked();
    if (!rest.empty()) {
      say_line(fmt::format("note: {} says what nothing here speaks of: {}.", name,
                           fmt::join(rest, ", ")));
    }
  }
  return words;
}

}  // namespace fourfold::inline scaling::inline cli
