// Which words make up a step, in which order, and how surprising they are one by one; see data.hpp.
// The shuffle is a Feistel network over the next even number of bits, walked until it lands inside
// (Black and Rogaway, 2002).
#include "engine/train/data/data.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "engine/batch.hpp"
#include "engine/mpi/handles.hpp"
#include "engine/train/run/agreement.hpp"
#include "support/random.hpp"

namespace fourfold {

namespace {

std::vector<std::string> matching(const std::vector<std::string>& patterns) {
  std::vector<std::string> files;
  for (const std::string& pattern : patterns) {
    glob_t found{};
    if (!std::filesystem::exists(pattern) && pattern.find_first_of("*?[") != std::string::npos) {
      ::glob(pattern.c_str(), 0, nullptr, &found);
      files.insert(files.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
      const bool none = found.gl_pathc == 0;
      ::globfree(&found);
      if (none) throw std::runtime_error("no file matches " + pattern);
    } else {
      files.push_back(pattern);
    }
  }
  return files;
}

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
  return options.files.empty() ? default_text() : matching(options.files);
}

WordStream validation_stream(const DataOptions& options) {
  if (!options.validation_files.empty()) return {matching(options.validation_files), {0.0, 1.0}};
  return {training_files(options), {1.0 - options.held_out, 1.0}};
}

Stretch training_stretch(const DataOptions& options) {
  return {0.0, options.validation_files.empty() ? 1.0 - options.held_out : 1.0};
}

void expect_a_sequence(const WordStream& words, std::int64_t sequence, const char* part) {
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
void expect_a_target(const WordStream& words, std::int64_t sequence, const char* part) {
  if (!words.has_prompts()) return;
  std::vector<std::int32_t> targets;
  for (std::int64_t start = 1; start + sequence <= words.words(); start += sequence) {
    targets.assign(static_cast<std::size_t>(sequence), 0);
    words.leave_out_prompts(start, targets);
    const auto left_out = std::ranges::count(targets, ignored_target);
    if (left_out < std::ssize(targets)) return;
  }
  throw std::runtime_error(
      fmt::format("{}: no target counts in the part to {}: its sequences of {} hold prompts "
                  "alone; give it more text, or shorter prompts",
                  words.files().front().path(), part, sequence));
}

}  // namespace

const char* name(DataOrder order) {
  return order == DataOrder::shuffled ? "shuffled" : "sequential";
}

DataOrder parse_data_order(const std::string& text) {
  if (text == "shuffled") return DataOrder::shuffled;
  if (text == "sequential") return DataOrder::sequential;
  throw std::invalid_argument("unknown data order '" + text + "'; known: shuffled, sequential");
}

Data::Data(const DataOptions& options, const Model& model)
    : options_(checked(options)),
      sequence_(model.sequence),
      vocabulary_(model.vocabulary),
      training_(training_files(options), training_stretch(options)),
      validation_(validation_stream(options)) {
  const TokenFile& first = training_.files().front();
  const TokenFile& other = validation_.files().front();
  if (word_name(first.format()) != word_name(other.format())) {
    throw std::runtime_error(fmt::format("{} holds {}s as words, but {} to validate on {}s",
                                         first.path(), word_name(first.format()), other.path(),
                                         word_name(other.format())));
  }
  expect_a_sequence(training_, sequence_, "train on");
  expect_a_sequence(validation_, sequence_, "validate on");
  expect_a_target(training_, sequence_, "train on");
  expect_a_target(validation_, sequence_, "validate on");
}

// An epoch of the shuffled order leaves out up to two sequences' words, so that it can be cut at
// another place each time.
std::int64_t Data::training_sequences() const {
  if (options_.order == DataOrder::sequential) return (training_.words() - 1) / sequence_;
  return std::max<std::int64_t>(1, (training_.words() - sequence_) / sequence_);
}

std::int64_t Data::validation_sequences() const {
  return (validation_.words() - 1) / sequence_;
}

std::int64_t Data::training_start(std::int64_t sequence) const {
  const std::int64_t size = training_sequences();
  const std::int64_t epoch = sequence / size;
  const std::int64_t place = sequence % size;
  if (options_.order == DataOrder::sequential) return place * sequence_;
  const std::uint64_t key = scattered(scattered(options_.seed) + static_cast<std::uint64_t>(epoch));
  const std::int64_t spare = training_.words() - 1 - size * sequence_;
  const auto offset =
      static_cast<std::int64_t>(scattered(~key) % static_cast<std::uint64_t>(spare + 1));
  return offset + permuted(place, size, key) * sequence_;
}

namespace {

std::span<std::int32_t> last_sequence(std::vector<std::int32_t>& words, std::int64_t sequence) {
  return std::span(words).last(static_cast<std::size_t>(sequence));
}

}  // namespace

void Data::append(LocalBatch& batch, const WordStream& words, std::int64_t start) const {
  words.read(start, sequence_, vocabulary_, batch.tokens);
  words.read(start + 1, sequence_, vocabulary_, batch.targets);
  if (!words.has_prompts()) return;
  words.leave_out_prompts(start + 1, last_sequence(batch.targets, sequence_));
}

// Of training's words from `first` on: the words that decide may lie before the sequence.
void Data::leave_out_by_hash(std::span<std::int32_t> targets, std::int64_t first) const {
  const std::int64_t begin = std::max<std::int64_t>(0, first - options_.goldfish.h);
  std::vector<std::int32_t> words;
  training_.read(begin, first - begin + sequence_, vocabulary_, words);
  for (std::int64_t i = 0; i < sequence_; ++i) {
    const std::int64_t place = first + i - begin;
    const std::int64_t known = std::min(place, options_.goldfish.h);
    const auto before = std::span(words).subspan(static_cast<std::size_t>(place - known),
                                                 static_cast<std::size_t>(known));
    if (!options_.goldfish.leaves_out(before)) continue;
    targets[static_cast<std::size_t>(i)] = ignored_target;
  }
}

namespace {

// Calls `take` with the place within the step of each sequence that is this rank's.
template <typename Take>
LocalBatch shared_out(const BatchShare& cut, const Take& take) {
  check_divides(cut.sequences, cut.grid, cut.micro_batches);
  LocalBatch batch;
  batch.sequences = cut.sequences;
  for (std::int64_t m = 0; m < cut.micro_batches; ++m) {
    const Share mine = share(cut.grid, cut.rank, m, cut.sequences / cut.micro_batches);
    for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) take(batch, i);
  }
  return batch;
}

}  // namespace

LocalBatch Data::training(std::int64_t position, const BatchShare& cut) const {
  return shared_out(cut, [&](LocalBatch& batch, std::int64_t i) {
    const std::int64_t start = training_start(position + i);
    append(batch, training_, start);
    if (options_.goldfish.k == 0) return;
    leave_out_by_hash(last_sequence(batch.targets, sequence_), start + 1);
  });
}

LocalBatch Data::validation(std::int64_t position, const BatchShare& cut) const {
  return shared_out(cut, [&](LocalBatch& batch, std::int64_t i) {
    append(batch, validation_, (position + i) % validation_sequences() * sequence_);
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

}  // namespace fourfold
