// Arguments and .yml files as words, and words as a model; see launch_words.hpp.
#include "schedule/models/launch_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "support/field.hpp"
#include "support/json_text.hpp"
#include "support/plain_name.hpp"
#include "support/text_file.hpp"

namespace fourfold::inline schedule::inline models {

namespace {

// What starts the job may stand before them. A file's name may look like them.
bool is_arguments(const std::string& text) {
  std::error_code none;
  if (text.ends_with(".toml") || std::filesystem::exists(text, none)) return false;
  return text.starts_with("--") || text.find(" --") != std::string::npos;
}

// What begins like this changes what is learnt, kept or printed, but no time of a step.
constexpr std::array idle{"adam-",
                          "async-save",
                          "attention-dropout",
                          "ckpt-",
                          "clip-grad",
                          "checkpoint-fa",
                          "cache",
                          "data-args",
                          "data-cache",
                          "data-impl",
                          "data-path",
                          "dataloader",
                          "decoupled-lr",
                          "deepspeed-config",
                          "distributed",
                          "end-weight",
                          "eval-",
                          "exit-",
                          "extra-save",
                          "fp16.",
                          "gradient-clipping",
                          "hidden-drop",
                          "hysteresis",
                          "init-method",
                          "keep-last",
                          "label-data",
                          "launcher",
                          "load",
                          "log-",
                          "loss-scale",
                          "lr",
                          "manual-gc",
                          "master-",
                          "merge-file",
                          "min-lr",
                          "mock-data",
                          "no-create",
                          "no-load",
                          "no-save",
                          "node-rank",
                          "num-workers",
                          "optimizer",
                          "output-layer-init",
                          "override-opt",
                          "profile",
                          "rdzv",
                          "save",
                          "seed",
                          "split",
                          "start-wei",
                          "steps-per-print",
                          "tensorboard",
                          "test-data",
                          "text-gen",
                          "timing",
                          "tokenizer",
                          "train-",
                          "use-wandb",
                          "use-checkpoint",
                          "valid-data",
                          "vocab-file",
                          "wall-clock",
                          "wandb",
                          "warmup",
                          "weight-decay",
                          "finetune",
                          "use-tensorb",
                          "print-stats",
                          "initial-loss-",
                          "no-one-logger"};

std::string plain(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char letter) {
    return letter == '_' ? '-' : static_cast<char>(std::tolower(letter));
  });
  return name;
}

// Without a comment, which begins with '#' outside of quotes.
std::string without_comment(const std::string& line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    if (quote != 0) {
      if (letter == quote) quote = 0;
    } else if (letter == '"' || letter == '\'') {
      quote = letter;
    } else if (letter == '#') {
      return line.substr(0, i);
    }
  }
  return line;
}

std::string trimmed(const std::string& text, const char* what = " \t\r,\"'") {
  const std::size_t first = text.find_first_not_of(what);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(what) - first + 1);
}

// YAML's flow style is JSON but for a comma before a bracket's end and how true and false may be
// written.
std::string as_json(const std::string& text) {
  constexpr std::array words{std::pair{"True", "true"}, std::pair{"False", "false"},
                             std::pair{"None", "null"}};
  std::string json;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    const auto* const word = std::ranges::find_if(words, [&](const auto& one) {
      return !quoted && text.compare(i, std::string(one.first).size(), one.first) == 0;
    });
    if (word != words.end()) {
      json += word->second;
      i += std::string(word->first).size() - 1;
      continue;
    }
    if (!quoted && (text[i] == '}' || text[i] == ']')) {
      const std::size_t last = json.find_last_not_of(" \t\r\n");
      if (last != std::string::npos && json[last] == ',') json.erase(last, 1);
    }
    json += text[i];
  }
  return json;
}

void flatten(const nlohmann::json& object, const std::string& before,
             std::map<std::string, std::string>& words) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = before + plain(key);
    if (value.is_object()) {
      flatten(value, name + ".", words);
    } else {
      words[name] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
}

}  // namespace

bool LaunchWords::is_yml(const std::string& text) {
  return !is_arguments(text) && (text.ends_with(".yml") || text.ends_with(".yaml"));
}

bool says_launch(const std::string& text) {
  return is_arguments(text) || LaunchWords::is_yml(text);
}

LaunchWords::LaunchWords(const std::string& text_or_path)
    : neox_(is_yml(text_or_path)), from_(neox_ ? text_or_path : "the arguments of Megatron-LM") {
  neox_ ? take_yml(read_text_file(text_or_path, "the file")) : take_arguments(text_or_path);
}

