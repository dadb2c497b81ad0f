// Reading, recognising and checking of word files; see token_file.hpp.
#include "engine/train/data/token_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <stdexcept>

#include "engine/train/data/documents.hpp"
#include "engine/train/data/file_kind.hpp"
#include "engine/train/data/open_file.hpp"
#include "engine/words.hpp"
#include "support/random.hpp"

namespace fourfold::inline engine::inline train::inline data {

namespace {

static_assert(std::endian::native == std::endian::little, "headers and tokens are little-endian");

// llm.c's files begin with a date as magic, 20240326 for models, say. Read as two tokens such a
// number holds one above 54,000, which no GPT-2 vocabulary has, and as one it is beyond all
// vocabularies, so a file of nanoGPT is not mistaken for one.
constexpr std::int32_t llmc_first_magic = 20'240'000;
constexpr std::int32_t llmc_last_magic = 20'241'231;
constexpr std::int64_t llmc_header_bytes = 256 * 4;

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + " " + what);
}

std::int64_t largest_word(const TokenFile& file) {
  constexpr std::int64_t piece = 1 << 20;
  std::int64_t largest = 0;
  for (std::int64_t first = 0; first < file.words(); first += piece) {
    const auto words = file.read(first, std::min(piece, file.words() - first));
    largest = std::max<std::int64_t>(largest, std::ranges::max(words));
  }
  return largest;
}

// A first line that may be a document is read to its end: what the file holds does not depend on
// its length. One of more than 64 MiB is text: a dump in one line is not to fill the memory.
std::string with_first_line(const std::string& path, std::string beginning, std::int64_t bytes) {
  if (!cuts_its_first_line(beginning)) return beginning;
  constexpr std::int64_t longest = 64 << 20;
  const OpenFile file(path);
  const std::int64_t most = std::min(bytes, longest);
  for (bool goes_on = true; goes_on && std::ssize(beginning) < most;) {
    const std::size_t known = beginning.size();
    beginning.resize(std::min(2 * known, static_cast<std::size_t>(most)));
    file.read(static_cast<std::int64_t>(known), beginning.data() + known, beginning.size() - known);
    goes_on = beginning.find('\n', known) == std::string::npos;
  }
  return beginning;
}

}  // namespace

const char* name(TokenFormat format) {
  if (format == TokenFormat::text) return "text";
  return format == TokenFormat::nanogpt ? "nanogpt" : "llmc";
}

TokenFormat parse_token_format(const std::string& text) {
  for (TokenFormat format : {TokenFormat::text, TokenFormat::nanogpt, TokenFormat::llmc}) {
    if (text == name(format)) return format;
  }
  throw std::invalid_argument("unknown format of words '" + text + "'; known: text, nanogpt, llmc");
}

struct TokenFile::Shard {
  std::int32_t magic = 0, version = 0;
  std::int64_t token_bits = 0;
};

TokenFile::TokenFile(const std::string& path, std::int64_t token_bits) : path_(path) {
  const struct stat status = OpenFile(path).status();
  file_ = {status.st_dev, status.st_ino};
  words_ = status.st_size;
  if (words_ == 0) refuse(path, "is empty; there is nothing to read");
  try {
    recognise(words_, token_bits);
  } catch (const std::runtime_error& error) {
    const std::string why = error.what();
    if (why.starts_with(path)) throw;
    refuse(path, why);
  }
}

void TokenFile::recognise(std::int64_t bytes, std::int64_t token_bits) {
  std::string beginning(static_cast<std::size_t>(std::min(bytes, most_of_a_beginning)), '\0');
  OpenFile(path_).read(0, beginning.data(), beginning.size());
  refuse_packed(beginning);
  if (const auto numbers = numbers_in_npy(beginning)) {
    take_numbers(*numbers, bytes, token_bits, "its head");
  } else if (path_.ends_with(".bin")) {
    read_tokens(bytes, token_bits);
  } else {
    if (token_bits != 0) {
      idle_bits_ = fmt::format(
          "holds bytes as words; leave --token-bits {} out, which is of .bin "
          "shards",
          token_bits);
    }
    read_text(beginning, bytes);
  }
}

