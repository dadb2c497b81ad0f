// fourfold-engine checkpoint: whole weights on one rank, between two layouts; see
// convert_verb.hpp.
#include "engine/train/checkpoint/convert_verb.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "engine/host_memory.hpp"
#include "engine/train/checkpoint/carried_files.hpp"
#include "engine/train/checkpoint/checkpoint.hpp"
#include "engine/train/checkpoint/checkpoint_folder.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/checkpoint/end_words.hpp"
#include "engine/train/checkpoint/foreign_writer.hpp"
#include "engine/train/checkpoint/hugging_face.hpp"
#include "engine/train/checkpoint/imported.hpp"
#include "engine/train/checkpoint/resume.hpp"
#include "engine/train/data/token_file.hpp"
#include "engine/train/flags/command_line.hpp"
#include "schedule/order/step.hpp"
#include "support/exit_status.hpp"
#include "support/flag_checks.hpp"
#include "support/help_format.hpp"
#include "support/owned_folder.hpp"
#include "support/refused_words.hpp"
#include "support/shell_word.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {
namespace {

constexpr double usual_shard_GB = 5.0;

struct ConvertFlags {
  std::string from, to;
  std::string type;                // empty: as imported
  std::optional<double> shard_GB;  // as imported, else the usual
  std::int64_t sequence = 0;       // the model's
  std::string words;               // bytes or tokens; empty: by the vocabulary
  bool plan = false;
};

StepOptions in_fp32() {
  StepOptions options;
  options.precision = Precision::fp32;
  return options;
}

// The whole model on this rank, without optimizer state.
struct WholeWeights {
  explicit WholeWeights(const Model& model)
      : program(record_evaluation(model, in_fp32(), Stage{0, 1})),
        weights(program, {1, 1, 1, 1}, 0, memory) {}

  // Of a block that is all of a matrix.
  static float* numbers(const Stored& stored) { return stored.block.fp32(); }

  HostMemory memory;
  Program program;
  Weights weights;
};

// A table of positions cannot be cut: it comes in and goes out whole.
void shorten(Model& model, const ConvertFlags& flags) {
  if (flags.sequence == 0) return;
  if (model.position == PositionKind::learned || flags.sequence > model.sequence) {
    throw std::runtime_error(fmt::format(
        "--sequence {} cannot be used: {} has {} positions{}", flags.sequence, flags.from,
        model.sequence, model.position == PositionKind::learned ? ", and has learnt each" : ""));
  }
  model.sequence = flags.sequence;
}

struct EndWords {
  std::vector<std::int64_t> known, unknown;  // of the vocabulary, or beyond it
};

// As transformers does, by generation_config.json where it says so, else by config.json.
EndWords end_words_in(const std::string& folder, const ForeignCheckpoint& foreign) {
  std::vector<std::int64_t> said;
  try {
    const auto generation = foreign.files.find(foreign_generation);
    if (generation != foreign.files.end()) {
      said = end_words_said(foreign_generation, generation->second);
    }
    if (said.empty()) said = end_words_said("config.json", foreign.config);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(folder + "/" + error.what());
  }
  EndWords words;
  for (const std::int64_t word : said) {
    (word < foreign.model.vocabulary ? words.known : words.unknown).push_back(word);
  }
  return words;
}

int import_from(const ConvertFlags& flags) {
  refuse_in_use(flags.to);
  for (const std::string& folder : {flags.to, flags.to + "/checkpoints"}) {
    if (finished_checkpoints(folder).empty()) continue;
    throw std::runtime_error(folder + " holds checkpoints already; give another folder");
  }
  auto [foreign, matrices] = read_foreign(flags.from);
  shorten(foreign.model, flags);
  WholeWeights whole(foreign.model);
  for (const Stored& stored : whole.weights.all()) {
    const WholeMatrix& matrix = matrices.at(stored.name);
    std::memcpy(WholeWeights::numbers(stored), matrix.values.data(),
                static_cast<std::size_t>(stored.block.bytes()));
  }
  // Nobody writes down what words are; a tokenizer has other than 256, as a rule.
  const bool bytes = flags.words.empty() ? foreign.model.vocabulary == 256 : flags.words == "bytes";
  if (!comes_out_as_it_came(foreign)) foreign.heads.clear();
  const EndWords ends = end_words_in(flags.from, foreign);
  TrainingState state;
  state.model = foreign.model;
  state.trainer = {{"imported", imported_json(foreign, flags.from)},
                   {"words", name(bytes ? TokenFormat::text : TokenFormat::nanogpt)}};
  state.trainer["imported"]["end_words"] = ends.known;
  FilledFolder beside = keep_files(flags.to, foreign.files);
  const std::string path = Checkpoints(flags.to).write(state, whole.weights);
  beside.is_whole();
  print_line(
      fmt::format("{} tensors of {} are in {}", foreign.types.size(), foreign.model.name, path));
  if (flags.words.empty()) {
    print_line(fmt::format("its words are taken for {}, as there are {} (--words says otherwise)",
                           bytes ? "bytes" : "tokens", foreign.model.vocabulary));
  }
  if (!ends.unknown.empty()) {
    print_line(fmt::format("its end words {} are none of its {} words, and end no text here",
                           fmt::join(ends.unknown, ", "), foreign.model.vocabulary));
  }
  if (foreign.heads.empty()) {
    print("it holds more than weights, which is left out: an export has other files\n");
  }
  print_line(
      fmt::format("train them with: fourfold train --start-from {}", shell_argument(flags.to)));
  return 0;
}

// Of its last checkpoint's folder, with what was carried along; says what is not there any more.
ForeignCheckpoint foreign_of(const std::string& path, const TrainingState& state) {
  try {
    Remembered remembered = remembered_of(state);
    if (!remembered.imported) return remembered.foreign;
    const std::string folder = folder_of(path);
    CarriedFiles kept = kept_files(folder);
    for (const std::string& file : remembered.files) {
      if (kept.contains(file)) {
        remembered.foreign.files[file] = kept[file];
      } else {
        print_line(fmt::format(
            "{} came with the model, is not in {}/carried any more and is left out", file, folder));
      }
    }
    return remembered.foreign;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + " " + error.what());
  }
}