// A name has what follows it up to the next; what stands before the first is no argument.
void LaunchWords::take_arguments(const std::string& text) {
  std::istringstream stream(text);
  std::string name;
  for (std::string word; stream >> word;) {
    if (word == "\\" || word.ends_with(".py") || word.ends_with(".sh")) continue;
    if (!word.starts_with("--")) {
      if (name.empty()) continue;
      std::string& value = words_[name];
      value = value == "true" ? trimmed(word) : value + " " + trimmed(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    name = plain(word.substr(2, equals == std::string::npos ? equals : equals - 2));
    words_[name] = equals == std::string::npos ? "true" : trimmed(word.substr(equals + 1));
  }
}

void LaunchWords::take_yml(const std::string& text) {
  std::string clean;
  for (const TextLine& line : lines_of(text)) clean += without_comment(line.text) + '\n';
  const std::size_t first = clean.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && clean[first] == '{') {
    const std::optional<nlohmann::json> json = json_in(as_json(clean));
    if (!json) refuse("its braces hold no YAML that is known here");
    return flatten(*json, "", words_);
  }
  std::vector<std::pair<std::size_t, std::string>> tables;  // with how far they are indented
  for (const TextLine& line : lines_of(clean)) {
    const std::size_t indent = line.text.find_first_not_of(' ');
    if (trimmed(line.text).empty() || trimmed(line.text) == "---") continue;
    const std::size_t colon = line.text.find(':');
    if (colon == std::string::npos) continue;  // an entry of a list
    while (!tables.empty() && tables.back().first >= indent) tables.pop_back();
    const std::string name = (tables.empty() ? "" : tables.back().second) +
                             plain(trimmed(line.text.substr(indent, colon - indent)));
    const std::string value = trimmed(line.text.substr(colon + 1));
    if (value.empty()) {
      tables.emplace_back(indent, name + ".");
    } else if (const auto json = json_in(as_json(value)); json && json->is_object()) {
      flatten(*json, name + ".", words_);
    } else {
      words_[name] = value;
    }
  }
}

std::string LaunchWords::name() const {
  return neox_ ? made_plain(std::filesystem::path(from_).stem().string()) : "megatron";
}

void LaunchWords::refuse(const std::string& why) const {
  throw std::runtime_error(from_ + ": " + why);
}

std::string LaunchWords::word(const std::vector<std::string>& names,
                              const std::string& usual) const {
  asked_.insert(names.begin(), names.end());
  for (const std::string& name : names) {
    const auto found = words_.find(name);
    if (found != words_.end() && found->second != "null") return found->second;
  }
  return usual;
}

std::int64_t LaunchWords::number(const std::vector<std::string>& names, std::int64_t usual) const {
  const std::string text = word(names, "");
  if (text.empty()) return usual;
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size() && number >= 0 &&
      number <= most_of_anything) {
    return number;
  }
  refuse(names.front() + " '" + text + "' is no whole number up to " +
         std::to_string(most_of_anything));
}

double LaunchWords::real(const std::vector<std::string>& names, double usual) const {
  const std::string text = word(names, "");
  if (text.empty()) return usual;
  double number = 0.0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size()) return number;
  refuse(names.front() + " '" + text + "' is no number");
}

bool LaunchWords::flag(const std::string& name, bool usual) const {
  const std::string text = plain(word({name}, usual ? "true" : "false"));
  if (text == "true" || text == "false") return text == "true";
  refuse(name + " '" + text + "' is neither true nor false");
}

std::vector<std::string> LaunchWords::not_asked() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : words_) {
    const bool changes_nothing = std::ranges::any_of(
        idle, [&name = name](const char* prefix) { return name.starts_with(prefix); });
    const bool moves = name.starts_with("optimizer-") || name.starts_with("optimizer.offload");
    if (!asked_.contains(name) && (!changes_nothing || moves) && value != "false")
      names.push_back(name);
  }
  return names;
}