void TokenFile::read_text(const std::string& beginning, std::int64_t bytes) {
  const bool documents =
      path_.ends_with(".jsonl") || begins_with_document(with_first_line(path_, beginning, bytes));
  if (!documents) return expect_text(bytes);
  refuse_no_text(beginning, 0);
  read_documents(bytes);
}

void TokenFile::says_its_bits(std::int64_t own, std::int64_t token_bits, const std::string& where) {
  if (token_bits == 0 || token_bits == own) return;
  idle_bits_ = fmt::format("says in {} that its tokens have {} bits; leave --token-bits {} out",
                           where, own, token_bits);
}

// All of a text that is not long, and parts of a long one.
void TokenFile::expect_text(std::int64_t bytes) const {
  constexpr std::int64_t parts = 64;
  const OpenFile file(path_);
  const std::int64_t stride = std::max(most_of_a_beginning, bytes / parts);
  for (std::int64_t first = 0; first < bytes; first += stride) {
    std::string part(static_cast<std::size_t>(std::min(most_of_a_beginning, bytes - first)), '\0');
    file.read(first, part.data(), part.size());
    refuse_no_text(part, first);
  }
}

void TokenFile::take_numbers(const Numbers& numbers, std::int64_t bytes, std::int64_t token_bits,
                             const std::string& where) {
  says_its_bits(8 * numbers.bytes, token_bits, where);
  const std::int64_t expected = numbers.first_byte + numbers.bytes * numbers.count;
  if (numbers.count < 1 || bytes != expected) {
    refuse(path_, fmt::format("has {} bytes, but {} speaks of {} tokens of {} bits", bytes, where,
                              numbers.count, 8 * numbers.bytes));
  }
  format_ = TokenFormat::nanogpt;
  first_byte_ = numbers.first_byte;
  word_bytes_ = numbers.bytes;
  words_ = numbers.count;
}

void TokenFile::read_tokens(std::int64_t bytes, std::int64_t token_bits) {
  constexpr std::array shards{Shard{20'240'520, 1, 16}, Shard{20'240'801, 7, 32}};
  if (const auto numbers = numbers_by_index(path_)) {
    return take_numbers(*numbers, bytes, token_bits, "the .idx beside it");
  }
  std::int32_t magic = 0;
  OpenFile(path_).read(0, &magic, std::min(static_cast<std::size_t>(bytes), sizeof magic));
  if (magic < llmc_first_magic || magic > llmc_last_magic) {
    takes_bits_ = true;
    word_bytes_ = (token_bits == 0 ? 16 : token_bits) / 8;
    if (bytes % word_bytes_ != 0) {
      refuse(path_, fmt::format("has {} bytes, no multiple of {}, and so does not hold {}-bit "
                                "tokens; name it .txt if it is text",
                                bytes, word_bytes_, 8 * word_bytes_));
    }
    format_ = TokenFormat::nanogpt;
    words_ = bytes / word_bytes_;
    return refuse_other_width();
  }
  const auto* const shard = std::ranges::find(shards, magic, &Shard::magic);
  if (shard == shards.end()) {
    refuse(path_, fmt::format("has llm.c's magic {}, which is neither {}, that of 16-bit tokens, "
                              "nor {}, that of 32-bit ones",
                              magic, shards[0].magic, shards[1].magic));
  }
  says_its_bits(shard->token_bits, token_bits, "its header");
  read_header(*shard, bytes);
}

void TokenFile::read_header(const Shard& shard, std::int64_t bytes) {
  std::int32_t header[3] = {};
  OpenFile(path_).read(0, header, std::min(static_cast<std::size_t>(bytes), sizeof header));
  const auto [magic, version, count] = header;
  word_bytes_ = shard.token_bits / 8;
  if (bytes >= 12 && version != shard.version) {
    refuse(path_, fmt::format("is a shard of {}-bit tokens of version {}; only version {} is known",
                              shard.token_bits, version, shard.version));
  }
  const std::int64_t expected = llmc_header_bytes + word_bytes_ * std::int64_t{count};
  if (bytes < llmc_header_bytes || bytes < expected) {
    refuse(path_, fmt::format("is truncated: it has {} bytes, its header speaks of {}", bytes,
                              std::max(expected, llmc_header_bytes)));
  }
  if (count < 1 || bytes != expected) {
    refuse(path_, fmt::format("has {} bytes, but its header speaks of {} tokens", bytes, count));
  }
  format_ = TokenFormat::llmc;
  first_byte_ = llmc_header_bytes;
  words_ = count;
}

