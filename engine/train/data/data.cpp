// Which words make up a step, in which order, and how surprising they are one by one; see data.hpp.
// The shuffle is a Feistel network over the next even number of bits, walked until it lands inside
// (Black and Rogaway, 2002).
#include "engine/train/data/data.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "engine/mpi/handles.hpp"
#include "engine/train/run/agreement.hpp"
#include "support/random.hpp"
#include "support/visible_text.hpp"

namespace fourfold::inline engine::inline train::inline data {

namespace {

const DataOptions& checked(const DataOptions& options) {
  if (!(options.held_out > 0.0 && options.held_out < 1.0)) {
    throw std::invalid_argument(
        fmt::format("the share of the text that is held out must lie between 0 and 1, not be {}",
                    options.held_out));
  }
  if (options.goldfish.k < 0 || options.goldfish.k == 1 || options.goldfish.h < 1) {
    throw std::invalid_argument(fmt::format(
        "Goldfish loss leaves one target of k out, by the h words before it: k must be 0 (none) or "
        "at least 2 and h at least 1, not {} and {}",
        options.goldfish.k, options.goldfish.h));
  }
  return options;
}

std::vector<std::string> training_files(const DataOptions& options) {
  return options.files.empty() ? default_text() : files_matching(options.files);
}

WordStream validation_stream(const DataOptions& options) {
  if (!options.validation_files.empty()) {
    return {files_matching(options.validation_files), {0.0, 1.0}, options.token_bits};
  }
  return {training_files(options), {1.0 - options.held_out, 1.0}, options.token_bits};
}

ShareOfFile training_stretch(const DataOptions& options) {
  return {0.0, options.validation_files.empty() ? 1.0 - options.held_out : 1.0};
}

void expect_words(const WordStream& words, std::int64_t sequence, const char* part) {
  if (words.words() > sequence) return;
  throw std::runtime_error(fmt::format(
      "{}{} too short: the part to {} has {} words, and a sequence of {} with its last target "
      "needs "
      "{}",
      words.files().front().path(),
      words.files().size() > 1 ? fmt::format(" and {} more are", words.files().size() - 1) : " is",
      part, words.words(), sequence, sequence + 1));
}

// Of documents with prompts, which no loss counts.
void expect_a_target(const WordStream& words, const Windows& windows, const char* part) {
  if (windows.any_counts()) return;
  throw std::runtime_error(
      fmt::format("{}: no target counts in the {} words of the part to {}: they are of prompts "
                  "alone; give it more text, or shorter prompts",
                  words.files().front().path(), windows.targets(), part));
}

}  // namespace

DataOrder parse_data_order(const std::string& text) {
  if (text == "shuffled") return DataOrder::shuffled;
  if (text == "sequential") return DataOrder::sequential;
  throw std::invalid_argument("unknown data order '" + text + "'; known: shuffled, sequential");
}

Data::Data(const DataOptions& options, const Model& model)
    : options_(checked(options)),
      model_(model),
      training_(training_files(options), training_stretch(options), options.token_bits),
      validation_(validation_stream(options)) {
  refuse_idle_bits({&training_, &validation_});
  const TokenFile& first = training_.files().front();
  const TokenFile& other = validation_.files().front();
  if (word_name(first.format()) != word_name(other.format())) {
    throw std::runtime_error(fmt::format("{} holds {}s as words, but {} to validate on {}s",
                                         first.path(), word_name(first.format()), other.path(),
                                         word_name(other.format())));
  }
  expect_words(training_, model_.sequence, "train on");
  expect_words(validation_, 1, "validate on");
  expect_a_target(
      training_,
      Windows(training_, model, (training_.words() - 1) / model.sequence * model.sequence),
      "train on");
  expect_a_target(validation_, held_out(), "validate on");
}

// An epoch of the shuffled order leaves out up to two sequences' words, so that it can be cut at
// another place each time.
std::int64_t Data::training_sequences() const {
  if (options_.order == DataOrder::sequential) return (training_.words() - 1) / model_.sequence;
  return std::max<std::int64_t>(1, (training_.words() - model_.sequence) / model_.sequence);
}

Windows Data::held_out() const {
  return {validation_, model_, options_.validation_words};
}

std::int64_t Data::training_start(std::int64_t sequence) const {
  const std::int64_t size = training_sequences();
  const std::int64_t epoch = sequence / size;
  const std::int64_t place = sequence % size;
  if (options_.order == DataOrder::sequential) return place * model_.sequence;
  const std::uint64_t key = scattered(scattered(options_.seed) + static_cast<std::uint64_t>(epoch));
  const std::int64_t spare = training_.words() - 1 - size * model_.sequence;
  const auto offset =
      static_cast<std::int64_t>(scattered(~key) % static_cast<std::uint64_t>(spare + 1));
  return offset + permuted(place, size, key) * model_.sequence;
}

namespace {

std::span<std::int32_t> last_sequence(std::vector<std::int32_t>& words, std::int64_t sequence) {
  return std::span(words).last(static_cast<std::size_t>(sequence));
}

}  // namespace

void Data::append(LocalBatch& batch, std::int64_t start) const {
  training_.read(start, model_.sequence, model_.vocabulary, batch.tokens);
  training_.read(start + 1, model_.sequence, model_.vocabulary, batch.targets);
  if (!training_.has_prompts()) return;
  training_.leave_out_prompts(start + 1, last_sequence(batch.targets, model_.sequence));
}

// Of training's words from `first` on: the words that decide may lie before the sequence.
void Data::leave_out_by_hash(std::span<std::int32_t> targets, std::int64_t first) const {
  const std::int64_t begin = std::max<std::int64_t>(0, first - options_.goldfish.h);
  std::vector<std::int32_t> words;
  training_.read(begin, first - begin + model_.sequence, model_.vocabulary, words);
  for (std::int64_t i = 0; i < model_.sequence; ++i) {
    const std::int64_t place = first + i - begin;
    const std::int64_t known = std::min(place, options_.goldfish.h);
    const auto before = std::span(words).subspan(static_cast<std::size_t>(place - known),
                                                 static_cast<std::size_t>(known));
    if (!options_.goldfish.leaves_out(before)) continue;
    targets[static_cast<std::size_t>(i)] = ignored_target;
  }
}

LocalBatch Data::training(std::int64_t position, const BatchShare& cut) const {
  return shared_out(cut, [&](LocalBatch& batch, std::int64_t i) {
    const std::int64_t start = training_start(position + i);
    append(batch, start);
    if (options_.goldfish.k == 0) return;
    leave_out_by_hash(last_sequence(batch.targets, model_.sequence), start + 1);
  });
}

std::string Data::description() const {
  const TokenFile& first = training_.files().front();
  const std::size_t count = training_.files().size();
  const bool text = first.format() == TokenFormat::text;
  return fmt::format("{} {} file{}, {} {} to train on, {} held out{}", count,
                     text ? "text" : "token", count == 1 ? "" : "s", training_.words(),
                     text ? "bytes" : "tokens", validation_.words(),
                     training_.has_prompts() ? "; prompts are left out of the loss" : "");
}

std::string Data::digest() const {
  return fmt::format("{:016x}{:016x}", training_.digest(words_looked_at),
                     validation_.digest(words_looked_at));
}

bool Data::same_training(const std::string& digest, const std::string& other) {
  constexpr std::size_t of_training = 16;  // characters, the first
  return digest.substr(0, of_training) == other.substr(0, of_training);
}

namespace {

// A pattern is walked by this many names of folders, not for ever: /*/*/*/* names a whole disk.
constexpr std::int64_t most_names = 200'000;
constexpr std::ptrdiff_t most_stars = 8;
constexpr std::size_t longest_pattern = 4'096;
thread_local std::int64_t names_looked_at = 0;

dirent* next_name(void* folder) {
  return ++names_looked_at > most_names ? nullptr : ::readdir(static_cast<DIR*>(folder));
}

glob_t bounded_walk() {
  names_looked_at = 0;
  glob_t walk{};
  walk.gl_opendir = [](const char* path) -> void* {
    return ++names_looked_at > most_names ? nullptr : ::opendir(path);
  };
  walk.gl_readdir = next_name;
  walk.gl_closedir = [](void* folder) { ::closedir(static_cast<DIR*>(folder)); };
  walk.gl_stat = [](const char* path, struct stat* found) { return ::stat(path, found); };
  walk.gl_lstat = [](const char* path, struct stat* found) { return ::lstat(path, found); };
  return walk;
}

void expect_simple(const std::string& pattern) {
  if (pattern.size() <= longest_pattern && std::ranges::count(pattern, '*') <= most_stars) return;
  throw std::runtime_error(
      fmt::format("the pattern {} is longer than {} letters or has more than "
                  "{} stars; name the files, or their folder, closer",
                  pattern.substr(0, 100), longest_pattern, most_stars));
}

// Logs and results are JSON and name the files; of those that are typed the command line is
// checked.
void expect_text_names(const std::vector<std::string>& found) {
  const auto stray = std::ranges::find_if_not(found, is_utf8);
  if (stray == found.end()) return;
  throw std::runtime_error(fmt::format("the file {} has a name that is no text in UTF-8; rename it",
                                       visible_line(*stray)));
}

}  // namespace

std::vector<std::string> files_matching(const std::vector<std::string>& patterns) {
  std::vector<std::string> files;
  for (const std::string& pattern : patterns) {
    const bool wild = pattern.find_first_of("*?[") != std::string::npos;
    std::error_code unknown;
    if (wild && !std::filesystem::exists(pattern, unknown)) {
      expect_simple(pattern);
      glob_t found = bounded_walk();
      ::glob(pattern.c_str(), GLOB_ALTDIRFUNC, nullptr, &found);
      files.insert(files.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
      const bool none = found.gl_pathc == 0;
      ::globfree(&found);
      if (names_looked_at > most_names) {
        throw std::runtime_error(
            fmt::format("the pattern {} leads through more than {} names of folders; name the "
                        "files, or their folder, closer",
                        pattern, most_names));
      }
      if (none) throw std::runtime_error("no file matches " + pattern);
    } else {
      files.push_back(pattern);
    }
  }
  expect_text_names(files);
  return files;
}

double unigram_entropy(const WordStream& words, std::int64_t vocabulary) {
  constexpr std::int64_t piece = 65'536;
  const std::int64_t rank = rank_in(MPI_COMM_WORLD);
  const std::int64_t size = size_of(MPI_COMM_WORLD);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(vocabulary), 0);
  together([&] {
    std::vector<std::int32_t> read;
    const std::int64_t end = words.words() * (rank + 1) / size;
    for (std::int64_t i = words.words() * rank / size; i < end; i += piece) {
      read.clear();
      words.read(i, std::min(piece, end - i), vocabulary, read);
      for (std::int32_t word : read) ++counts[static_cast<std::size_t>(word)];
    }
  });
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, counts.data(), mpi_count(vocabulary), MPI_INT64_T, MPI_SUM,
                          MPI_COMM_WORLD),
            "MPI_Allreduce");
  double entropy = 0.0;
  for (std::int64_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / static_cast<double>(words.words());
    entropy -= share * std::log(share);
  }
  return entropy;
}

std::vector<std::string> default_text(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    if (entry.is_symlink() || !entry.is_regular_file()) continue;
    if (!entry.path().has_extension()) files.push_back(entry.path().string());
  }
  if (files.empty()) {
    throw std::runtime_error(folder + " holds no text to train on; install Debian's package " +
                             "fortunes, or name a file with --data");
  }
  expect_text_names(files);
  std::sort(files.begin(), files.end());
  return files;
}

std::int64_t permuted(std::int64_t index, std::int64_t size, std::uint64_t key) {
  const auto limit = static_cast<std::uint64_t>(size);
  const int half = (std::bit_width(limit - 1) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  auto place = static_cast<std::uint64_t>(index);
  // The network permutes fewer than 4 size numbers, so this ends, on average within four rounds.
  do {
    std::uint64_t left = place >> half;
    std::uint64_t right = place & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t mixed = scattered(scattered(key + round) ^ right) & mask;
      const std::uint64_t next = left ^ mixed;
      left = right;
      right = next;
    }
    place = left << half | right;
  } while (place >= limit);
  return static_cast<std::int64_t>(place);
}

}  // namespace fourfold::inline engine::inline train::inline data
