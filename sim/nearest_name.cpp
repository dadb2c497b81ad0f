// Edit distance over known names; see nearest_name.hpp.
#include "sim/nearest_name.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace fourfold {
namespace {

// Optimal string alignment distance; three rows of its table suffice.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest_name(const std::string& word, const std::vector<std::string>& known) {
  std::string nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string unknown_name(const std::string& what, const std::string& word,
                         const std::vector<std::string>& known) {
  std::string sentence = "unknown " + what + " '" + word + "'";
  if (!known.empty()) sentence += "; the nearest known is '" + nearest_name(word, known) + "'";
  return sentence;
}

}  // namespace fourfold