void TokenFile::refuse_other_width() const {
  constexpr std::int64_t most = 4096, least = 16;
  const std::int64_t looked_at = std::min(most, words_ * word_bytes_ / 8 * 2);
  if (looked_at < least) return;
  std::vector<std::uint32_t> pairs(static_cast<std::size_t>(looked_at));
  OpenFile(path_).read(0, pairs.data(), 4 * pairs.size());
  const std::int64_t bits = apparent_bits(pairs), taken = 8 * word_bytes_;
  if (bits == 0 || bits == taken) return;
  const std::string why =
      fmt::format("looks like {}-bit tokens by its first {} bytes", bits, 4 * looked_at);
  if (taken == 16) refuse(path_, fmt::format("{}; give --token-bits {}", why, bits));
  refuse(path_,
         fmt::format("holds no {}-bit tokens: it {}; leave --token-bits {} out, or give those "
                     "that it has",
                     taken, why, taken));
}

std::vector<std::int32_t> TokenFile::read(std::int64_t first, std::int64_t count) const {
  const auto number = static_cast<std::size_t>(count);
  if (!documents_.empty()) {
    const auto begin = documents_.begin() + first;
    std::vector<std::int32_t> words;
    for (auto at = begin; at != begin + count; ++at)
      words.push_back(static_cast<std::uint8_t>(*at));
    return words;
  }
  const OpenFile file(path_);
  const auto read_as = [&]<typename Word>(Word) {
    std::vector<Word> words(number);
    file.read(first_byte_ + word_bytes_ * first, words.data(), sizeof(Word) * words.size());
    return words;
  };
  const auto widened = [](const auto& words) {
    return std::vector<std::int32_t>(words.begin(), words.end());
  };
  if (word_bytes_ == 1) return widened(read_as(std::uint8_t{}));
  if (word_bytes_ == 2) return widened(read_as(std::uint16_t{}));
  const auto checked = [&](const auto& words) {
    constexpr std::uint64_t largest = std::numeric_limits<std::int32_t>::max();
    const auto beyond = std::ranges::find_if(words, [](auto word) { return word > largest; });
    if (beyond == words.end()) return widened(words);
    refuse(path_, fmt::format("holds token {} at place {} (the first is 0), beyond {}, the largest "
                              "that is known",
                              *beyond, first + (beyond - words.begin()), largest));
  };
  return word_bytes_ == 4 ? checked(read_as(std::uint32_t{})) : checked(read_as(std::uint64_t{}));
}

void TokenFile::read_documents(std::int64_t bytes) {
  std::string lines(static_cast<std::size_t>(bytes), '\0');
  OpenFile(path_).read(0, lines.data(), lines.size());
  try {
    for (const Document& document : parse_documents(lines)) {
      const auto begin = static_cast<std::int64_t>(documents_.size());
      const auto behind = begin + static_cast<std::int64_t>(document.prompt.size());
      if (behind > begin) prompts_.push_back({begin, behind});
      documents_ += document.prompt + document.completion;
      if (document.ends) documents_ += '\0';
    }
  } catch (const std::runtime_error& error) {
    refuse(path_, error.what());
  }
  words_ = static_cast<std::int64_t>(documents_.size());
}

bool TokenFile::is_of_prompt(std::int64_t i) const {
  const auto behind = std::ranges::upper_bound(prompts_, i, {}, &Range::to);
  return behind != prompts_.end() && behind->from <= i;
}

