// Compares files of one length; see repeated_files.hpp.
#include "engine/train/data/repeated_files.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>

namespace fourfold::inline engine::inline train::inline data {

namespace {

class SeenFiles {
 public:
  SeenFiles(std::int64_t token_bits, std::int64_t files)
      : token_bits_(token_bits), words_looked_at_(words_looked_at / files) {}

  // How an earlier one is called that is, or holds, the same: "is a.txt", "holds what a.txt holds".
  std::optional<std::string> like(const TokenFile& file) {
    std::vector<Seen>& alike = by_length_[{file.words(), file.word_bytes()}];
    for (const Seen& earlier : alike) {
      if (file.is(*earlier.file)) return "is " + earlier.file->path();
    }
    Seen now{&file, std::nullopt};
    for (Seen& earlier : alike) {
      if (digest(now) == digest(earlier)) return "holds what " + earlier.file->path() + " holds";
    }
    alike.push_back(now);
    return std::nullopt;
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
  std::int64_t words_looked_at_ = 0;  // of a file
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Seen>> by_length_;
};

}  // namespace

std::vector<std::string> repeated_files(const Data& data) {
  std::vector<std::string> sentences;
  const DataOptions& options = data.options();
  SeenFiles seen(options.token_bits, std::ssize(data.training_words().files()) +
                                         std::ssize(data.validation_words().files()));
  for (const TokenFile& file : data.training_words().files()) {
    const auto like = seen.like(file);
    if (like) sentences.push_back(fmt::format("{} is trained on twice: it {}", file.path(), *like));
  }
  if (options.validation_files.empty()) return sentences;
  for (const TokenFile& file : data.validation_words().files()) {
    const auto like = seen.like(file);
    if (!like) continue;
    sentences.push_back(
        fmt::format("{} is validated on, but it {}, which is read as well", file.path(), *like));
  }
  return sentences;
}

}  // namespace fourfold::inline engine::inline train::inline data