void change_type(const std::string& type, ForeignCheckpoint& foreign) {
  const std::map<std::string, NumberType> words{
      {"fp32", NumberType::fp32}, {"bf16", NumberType::bf16}, {"fp16", NumberType::fp16}};
  for (const ForeignTensor& tensor : foreign_tensors(foreign.model, foreign.prefix)) {
    foreign.types[tensor.name] = words.at(type);
  }
  if (foreign.has_head) foreign.types[foreign_head] = words.at(type);
  foreign.heads.clear();
  foreign.config = config_with_type(foreign.config, words.at(type));
}

int export_to(const ConvertFlags& flags) {
  const std::string path = checkpoint_meant(flags.from);
  const TrainingState state = read_training_state(path);
  WholeWeights whole(state.model);
  read_weights(path, state.model, whole.weights);
  ForeignCheckpoint foreign = foreign_of(path, state);
  if (!flags.type.empty()) change_type(flags.type, foreign);
  if (flags.shard_GB) foreign.heads.clear();
  Matrices matrices;
  for (const Stored& stored : whole.weights.all()) {
    const float* const numbers = WholeWeights::numbers(stored);
    // The block of a weight that z cuts is one long row.
    matrices[stored.name] = {stored.shape.rows.value({}),
                             stored.shape.cols.value({}),
                             {numbers, numbers + stored.block.size()}};
  }
  const double shard_GB = flags.shard_GB.value_or(usual_shard_GB);
  write_foreign(flags.to, foreign, matrices, static_cast<std::int64_t>(shard_GB * 1e9));
  print_line(fmt::format("{} after step {} is in {}", state.model.name, state.step, flags.to));
  return 0;
}

void add_import(CLI::App& verb, ConvertFlags& flags) {
  verb.footer(
      "FROM has config.json and model.safetensors, or several such files with\n"
      "model.safetensors.index.json, of a GPT-2 or a Llama. Numbers of bf16, fp16 or fp32 are "
      "kept\n"
      "exactly. "
      "Any grid trains what is written (`fourfold train --start-from TO`) or draws from it.\n\n"
      "Example:\n  fourfold checkpoint import llama/ mine/");
  verb.add_option("FROM", flags.from, "a folder as transformers' save_pretrained() writes it")
      ->required();
  verb.add_option("TO", flags.to, "the folder of the checkpoint")->required();
  verb.add_option("--sequence", flags.sequence,
                  "tokens of a sequence here, fewer than the model can read (Llama only)")
      ->check(whole_number(1));
  verb.add_option("--words", flags.words,
                  "bytes or tokens, as the model reads (default: bytes if it knows 256 words)")
      ->check(CLI::IsMember({"bytes", "tokens"}));
}

void add_export(CLI::App& verb, ConvertFlags& flags) {
  verb.footer(
      "TO can be read by transformers' from_pretrained(). What was imported comes out in the same\n"
      "files, with its tokenizer and its config.json; --type and --shard-GB change that, and "
      "config.json\n"
      "says so. A model of bytes gets their vocabulary as a tokenizer.\n\n"
      "Example:\n  fourfold checkpoint export results/train/RUN llama-tuned/");
  verb.add_option("FROM", flags.from, "a checkpoint, or a run's folder, which means its newest")
      ->required();
  verb.add_option("TO", flags.to, "a new folder")->required();
  verb.add_option("--type", flags.type, "fp32, bf16 or fp16, of all tensors (default: as imported)")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  verb.add_option(
          "--shard-GB", flags.shard_GB,
          fmt::format("tensors of a file, at most (default: as imported, else {})", usual_shard_GB))
      ->check(number(1e-9, 1e9));
}

int print_plan(const Started& started) {
  std::vector<std::string> arguments{"checkpoint"};
  for (const std::string& word : started.arguments()) {
    if (word != "--plan") arguments.push_back(word);
  }
  print(nlohmann::json{{"ranks", 1}, {"arguments", arguments}}.dump() + '\n');
  return 0;
}

}  // namespace

int run_checkpoint_verb(const Started& started) {
  CLI::App app("Takes checkpoints over from the layout of Hugging Face, and hands them back.");
  app.name("fourfold checkpoint");
  format_help(app);
  app.footer(
      "Examples:\n  fourfold checkpoint import llama/ mine/\n"
      "  fourfold checkpoint export results/train/RUN llama-tuned/");
  app.require_subcommand(1);
  app.fallthrough();
  ConvertFlags flags;
  CLI::App* const take = app.add_subcommand("import", "From that layout to a checkpoint of ours");
  CLI::App* const give = app.add_subcommand("export", "From a checkpoint of ours to that layout");
  add_import(*take, flags);
  add_export(*give, flags);
  app.add_flag("--plan", flags.plan, "")->group("");
  try {
    parse_words(app, started.arguments());
  } catch (const CLI::Success&) {  // --help
    return print_help(take->parsed() ? *take : give->parsed() ? *give : app);
  } catch (const CLI::ParseError& error) {
    return complain(sentence_of(app, error), status_could_not);
  }
  if (flags.plan) return print_plan(started);
  // Writing and reading a checkpoint is collective, even on one rank.
  return run_session(started.count, started.words, [&](const Session&) {
    return take->parsed() ? import_from(flags) : export_to(flags);
  });
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
