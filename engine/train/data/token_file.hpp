// One file of words: plain text as bytes, a .bin shard of tokens of 16, 32 or 64 bits, as nanoGPT
// (no header), llm.c (256 int32 of header) and Megatron-LM (a .idx beside it) write them, a .npy,
// or documents with prompts; and many such files as one stream.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fourfold::inline engine::inline train::inline data {

struct Numbers;

enum class TokenFormat : std::uint8_t { text, nanogpt, llmc };
const char* name(TokenFormat format);  // "text", "nanogpt", "llmc"
// Throws std::invalid_argument that lists the known names.
TokenFormat parse_token_format(const std::string& text);
// What a word is called: "byte" or "token".
inline std::string word_name(TokenFormat format) {
  return format == TokenFormat::text ? "byte" : "token";
}

// Nothing but documents is kept between reads, open or mapped: a shard more costs nothing, and a
// file that is shortened while it is read is an error in words, not the end of the process.
class TokenFile {
 public:
  // A name that ends in .bin is a shard of tokens; what begins as a .npy or with a document is one;
  // everything else is text, if it is. `token_bits` are those of a shard without a header: 16, 32,
  // 64, or 0 for what is usual, 16; all others say their own (refuse_idle_bits). Throws
  // std::runtime_error with one sentence if the file is missing, empty, packed, or no multiple of
  // its words, has another magic or version than llm.c's, is shorter or longer than its header
  // says, looks like words of another width, or if a line is no document.
  explicit TokenFile(const std::string& path, std::int64_t token_bits = 0);

  const std::string& path() const { return path_; }
  TokenFormat format() const { return format_; }
  std::int64_t words() const { return words_; }
  std::int64_t word_bytes() const { return word_bytes_; }
  // Whether its width is what was given, and usual where nothing was.
  bool takes_bits() const { return takes_bits_; }
  // Why a width that was given is not this file's, in half a sentence; empty if none or the same
  // was.
  const std::string& idle_bits() const { return idle_bits_; }
  // Whether it is the very same file, whatever its name.
  bool is(const TokenFile& other) const { return file_ == other.file_; }
  // Words in the order of the file. Throws std::runtime_error if they are not all there any more.
  std::vector<std::int32_t> read(std::int64_t first, std::int64_t count) const;
  // Prompts are read, but left out of the loss. A zero byte ends each document.
  bool has_prompts() const { return !prompts_.empty(); }
  bool is_of_prompt(std::int64_t i) const;

 private:
  struct Shard;  // a kind of llm.c's
  void recognise(std::int64_t bytes, std::int64_t token_bits);
  void read_text(const std::string& beginning, std::int64_t bytes);
  void expect_text(std::int64_t bytes) const;
  void says_its_bits(std::int64_t own, std::int64_t token_bits, const std::string& where);
  void take_numbers(const Numbers& numbers, std::int64_t bytes, std::int64_t token_bits,
                    const std::string& where);
  void read_tokens(std::int64_t bytes, std::int64_t token_bits);
  void read_header(const Shard& shard, std::int64_t bytes);
  void refuse_other_width() const;
  void read_documents(std::int64_t bytes);

  std::string path_;
  TokenFormat format_ = TokenFormat::text;
  std::pair<std::uint64_t, std::uint64_t> file_;  // device and number there
  std::int64_t first_byte_ = 0;                   // of the first word
  std::int64_t word_bytes_ = 1;
  bool takes_bits_ = false;
  std::string idle_bits_;
  struct Range {
    std::int64_t from = 0, to = 0;
  };
  std::vector<Range> prompts_;  // that are not empty, in order
  std::string documents_;       // of .jsonl: one after the other, kept
  std::int64_t words_ = 0;
};

// Which part of each file a stream takes: [from, to) as shares of its length.
struct ShareOfFile {
  double from = 0.0;
  double to = 1.0;
};

// The same stretch of several files, one after the other.
class WordStream {
 public:
  // Throws std::runtime_error, as TokenFile, or if there are no files.
  WordStream(const std::vector<std::string>& paths, ShareOfFile stretch,
             std::int64_t token_bits = 0);

  std::int64_t words() const { return ends_.back(); }
  const std::vector<TokenFile>& files() const { return files_; }
  // Looks at up to about `most_words` words, spread evenly in short stretches, and throws as read()
  // does: a shard of another tokenizer is found at once, a single damaged word perhaps not.
  void expect_within(std::int64_t vocabulary, std::int64_t most_words) const;
  // `count` words from `first`, appended to `out`. Throws std::runtime_error that names file, place
  // and the vocabulary that the file needs if a word is outside the vocabulary.
  void read(std::int64_t first, std::int64_t count, std::int64_t vocabulary,
            std::vector<std::int32_t>& out) const;
  // Tells streams apart: by their length, by words that are spread in the same way, and by which of
  // these are of prompts.
  std::uint64_t digest(std::int64_t most_words) const;
  bool has_prompts() const;
  // Makes ignored_target (engine/words.hpp) of those of the stream's words from `first` on that are
  // of prompts.
  void leave_out_prompts(std::int64_t first, std::span<std::int32_t> words) const;

 private:
  // Calls look(place of the first, words) for short stretches of up to about `most_words` words,
  // spread evenly.
  template <typename Look>
  void spread(std::int64_t most_words, std::int64_t vocabulary, const Look& look) const;
  // Calls take(file, place in it, words) for each file's part of `count` words.
  template <typename Take>
  void each(std::int64_t first, std::int64_t count, const Take& take) const;

  std::vector<TokenFile> files_;
  std::vector<std::int64_t> starts_;  // of the stretch within each file
  std::vector<std::int64_t> ends_;    // of the stretch within the stream
};

// Throws std::runtime_error with a sentence if a width of tokens was given that no file of all that
// a run reads is in need of, and one has another.
void refuse_idle_bits(const std::vector<const WordStream*>& streams);

}  // namespace fourfold::inline engine::inline train::inline data
