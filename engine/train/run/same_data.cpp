// Digests, compared; see same_data.hpp.
#include "engine/train/run/same_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "engine/mpi/session.hpp"
#include "engine/train/run/agreement.hpp"
#include "schedule/program/sharding.hpp"
#include "support/random.hpp"

namespace fourfold::inline engine::inline train::inline run {

namespace {

// What a rank tells of its data.
struct Told {
  std::int64_t training = 0, validation = 0;  // words
  std::array<char, 32> digest{};
  bool operator==(const Told&) const = default;
};

// "rank 1", "ranks 1, 3, ...".
std::string ranks_text(std::vector<std::int64_t> ranks) {
  constexpr std::size_t most = 8;
  const bool cut = ranks.size() > most;
  if (cut) ranks.resize(most);
  return fmt::format("rank{} {}{}", ranks.size() > 1 ? "s" : "", fmt::join(ranks, ", "),
                     cut ? ", ..." : "");
}

}  // namespace

std::string digest_of_all(const Data& data, const World& world) {
  std::string digest;
  together([&] { digest = data.digest(); });
  Told own{data.training_words().words(), data.validation_words().words(), {}};
  std::copy_n(digest.begin(), std::min(digest.size(), own.digest.size()), own.digest.begin());
  const std::vector<Told> all = world.all(own);
  std::vector<std::int64_t> others;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!(all[rank] == all[0])) others.push_back(static_cast<std::int64_t>(rank));
  }
  if (others.empty()) return digest;
  const Told& first = all[static_cast<std::size_t>(others.front())];
  const bool as_long = first.training == all[0].training && first.validation == all[0].validation;
  throw FailedTogether(fmt::format(
      "the data of {} are not those of rank 0 ({}): {}; give all nodes the same files",
      ranks_text(others), world.from_first(data.training_words().files().front().path()),
      as_long ? "they are as long, but other words"
              : fmt::format("{} words to train on and {} to validate on, instead of {} and {}",
                            first.training, first.validation, all[0].training, all[0].validation)));
}

double fingerprint(const LocalBatch& batch) {
  constexpr int kept = 53;  // bits that a double holds
  std::uint64_t sum = batch.tokens.size();
  for (const auto* words : {&batch.tokens, &batch.targets}) {
    for (const std::int32_t word : *words) sum = scattered(sum ^ static_cast<std::uint32_t>(word));
  }
  return static_cast<double>(sum >> (64 - kept));
}

void expect_same_words(const std::vector<double>& fingerprints, const ProcessGrid& grid) {
  std::vector<std::int64_t> others;
  std::int64_t like = 0;
  std::map<std::int64_t, std::int64_t> firsts;  // by share of sequences
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    const std::int64_t share = token_cuts.part(grid, rank);
    const std::int64_t first = firsts.try_emplace(share, rank).first->second;
    const auto of = [&](std::int64_t r) { return fingerprints[static_cast<std::size_t>(r)]; };
    if (of(rank) == of(first)) continue;
    if (others.empty()) like = first;
    if (others.empty() || like == first) others.push_back(rank);
  }
  if (others.empty()) return;
  throw FailedTogether(
      fmt::format("{} read other words than rank {} in this step, which must be the same; the "
                  "copies of the data differ: give all nodes the same files",
                  ranks_text(others), like));
}

}  // namespace fourfold::inline engine::inline train::inline run
