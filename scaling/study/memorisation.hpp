// A study of what models know by heart: disjoint buckets of documents are repeated so many times in
// continued training, and afterwards the model is prompted with each document's beginning and
// writes its end. As Biderman et al. and the paper of the 4D algorithm (SC24) did it, at the scale
// of a desk: a document is a piece of text, a word is a byte.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace fourfold::inline scaling::inline study {

// A stretch of training: what `fourfold train` is told.
struct TrainingPhase {
  std::int64_t batch = 0;  // documents a step
  std::int64_t warm_up = 0;
  double learning_rate = 0.0;
  double last_learning_rate = 0.0;  // as a part of it
};

struct SizedModel {
  std::string name;
  std::int64_t layers = 0, hidden = 0, heads = 0;
};

struct MemorisationStudy {
  std::string title;
  std::string name;         // of the file, without its ending
  std::string text_folder;  // whose files without an ending are the text
  std::int64_t document_tokens = 0;
  std::int64_t ending_tokens = 0;  // that the model is to write
  std::int64_t documents = 0;      // of a bucket
  std::vector<std::int64_t> repetitions;  // rising
  std::vector<std::int64_t> seeds;
  std::int64_t goldfish_k = 0, goldfish_h = 0;
  std::int64_t pretraining_steps = 0;
  TrainingPhase pretraining, continued;
  std::int64_t injected = 0;  // documents of buckets in a step, once the warm-up is over
  std::vector<SizedModel> models;

  // Steps of continued training: the warm-up, and as many as all repetitions take.
  std::int64_t continued_steps() const;
};

// Whether a campaign file is such a study.
bool is_memorisation(const nlohmann::json& file);
// Throws std::runtime_error with one sentence about what is wrong.
MemorisationStudy read_memorisation(const nlohmann::json& file, const std::string& path);

// The documents of all seeds' buckets, which nothing but a seed's own continued training reads, and
// all other documents of the text. Throws std::runtime_error if the text is too short.
struct Corpus {
  std::vector<std::vector<std::vector<std::string>>> buckets;  // by seed and repetitions
  std::vector<std::string> background;
  std::vector<std::string> held_out;  // of the background, to validate on
};
Corpus make_corpus(const MemorisationStudy& study, const std::string& text);

// What is read step by step: documents of the background; and from the warm-up's end on, in each
// step `injected` of the buckets, each as often as its bucket says, at places that the seed draws.
std::string curriculum(const MemorisationStudy& study, const Corpus& corpus, std::size_t seed);

// The text of a folder's files without an ending, in the order of their names.
std::string text_of_folder(const std::string& folder);

}  // namespace fourfold::inline scaling::inline study