namespace {

std::int64_t needed(const LaunchWords& words, const std::string& name) {
  const std::int64_t number = words.number({name}, 0);
  if (number == 0) words.refuse("a model needs " + name);
  return number;
}

void read_positions(const LaunchWords& words, ForeignModel& foreign) {
  Model& model = foreign.model;
  const std::string usual = words.flag("use-rotary-position-embeddings") ? "rope" : "learned";
  const std::string kind = words.word({"position-embedding-type", "pos-emb"}, usual);
  const std::int64_t most = words.number({"max-position-embeddings"}, model.sequence);
  if (kind.starts_with("learned")) {
    if (most == model.sequence) return;
    foreign.not_said.push_back({"max-position-embeddings " + std::to_string(most),
                                std::to_string(model.sequence),
                                (most - model.sequence) * model.hidden});
    return;
  }
  model.position = PositionKind::rotary;
  model.rotary.base = words.real({"rotary-base", "rotary-emb-base"}, model.rotary.base);
  const double share = words.real({"rotary-percent", "rotary-pct"}, 1.0);
  if (kind != "rope" && kind != "rotary") {
    foreign.not_said.push_back({"positions by " + kind, "rotary"});
  } else if (share != 1.0) {
    foreign.not_said.push_back({"rotary positions on part of a head's columns", "all"});
  }
}

void read_mlp(const LaunchWords& words, ForeignModel& foreign) {
  Model& model = foreign.model;
  const std::string activation =
      words.word({"activation"}, words.flag("swiglu") ? "swiglu" : "gelu");
  const bool gated = activation.ends_with("glu");
  model.mlp = gated ? MlpKind::swiglu : model.mlp;
  for (const char* other : {"squared-relu", "geglu", "reglu", "relu", "silu", "swish"}) {
    if (activation != other && !(words.has(other) && words.flag(other))) continue;
    foreign.not_said.push_back({std::string("activation ") + other, gated ? "swiglu" : "gelu"});
  }
  constexpr std::int64_t multiple = 64;  // Megatron-LM's, of what stands for four times hidden
  const std::int64_t usual = gated ? 8 * model.hidden / 3 / multiple * multiple : 4 * model.hidden;
  const std::int64_t width = words.number({"ffn-hidden-size", "intermediate-size"}, usual);
  if (width != 4 * model.hidden) model.mlp_width = width;
}

void read_biases(const LaunchWords& words, ForeignModel& foreign) {
  Model& model = foreign.model;
  const bool attention = words.flag("use-bias-in-attn-linear", true);
  const bool mlp = words.flag("use-bias-in-mlp", true);
  model.biases = !words.flag("disable-bias-linear") && attention && mlp;
  if (attention != mlp) foreign.not_said.push_back({"biases of some products", "none"});
  if (!words.flag("add-qkv-bias") || model.biases) return;
  foreign.not_said.push_back(
      {"biases of queries, keys and values", "none", model.layers * model.qkv_columns()});
}

// As both pad it: to a multiple on each share of it.
void read_vocabulary(const LaunchWords& words, ForeignModel& foreign) {
  Model& model = foreign.model;
  const std::int64_t cuts = words.number({"tensor-model-parallel-size", "model-parallel-size"}, 1);
  const std::int64_t multiple =
      words.number({"make-vocab-size-divisible-by"}, 128) * std::max<std::int64_t>(1, cuts);
  const std::int64_t said = words.number({"padded-vocab-size", "vocab-size"}, 0);
  if (said == 0) {
    foreign.not_said.push_back({"a vocabulary by its tokenizer", std::to_string(model.vocabulary)});
  } else {
    model.vocabulary = (said + multiple - 1) / multiple * multiple;
  }
}

}  // namespace

ForeignModel model_in_launch(const LaunchWords& words) {
  ForeignModel foreign;
  Model& model = foreign.model;
  if (words.number({"num-experts", "moe-num-experts"}, 1) > 1) {
    words.refuse("num-experts asks for experts, and every token goes through all of a block here");
  }
  model.name = words.name();
  model.layers = needed(words, "num-layers");
  model.hidden = needed(words, "hidden-size");
  model.heads = needed(words, "num-attention-heads");
  model.sequence = words.number({"seq-length", "encoder-seq-length"},
                                words.number({"max-position-embeddings"}, 0));
  if (model.sequence == 0) words.refuse("a model needs seq-length");
  const std::int64_t columns = words.number({"kv-channels"}, 0);
  if (columns * model.heads != model.hidden) model.head_size = columns;
  const bool grouped = words.is_neox() || words.flag("group-query-attention");
  const std::int64_t shared = words.number({"num-query-groups", "num-kv-heads"}, model.heads);
  if (grouped && shared != model.heads) model.key_value_heads = shared;
  const std::string norm = plain(words.word({"normalization", "norm"}, "layernorm"));
  if (norm == "rmsnorm") model.norm = NormKind::rms;
  if (norm != "rmsnorm" && norm != "layernorm") foreign.not_said.push_back({norm, "layer norm"});
  model.norm_epsilon = words.real(
      {"norm-epsilon", norm == "rmsnorm" ? "rms-norm-epsilon" : "layernorm-epsilon"}, 1e-5);
  const bool untied =
      words.flag("untie-embeddings-and-output-weights") || words.flag("no-weight-tying");
  if (untied) model.embeddings = EmbeddingsKind::untied;
  if (words.flag("gpt-j-residual")) model.residual = ResidualKind::parallel;
  if (words.flag("qk-layernorm")) foreign.not_said.push_back({"norms of queries and keys", "none"});
  read_positions(words, foreign);
  read_mlp(words, foreign);
  read_biases(words, foreign);
  read_vocabulary(words, foreign);
  for (const std::string& why : {excess(model), contradiction(model)}) {
    if (!why.empty()) words.refuse("describes no model: " + why);
  }
  return foreign;
}

}  // namespace fourfold::inline schedule::inline models
