// Compares files of one length, and looks for short ones in long ones; see repeated_files.hpp.
#include "engine/train/data/repeated_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace fourfold::inline engine::inline train::inline data {

namespace {

class SeenFiles {
 public:
  SeenFiles(std::int64_t token_bits, std::int64_t files)
      : token_bits_(token_bits), words_looked_at_(words_looked_at / files) {}

  // What there is to say of a file that is, or holds, the same as an earlier one: nothing more
  // where both have one name, ": it is a.txt", ": it holds what a.txt holds".
  std::optional<std::string> like(const TokenFile& file) {
    std::vector<Seen>& alike = by_length_[file.words()];
    for (const Seen& earlier : alike) {
      if (!file.is(*earlier.file)) continue;
      return file.path() == earlier.file->path() ? "" : ": it is " + earlier.file->path();
    }
    Seen now{&file, std::nullopt};
    for (Seen& earlier : alike) {
      if (digest(now) == digest(earlier))
        return ": it holds what " + earlier.file->path() + " holds";
    }
    return std::nullopt;
  }
  void add(const TokenFile& file) { by_length_[file.words()].push_back({&file, std::nullopt}); }
  // A sentence, if it was there before.
  void take(const TokenFile& file, const char* what, std::vector<std::string>& sentences) {
    if (const auto before = like(file)) {
      sentences.push_back(fmt::format("{} is {} twice{}", file.path(), what, *before));
    } else {
      add(file);
    }
  }

 private:
  struct Seen {
    const TokenFile* file = nullptr;
    std::optional<std::uint64_t> digest;  // where it had to be looked at
  };

  std::uint64_t digest(Seen& seen) const {
    if (!seen.digest) {
      seen.digest =
          WordStream({seen.file->path()}, {0.0, 1.0}, token_bits_).digest(words_looked_at_);
    }
    return *seen.digest;
  }

  std::int64_t token_bits_ = 0;
  std::int64_t words_looked_at_ = 0;                     // of a file
  std::map<std::int64_t, std::vector<Seen>> by_length_;  // in words, of whatever width
};

constexpr std::int64_t piece = 1 << 20;  // words that are read at once

// Whether the part's words stand in the whole from `place` on.
bool stands_at(const TokenFile& whole, std::int64_t place, const TokenFile& part) {
  if (place + part.words() > whole.words()) return false;
  for (std::int64_t first = 0; first < part.words(); first += piece) {
    const std::int64_t count = std::min(piece, part.words() - first);
    if (whole.read(place + first, count) != part.read(first, count)) return false;
  }
  return true;
}

// Whether the words of `part` follow each other in the first `most` of `whole`.
bool holds(const TokenFile& whole, const TokenFile& part, std::int64_t most) {
  if (part.words() >= whole.words()) return false;
  const std::int64_t known = std::min<std::int64_t>(64, part.words());
  const std::vector<std::int32_t> beginning = part.read(0, known);
  const std::boyer_moore_horspool_searcher search(beginning.begin(), beginning.end());
  int tries = 8;  // of a beginning that is everywhere
  for (std::int64_t first = 0; first < std::min(most, whole.words()); first += piece) {
    const std::vector<std::int32_t> words =
        whole.read(first, std::min(piece + known - 1, whole.words() - first));
    for (auto at = std::search(words.begin(), words.end(), search); at != words.end();
         at = std::search(at + 1, words.end(), search)) {
      if (stands_at(whole, first + (at - words.begin()), part)) return true;
      if (--tries == 0) return false;
    }
  }
  return false;
}

// Of a file to validate on that is none of those to train on.
std::optional<std::string> shared_with(const TokenFile& file, const std::vector<TokenFile>& trained,
                                       std::int64_t most) {
  for (const TokenFile& other : trained) {
    if (holds(other, file, most)) return " as well: it is a part of " + other.path();
    if (holds(file, other, most)) return ", in part: it holds all of " + other.path();
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> repeated_files(const Data& data) {
  constexpr std::int64_t words_searched = 100'000'000;
  std::vector<std::string> sentences;
  const DataOptions& options = data.options();
  const std::vector<TokenFile>& training = data.training_words().files();
  const std::vector<TokenFile>& validation = data.validation_words().files();
  const std::int64_t files = std::ssize(training) + std::ssize(validation);
  SeenFiles trained(options.token_bits, files), validated(options.token_bits, files);
  for (const TokenFile& file : training) trained.take(file, "trained on", sentences);
  if (options.validation_files.empty()) return sentences;
  const std::int64_t most = words_searched / std::ssize(training) / std::ssize(validation);
  for (const TokenFile& file : validation) {
    validated.take(file, "validated on", sentences);
    auto shared = trained.like(file);
    if (shared) shared = " as well" + *shared;
    if (!shared) shared = shared_with(file, training, most);
    if (!shared) continue;
    sentences.push_back(fmt::format("{} is validated on, and trained on{}", file.path(), *shared));
  }
  return sentences;
}

std::vector<std::string> evaluated_twice(const std::vector<WordStream>& streams,
                                         std::int64_t token_bits) {
  std::vector<std::string> sentences;
  SeenFiles seen(token_bits, std::max<std::int64_t>(1, std::ssize(streams)));
  for (const WordStream& words : streams) {
    seen.take(words.files().front(), "evaluated", sentences);
  }
  return sentences;
}

}  // namespace fourfold::inline engine::inline train::inline data