WordStream::WordStream(const std::vector<std::string>& paths, ShareOfFile stretch,
                       std::int64_t token_bits) {
  if (paths.empty()) throw std::runtime_error("there is no file to read words from");
  std::int64_t end = 0;
  for (const std::string& path : paths) {
    const TokenFile& file = files_.emplace_back(path, token_bits);
    if (word_name(file.format()) != word_name(files_.front().format())) {
      refuse(path, fmt::format("holds {}s as words, but {} holds {}s: a model learns one kind",
                               word_name(file.format()), files_.front().path(),
                               word_name(files_.front().format())));
    }
    const auto whole = static_cast<double>(file.words());
    const auto from = static_cast<std::int64_t>(whole * stretch.from);
    const auto to = static_cast<std::int64_t>(whole * stretch.to);
    end += to - from;
    starts_.push_back(from);
    ends_.push_back(end);
  }
}

void refuse_idle_bits(const std::vector<const WordStream*>& streams) {
  const TokenFile* against = nullptr;
  for (const WordStream* stream : streams) {
    for (const TokenFile& file : stream->files()) {
      if (file.takes_bits()) return;
      if (against == nullptr && !file.idle_bits().empty()) against = &file;
    }
  }
  if (against != nullptr) refuse(against->path(), against->idle_bits());
}

template <typename Look>
void WordStream::spread(std::int64_t most_words, std::int64_t vocabulary, const Look& look) const {
  constexpr std::int64_t stretch = 4096;
  const std::int64_t stretches = std::max<std::int64_t>(1, most_words / stretch);
  const std::int64_t stride = std::max(stretch, words() / stretches);
  std::vector<std::int32_t> some;
  for (std::int64_t first = 0; first < words(); first += stride) {
    some.clear();
    read(first, std::min(stretch, words() - first), vocabulary, some);
    look(first, some);
  }
}

void WordStream::expect_within(std::int64_t vocabulary, std::int64_t most_words) const {
  spread(most_words, vocabulary, [](std::int64_t, const std::vector<std::int32_t>&) {});
}

std::uint64_t WordStream::digest(std::int64_t most_words) const {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  auto digest = static_cast<std::uint64_t>(words());
  const auto add = [&digest](const std::vector<std::int32_t>& numbers) {
    for (const std::int32_t number : numbers) {
      digest = scattered(digest ^ static_cast<std::uint32_t>(number));
    }
  };
  spread(most_words, any, [&](std::int64_t first, std::vector<std::int32_t>& some) {
    add(some);
    if (!has_prompts()) return;
    leave_out_prompts(first, some);
    add(some);
  });
  return digest;
}

template <typename Take>
void WordStream::each(std::int64_t first, std::int64_t count, const Take& take) const {
  if (first < 0 || first + count > words()) {
    throw std::logic_error("WordStream: read beyond the end");
  }
  auto f =
      static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), first) - ends_.begin());
  while (count > 0) {
    const std::int64_t begin = f == 0 ? 0 : ends_[f - 1];
    const std::int64_t place = starts_[f] + first - begin;
    const std::int64_t here = std::min(count, ends_[f] - first);
    take(files_[f], place, here);
    first += here;
    count -= here;
    ++f;
  }
}

void WordStream::read(std::int64_t first, std::int64_t count, std::int64_t vocabulary,
                      std::vector<std::int32_t>& out) const {
  each(first, count, [&](const TokenFile& file, std::int64_t place, std::int64_t here) {
    const std::vector<std::int32_t> words = file.read(place, here);
    const auto outside =
        std::ranges::find_if(words, [&](std::int32_t w) { return w >= vocabulary; });
    if (outside != words.end()) {
      refuse(file.path(),
             fmt::format("holds token {} at place {} (the first is 0), outside the model's "
                         "vocabulary of {} words; this file needs one of at least {}",
                         *outside, place + (outside - words.begin()), vocabulary,
                         largest_word(file) + 1));
    }
    out.insert(out.end(), words.begin(), words.end());
  });
}

bool WordStream::has_prompts() const {
  return std::ranges::any_of(files_, [](const TokenFile& file) { return file.has_prompts(); });
}

void WordStream::leave_out_prompts(std::int64_t first, std::span<std::int32_t> words) const {
  auto word = words.begin();
  each(first, static_cast<std::int64_t>(words.size()),
       [&](const TokenFile& file, std::int64_t place, std::int64_t here) {
         for (std::int64_t i = place; i < place + here; ++i, ++word) {
           if (file.is_of_prompt(i)) *word = ignored_target;
         }
       });
}

}  // namespace fourfold::inline engine::inline train::inline data
