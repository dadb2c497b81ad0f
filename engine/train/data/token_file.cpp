// Mapping, recognising and checking of word files; see token_file.hpp.
#include "engine/train/data/token_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "engine/train/data/documents.hpp"
#include "engine/words.hpp"

namespace fourfold {

namespace {

static_assert(std::endian::native == std::endian::little, "headers and tokens are little-endian");

// llm.c's files begin with a date as magic: 20240520 for GPT-2 tokens, 20240801 for 32-bit ones,
// 20240326 for models. Read as two tokens such a number holds one above 54,000, which no GPT-2
// vocabulary has, so a file of nanoGPT is not mistaken for one.
constexpr std::int32_t llmc_tokens = 20'240'520;
constexpr std::int32_t llmc_first_magic = 20'240'000;
constexpr std::int32_t llmc_last_magic = 20'241'231;
constexpr std::int64_t llmc_header_bytes = 256 * 4;

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + " " + what);
}

std::byte* map_file(const std::string& path, std::size_t& bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) refuse(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  struct stat status {};
  ::fstat(file, &status);
  void* memory = nullptr;
  bytes = static_cast<std::size_t>(status.st_size);
  const bool regular = S_ISREG(status.st_mode);
  if (regular && bytes > 0) {
    memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  }
  const int problem = errno;
  ::close(file);
  if (!regular) refuse(path, "is no file; name text files or .bin shards, or a pattern of them");
  if (bytes == 0) refuse(path, "is empty; there is nothing to train on");
  if (memory == MAP_FAILED) {
    refuse(path, fmt::format("cannot be mapped into memory: {}", std::strerror(problem)));
  }
  return static_cast<std::byte*>(memory);
}

std::int32_t largest_word(const TokenFile& file) {
  std::int32_t largest = 0;
  for (std::int64_t i = 0; i < file.words(); ++i) largest = std::max(largest, file.word(i));
  return largest;
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

TokenFile::TokenFile(const std::string& path) : path_(path) {
  memory_ = map_file(path, bytes_);
  first_word_ = memory_;
  words_ = static_cast<std::int64_t>(bytes_);
  const bool documents = path.ends_with(".jsonl");
  if (!path.ends_with(".bin") && !documents) return;
  try {
    documents ? read_documents() : read_header();
  } catch (...) {
    ::munmap(memory_, bytes_);
    throw;
  }
}

void TokenFile::read_header() {
  const auto bytes = static_cast<std::int64_t>(bytes_);
  std::int32_t header[3] = {};
  std::memcpy(header, memory_, std::min(bytes_, sizeof header));
  const auto [magic, version, count] = header;
  if (magic < llmc_first_magic || magic > llmc_last_magic) {
    if (bytes % 2 != 0) {
      refuse(path_, fmt::format("has {} bytes, an odd number, and so does not hold 16-bit tokens; "
                                "name it .txt if it is text",
                                bytes));
    }
    format_ = TokenFormat::nanogpt;
    words_ = bytes / 2;
    return;
  }
  if (magic != llmc_tokens) {
    refuse(path_, fmt::format("has llm.c's magic {}, which is not {}, that of 16-bit tokens", magic,
                              llmc_tokens));
  }
  if (bytes >= 12 && version != 1) {
    refuse(path_, fmt::format("is a token shard of version {}; only version 1 is known", version));
  }
  const std::int64_t expected = llmc_header_bytes + 2 * std::int64_t{count};
  if (bytes < llmc_header_bytes || bytes < expected) {
    refuse(path_, fmt::format("is truncated: it has {} bytes, its header speaks of {}", bytes,
                              std::max(expected, llmc_header_bytes)));
  }
  if (count < 1 || bytes != expected) {
    refuse(path_, fmt::format("has {} bytes, but its header speaks of {} tokens", bytes, count));
  }
  format_ = TokenFormat::llmc;
  first_word_ = memory_ + llmc_header_bytes;
  words_ = count;
}

// The file itself is not needed any more.
void TokenFile::read_documents() {
  try {
    for (const Document& document :
         parse_documents({reinterpret_cast<const char*>(memory_), bytes_})) {
      const auto begin = static_cast<std::int64_t>(documents_.size());
      const auto behind = begin + static_cast<std::int64_t>(document.prompt.size());
      if (behind > begin) prompts_.push_back({begin, behind});
      documents_ += document.prompt + document.completion;
      documents_ += '\0';
    }
  } catch (const std::runtime_error& error) {
    refuse(path_, error.what());
  }
  ::munmap(std::exchange(memory_, nullptr), bytes_);
  first_word_ = reinterpret_cast<const std::byte*>(documents_.data());
  words_ = static_cast<std::int64_t>(documents_.size());
}

bool TokenFile::is_of_prompt(std::int64_t i) const {
  const auto behind = std::ranges::upper_bound(prompts_, i, {}, &Range::to);
  return behind != prompts_.end() && behind->from <= i;
}

TokenFile::~TokenFile() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

TokenFile::TokenFile(TokenFile&& other) noexcept
    : path_(std::move(other.path_)),
      format_(other.format_),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(other.bytes_),
      prompts_(std::move(other.prompts_)),
      documents_(std::move(other.documents_)),
      first_word_(documents_.empty() ? other.first_word_
                                     : reinterpret_cast<const std::byte*>(documents_.data())),
      words_(other.words_) {}

WordStream::WordStream(const std::vector<std::string>& paths, Stretch stretch) {
  if (paths.empty()) throw std::runtime_error("there is no file to read words from");
  std::int64_t end = 0;
  for (const std::string& path : paths) {
    const TokenFile& file = files_.emplace_back(path);
    const auto whole = static_cast<double>(file.words());
    const auto from = static_cast<std::int64_t>(whole * stretch.from);
    const auto to = static_cast<std::int64_t>(whole * stretch.to);
    end += to - from;
    starts_.push_back(from);
    ends_.push_back(end);
  }
}

void WordStream::expect_within(std::int64_t vocabulary, std::int64_t most_words) const {
  constexpr std::int64_t stretch = 4096;
  const std::int64_t stretches = std::max<std::int64_t>(1, most_words / stretch);
  const std::int64_t stride = std::max(stretch, words() / stretches);
  std::vector<std::int32_t> ignored;
  for (std::int64_t first = 0; first < words(); first += stride) {
    ignored.clear();
    read(first, std::min(stretch, words() - first), vocabulary, ignored);
  }
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
    for (std::int64_t i = place; i < place + here; ++i) take(files_[f], i);
    first += here;
    count -= here;
    ++f;
  }
}

void WordStream::read(std::int64_t first, std::int64_t count, std::int64_t vocabulary,
                      std::vector<std::int32_t>& out) const {
  each(first, count, [&](const TokenFile& file, std::int64_t i) {
    const std::int32_t word = file.word(i);
    if (word >= vocabulary) {
      refuse(file.path(),
             fmt::format("holds token {} at place {} (the first is 0), outside the model's "
                         "vocabulary of {} words; this file needs one of at least {}",
                         word, i, vocabulary, largest_word(file) + 1));
    }
    out.push_back(word);
  });
}

bool WordStream::has_prompts() const {
  return std::ranges::any_of(files_, [](const TokenFile& file) { return file.has_prompts(); });
}

void WordStream::leave_out_prompts(std::int64_t first, std::span<std::int32_t> words) const {
  auto word = words.begin();
  each(first, static_cast<std::int64_t>(words.size()), [&](const TokenFile& file, std::int64_t i) {
    if (file.is_of_prompt(i)) *word = ignored_target;
    ++word;
  });
}

}  // namespace fourfold
