// Reads counts of layers and deals layers out by them; see layers_per_stage.hpp.
#include "schedule/program/layers_per_stage.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace fourfold::inline schedule::inline program {
namespace {

constexpr const char* even = "even";

// Far above the stages and the layers of any model, so that sums cannot overflow.
constexpr std::int64_t most = 1'000'000;

std::optional<std::int64_t> number(const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  if (value < 0 || value > most) return std::nullopt;
  return value;
}

}  // namespace

LayersPerStage LayersPerStage::parse(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument("'" + text + "' is no list of layers: " + why);
  };
  LayersPerStage result;
  if (text == even) return result;
  std::istringstream words(text + ',');
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t by = word.find('x');
    const auto times = by == std::string::npos ? 1 : number(word.substr(0, by));
    const auto layers = number(by == std::string::npos ? word : word.substr(by + 1));
    if (!times || !layers || *times < 1) {
      refuse("'" + word + "' is no count; write such as 15,14x16,15, which is 15, 14 times 16, 15");
    }
    if (static_cast<std::int64_t>(result.counts_.size()) + *times > most) {
      refuse("it has more than a million counts");
    }
    result.counts_.insert(result.counts_.end(), static_cast<std::size_t>(*times), *layers);
  }
  return result;
}

std::string LayersPerStage::str() const {
  if (!said()) return even;
  std::string text;
  for (auto first = counts_.begin(); first != counts_.end();) {
    const auto next =
        std::find_if(first, counts_.end(), [&](std::int64_t n) { return n != *first; });
    if (!text.empty()) text += ',';
    if (next - first > 1) text += std::to_string(next - first) + 'x';
    text += std::to_string(*first);
    first = next;
  }
  return text;
}

std::string LayersPerStage::fault(std::int64_t layers, std::int64_t stages,
                                  std::int64_t chunks) const {
  if (!said()) return "";
  const auto given = static_cast<std::int64_t>(counts_.size());
  if (given != stages && given != stages * chunks) {
    std::string right = std::to_string(stages) + ", one for each stage";
    if (chunks > 1) right += ", or " + std::to_string(stages * chunks) + ", one for each chunk";
    return "layers are given for " + std::to_string(given) + " stages; give " + right;
  }
  const std::int64_t sum = std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
  if (sum != layers) {
    return "the layers of the stages are " + std::to_string(sum) + " together; the model has " +
           std::to_string(layers);
  }
  for (std::int64_t chunk = 0; chunk < stages * chunks; ++chunk) {
    const bool end = chunks > 1 && (chunk == 0 || chunk + 1 == stages * chunks);
    if (end || count(stages, chunks, chunk) > 0) continue;
    return (chunks > 1 ? "chunk " : "stage ") + std::to_string(chunk) +
           " has no layer; each needs one" +
           (chunks > 1 ? ", but for the first and the last chunk" : "");
  }
  return "";
}

std::int64_t LayersPerStage::count(std::int64_t stages, std::int64_t chunks,
                                   std::int64_t chunk) const {
  const auto at = [&](std::int64_t i) { return counts_[static_cast<std::size_t>(i)]; };
  if (static_cast<std::int64_t>(counts_.size()) == stages * chunks) return at(chunk);
  const std::int64_t stage = chunk % stages, place = chunk / stages;
  const std::int64_t each = at(stage) / chunks, rest = at(stage) % chunks;
  const bool longer = stage == 0 ? place >= chunks - rest : place < rest;
  return each + (longer ? 1 : 0);
}

std::pair<std::int64_t, std::int64_t> LayersPerStage::of_chunk(std::int64_t stages,
                                                               std::int64_t chunks,
                                                               std::int64_t chunk) const {
  std::int64_t first = 0;
  for (std::int64_t c = 0; c < chunk; ++c) first += count(stages, chunks, c);
  return {first, first + count(stages, chunks, chunk)};
}

std::int64_t LayersPerStage::fewest(std::int64_t stages, std::int64_t chunks) const {
  std::int64_t least = most;
  for (std::int64_t c = 0; c < stages * chunks; ++c)
    least = std::min(least, count(stages, chunks, c));
  return least;
}

}  // namespace fourfold::inline schedule::inline program
