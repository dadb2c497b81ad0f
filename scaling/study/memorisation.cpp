// Buckets of documents and the order they are read in; see memorisation.hpp.
#include "scaling/study/memorisation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "support/json_object.hpp"
#include "support/json_text.hpp"
#include "support/plain_name.hpp"
#include "support/random.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

// Of words, documents, steps and columns of a study that is to end: their products fit in 64 bits.
constexpr std::int64_t most = 1'000'000;

// Within the engine's own limits: what it refuses is refused before the first model is trained.
TrainingPhase read_phase(JsonObject& object) {
  TrainingPhase phase;
  phase.batch = positive_up_to(object, "batch", most);
  phase.warm_up = object.integer("warm_up");
  if (phase.warm_up > most) object.fail(fmt::format("'warm_up' must be at most {}", most));
  phase.learning_rate = number_within(object, "learning_rate", 1e-12, 1e3);
  phase.last_learning_rate = number_within(object, "last_learning_rate", 0.0, 1.0);
  return phase;
}

std::vector<std::int64_t> numbers(JsonObject& object, const std::string& key) {
  const nlohmann::json& list = object.get(key);
  std::vector<std::int64_t> result;
  const auto whole = [](const nlohmann::json& entry) { return whole_in(entry, most).has_value(); };
  if (!list.is_array() || list.empty() || !std::ranges::all_of(list, whole)) {
    object.fail("'" + key + "' must be a list of whole numbers");
  }
  for (const nlohmann::json& entry : list) result.push_back(entry);
  return result;
}

// Of names and seeds, each of which is a folder or a run of its own.
template <typename Entry, typename Key>
void refuse_twice(JsonObject& object, const char* has, const std::vector<Entry>& entries,
                  const Key& key) {
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    if (std::ranges::find(entries.begin(), entry, std::invoke(key, *entry), key) == entry) continue;
    object.fail(fmt::format("{} {} twice", has, std::invoke(key, *entry)));
  }
}

std::vector<SizedModel> read_models(JsonObject& object) {
  std::vector<SizedModel> models;
  const nlohmann::json& list = object.get("model");
  if (!list.is_array()) object.fail("'model' must be a list: [[memorisation.model]]");
  for (const nlohmann::json& entry : list) {
    JsonObject model(entry, "a model");
    const std::string name = model.text("name");
    if (const std::string why = why_not_plain(name); !why.empty()) {
      model.fail(fmt::format("'name' must be a plain name for a file: {}", why));
    }
    models.push_back({name, positive_up_to(model, "layers", most),
                      positive_up_to(model, "hidden", most), positive_up_to(model, "heads", most)});
    model.finish();
  }
  return models;
}

// An order of 0 .. size - 1 that the seed draws, the same on every machine.
std::vector<std::size_t> shuffled(std::size_t size, std::uint64_t seed) {
  std::vector<std::size_t> order(size);
  for (std::size_t i = 0; i < size; ++i) {
    order[i] = i;
    std::swap(order[i], order[random_at(seed, 1, i) % (i + 1)]);
  }
  return order;
}

std::size_t repeated_documents(const MemorisationStudy& study) {
  std::int64_t sum = 0;
  for (const std::int64_t times : study.repetitions) sum += times * study.documents;
  return static_cast<std::size_t>(sum);
}

}  // namespace

std::int64_t MemorisationStudy::continued_steps() const {
  const auto all = static_cast<std::int64_t>(repeated_documents(*this));
  return continued.warm_up + (all + injected - 1) / injected;
}

bool is_memorisation(const nlohmann::json& file) {
  return file.contains("memorisation");
}

MemorisationStudy read_memorisation(const nlohmann::json& file, const std::string& path) {
  JsonObject whole(file, "the study");
  MemorisationStudy study;
  study.title = whole.text("title");
  study.name = made_plain(std::filesystem::path(path).stem().string());
  JsonObject object = whole.object("memorisation");
  whole.finish();
  study.text_folder = object.text("text");
  study.document_tokens = positive_up_to(object, "document_tokens", most);
  study.ending_tokens = positive_up_to(object, "ending_tokens", most);
  study.documents = positive_up_to(object, "documents", most);
  study.repetitions = numbers(object, "repetitions");
  if (std::ranges::adjacent_find(study.repetitions, std::ranges::greater_equal()) !=
      study.repetitions.end()) {
    object.fail("'repetitions' must rise from each bucket to the next");
  }
  study.seeds = numbers(object, "seeds");
  refuse_twice(object, "'seeds' has", study.seeds, std::identity());
  study.models = read_models(object);
  refuse_twice(object, "'model' has the name", study.models, &SizedModel::name);
  JsonObject goldfish = object.object("goldfish");
  study.goldfish_k = positive_up_to(goldfish, "k", most);
  study.goldfish_h = positive_up_to(goldfish, "h", most);
  goldfish.finish();
  JsonObject pretraining = object.object("pretraining");
  study.pretraining_steps = positive_up_to(pretraining, "steps", most);
  study.pretraining = read_phase(pretraining);
  pretraining.finish();
  JsonObject continued = object.object("continued");
  study.injected = positive_up_to(continued, "injected", most);
  study.continued = read_phase(continued);
  continued.finish();
  object.finish();
  if (study.ending_tokens >= study.document_tokens) {
    object.fail("'ending_tokens' must be less than 'document_tokens'");
  }
  if (study.injected > study.continued.batch) {
    object.fail("'injected' documents must not be more than the 'batch' they are a part of");
  }
  return study;
}

