// What training reads: words of text files (bytes), of documents or of token shards, in an order
// that depends on nothing but the seed and the position. Every grid sees the same batches. Targets
// that are a prompt's, or that Goldfish loss leaves out, are ignored_target (engine/words.hpp).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/train/data/batch_share.hpp"
#include "engine/train/data/goldfish.hpp"
#include "engine/train/data/token_file.hpp"
#include "engine/train/data/windows.hpp"

namespace fourfold::inline engine::inline train::inline data {

// Shuffled: every epoch visits each sequence once, in another order and cut at other places.
// Sequential: front to back, again and again.
enum class DataOrder : std::uint8_t { shuffled, sequential };

// Throws std::invalid_argument that lists the known names.
DataOrder parse_data_order(const std::string& text);

struct DataOptions {
  std::vector<std::string> files;  // names or patterns ("shards/train_*.bin"), or none: fortunes
  std::vector<std::string> validation_files;  // none: the end of every file is held out
  double held_out = 0.1;                      // share of each file, where that is so
  std::int64_t validation_words = 32'768;     // held out, read each time from the front; 0: all
  std::int64_t token_bits = 0;                // of shards without a header: 16, 32; 0: 16
  DataOrder order = DataOrder::shuffled;
  std::uint64_t seed = 0;
  Goldfish goldfish;  // in training; the loss on held-out text is that of all its words
};

// That a look at data in advance takes: some milliseconds, also of huge shards.
inline constexpr std::int64_t words_looked_at = 4'000'000;

class Data {
 public:
  // Throws std::runtime_error with one sentence if a file is missing, damaged or of another kind,
  // or if the part to train on is too short for one sequence, or the other for one word with its
  // target. Reads no words yet.
  Data(const DataOptions& options, const Model& model);

  // This rank's share of the step that begins at `position`: the number of sequences that training
  // has read so far, on all devices. Reads this rank's words only. Throws std::runtime_error if one
  // of them is outside the model's vocabulary, std::invalid_argument if the batch does not divide.
  LocalBatch training(std::int64_t position, const BatchShare& share) const;
  // Of the held-out part, what is read each time. Prompts are left out of it, too.
  Windows held_out() const;

  // Whether targets may be left out: then nobody knows how many of a step count before all ranks
  // have said how many of theirs do.
  bool training_leaves_out() const { return options_.goldfish.k > 0 || training_.has_prompts(); }

  const DataOptions& options() const { return options_; }
  // Of all its files but their headers.
  TokenFormat format() const { return training_.files().front().format(); }
  const WordStream& training_words() const { return training_; }
  const WordStream& validation_words() const { return validation_; }
  // Sequences of one epoch.
  std::int64_t training_sequences() const;
  // "37 text files, 2,170,000 bytes to train on, 241,000 held out".
  std::string description() const;
  // Tells data apart by some million of their words. Reads them.
  std::string digest() const;
  // Whether two digests are of the same words to train on.
  static bool same_training(const std::string& digest, const std::string& other);

 private:
  std::int64_t training_start(std::int64_t sequence) const;
  void append(LocalBatch& batch, std::int64_t start) const;
  void leave_out_by_hash(std::span<std::int32_t> targets, std::int64_t first) const;

  DataOptions options_;
  Model model_;
  WordStream training_, validation_;
};

// The files that these names and patterns mean. Throws std::runtime_error if none matches a
// pattern, or if a name is no UTF-8.
std::vector<std::string> files_matching(const std::vector<std::string>& patterns);

// What guessing words by their frequency costs: the entropy of single words, in nats a token.
// Collective over MPI_COMM_WORLD, each rank counts its part. Throws std::runtime_error, on all
// ranks, if a word is outside the vocabulary.
double unigram_entropy(const WordStream& words, std::int64_t vocabulary);

// The fortune files of a folder in sorted order, without their indexes (.dat) and links (.u8).
// Throws std::runtime_error that names the package to install if there are none.
std::vector<std::string> default_text(const std::string& folder = "/usr/share/games/fortunes");

// A permutation of 0 .. size - 1 for each key, `size` up to 2^62.
std::int64_t permuted(std::int64_t index, std::int64_t size, std::uint64_t key);

}  // namespace fourfold::inline engine::inline train::inline data
