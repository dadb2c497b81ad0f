// Packing and unpacking; see rank_word.hpp.
#include "engine/train/run/rank_word.hpp"

#include <algorithm>

namespace fourfold::inline engine::inline train::inline run {

std::vector<double> RankWord::numbers() const {
  const auto number = [](bool yes) { return yes ? 1.0 : 0.0; };
  std::vector<double> result{step.seconds,
                             static_cast<double>(step.staged_bytes),
                             number(stop_asked),
                             number(reads_on),
                             number(log_is_whole),
                             seconds_here,
                             loss,
                             next_words};
  result.insert(result.end(), step.kernels.begin(), step.kernels.end());
  result.insert(result.end(), step.exposed_seconds.begin(), step.exposed_seconds.end());
  return result;
}

RankWord RankWord::of(std::span<const double> numbers) {
  constexpr std::size_t alone = 8;  // numbers that are one each
  const std::span<const double> exposed = numbers.subspan(alone + kernel_groups);
  RankStep step{
      numbers[0], static_cast<std::int64_t>(numbers[1]), {exposed.begin(), exposed.end()}, {}};
  std::ranges::copy(numbers.subspan(alone, kernel_groups), step.kernels.begin());
  return {step,       numbers[2] != 0.0, numbers[3] != 0.0, numbers[4] != 0.0,
          numbers[5], numbers[6],        numbers[7]};
}

std::vector<double> by_channel_of_all(const std::vector<Channel>& all,
                                      const std::vector<Channel>& of_program,
                                      const std::vector<double>& seconds) {
  std::vector<double> result(all.size(), 0.0);
  for (std::size_t i = 0; i < of_program.size(); ++i) {
    result[static_cast<std::size_t>(std::ranges::find(all, of_program[i]) - all.begin())] =
        seconds[i];
  }
  return result;
}

}  // namespace fourfold::inline engine::inline train::inline run