std::string text_of_folder(const std::string& folder) {
  namespace files = std::filesystem;
  std::vector<std::string> paths;
  std::error_code missing;
  for (const auto& entry : files::directory_iterator(folder, missing)) {
    if (entry.is_symlink() || !entry.is_regular_file() || entry.path().has_extension()) continue;
    paths.push_back(entry.path().string());
  }
  constexpr std::string_view hint = "; for Debian's fortunes install the package fortunes";
  if (missing) {
    throw std::runtime_error(
        fmt::format("'text' must be a folder of text files, and {} cannot be "
                    "read as one: {}{}",
                    folder, missing.message(), hint));
  }
  if (paths.empty()) throw std::runtime_error(fmt::format("{} holds no text{}", folder, hint));
  std::ranges::sort(paths);
  std::string text;
  for (const std::string& path : paths) {
    text += read_whole_file(path, "the text");
  }
  return text;
}

namespace {

// Where buckets stay empty: because the text is short, or because too few of its documents suit.
[[noreturn]] void refuse_text(const MemorisationStudy& study, std::size_t pieces,
                              const Corpus& corpus) {
  const std::int64_t buckets = std::ssize(study.seeds) * std::ssize(study.repetitions);
  const std::int64_t needed = buckets * study.documents;
  std::size_t suit = 0;
  for (const auto& of_seed : corpus.buckets) {
    for (const auto& bucket : of_seed) suit += bucket.size();
  }
  const std::string what =
      std::cmp_less(pieces, needed)
          ? fmt::format("too little text: {} documents of {} bytes", pieces, study.document_tokens)
          : fmt::format(
                "{} documents of {} bytes, but only {} in ASCII whose last {} stand nowhere "
                "else",
                pieces, study.document_tokens, suit, study.ending_tokens);
  throw std::runtime_error(
      fmt::format("{} holds {}; the buckets take {}", study.text_folder, what, needed));
}

}  // namespace

// Documents whose end stands elsewhere, too, would be known without being repeated; and one that is
// no ASCII could not be written as JSON.
Corpus make_corpus(const MemorisationStudy& study, const std::string& text) {
  const auto length = static_cast<std::size_t>(study.document_tokens);
  const auto ending = static_cast<std::size_t>(study.ending_tokens);
  const std::size_t pieces = text.size() / length;
  const auto piece = [&](std::size_t i) { return text.substr(i * length, length); };
  const auto suits = [&](std::size_t i) {
    const std::string document = piece(i);
    const std::string end = document.substr(length - ending);
    const auto plain = [](char letter) { return static_cast<unsigned char>(letter) < 0x80; };
    const std::size_t own = (i + 1) * length - ending;
    return std::ranges::all_of(document, plain) && text.find(end) == own &&
           text.find(end, own + 1) == std::string::npos;
  };
  Corpus corpus;
  const std::vector<std::size_t> order = shuffled(pieces, 0);
  auto next = order.begin();
  for (std::size_t seed = 0; seed < study.seeds.size(); ++seed) {
    auto& buckets = corpus.buckets.emplace_back();
    for (std::size_t b = 0; b < study.repetitions.size(); ++b) {
      auto& bucket = buckets.emplace_back();
      for (; next != order.end() && std::ssize(bucket) < study.documents; ++next) {
        if (suits(*next)) bucket.push_back(piece(*next));
      }
      if (std::ssize(bucket) == study.documents) continue;
      refuse_text(study, pieces, corpus);
    }
  }
  constexpr std::ptrdiff_t most_held_out = 400;
  const std::ptrdiff_t held_out = std::min(most_held_out, (order.end() - next) / 10);
  for (; next != order.end() - held_out; ++next) corpus.background.push_back(piece(*next));
  for (; next != order.end(); ++next) corpus.held_out.push_back(piece(*next));
  if (corpus.held_out.empty()) {
    throw std::runtime_error(study.text_folder + " holds no text beside the buckets");
  }
  return corpus;
}

std::string curriculum(const MemorisationStudy& study, const Corpus& corpus, std::size_t seed) {
  const auto& buckets = corpus.buckets[seed];
  const auto drawn = static_cast<std::uint64_t>(study.seeds[seed]);
  std::vector<const std::string*> repeated;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    for (std::int64_t i = 0; i < study.repetitions[b]; ++i) {
      for (const std::string& document : buckets[b]) repeated.push_back(&document);
    }
  }
  const std::vector<std::size_t> order = shuffled(repeated.size(), drawn);
  const std::vector<std::size_t> others = shuffled(corpus.background.size(), ~drawn);
  std::size_t next = 0, next_other = 0;
  std::string text;
  for (std::int64_t step = 0; step < study.continued_steps(); ++step) {
    for (std::int64_t i = 0; i < study.continued.batch; ++i) {
      const bool of_bucket =
          step >= study.continued.warm_up && i < study.injected && next < order.size();
      text += of_bucket ? *repeated[order[next++]]
                        : corpus.background[others[next_other++ % others.size()]];
    }
  }
  return text + "\n";  // the last document's last target
}

}  // namespace fourfold::inline scaling::inline study
