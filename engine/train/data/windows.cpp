// Reads windows, and pads what is shorter; see windows.hpp.
#include "engine/train/data/windows.hpp"

#include <algorithm>

#include "engine/words.hpp"

namespace fourfold::inline engine::inline train::inline data {

Windows::Windows(const WordStream& words, const Model& model, std::int64_t most_words)
    : words_(words),
      sequence_(model.sequence),
      vocabulary_(model.vocabulary),
      targets_(std::max<std::int64_t>(0, words.words() - 1)) {
  if (most_words > 0) targets_ = std::min(targets_, most_words);
}

std::int64_t Windows::words_in(std::int64_t window) const {
  return std::clamp<std::int64_t>(targets_ - window * sequence_, 0, sequence_);
}

bool Windows::any_counts() const {
  if (!words_.has_prompts()) return targets_ > 0;
  std::vector<std::int32_t> targets;
  for (std::int64_t window = 0; window < count(); ++window) {
    targets.assign(static_cast<std::size_t>(words_in(window)), 0);
    words_.leave_out_prompts(window * sequence_ + 1, targets);
    if (counted_targets(targets) > 0) return true;
  }
  return false;
}

LocalBatch Windows::batch(std::int64_t first, const BatchShare& cut) const {
  return shared_out(cut, [&](LocalBatch& batch, std::int64_t i) {
    const std::int64_t start = (first + i) * sequence_;
    const std::int64_t own = words_in(first + i);
    const std::size_t behind = batch.targets.size() + static_cast<std::size_t>(sequence_);
    if (own > 0) {
      words_.read(start, own, vocabulary_, batch.tokens);
      words_.read(start + 1, own, vocabulary_, batch.targets);
      if (words_.has_prompts()) {
        words_.leave_out_prompts(start + 1,
                                 std::span(batch.targets).last(static_cast<std::size_t>(own)));
      }
    }
    batch.tokens.resize(behind, 0);
    batch.targets.resize(behind, ignored_target);
  });
}

}  // namespace fourfold::inline engine::inline train::inline data
