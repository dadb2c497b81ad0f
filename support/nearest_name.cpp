// Edit distance over short names: quadratic in their length, which is a few dozen characters.
#include "support/nearest_name.hpp"

#include <algorithm>
#include <cstddef>

namespace fourfold::inline support {
namespace {

// Optimal string alignment: distance[i][j] is the cost of turning i letters of a into j of b.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  constexpr std::size_t longest =
      100;  // what is longer is no name: its end counts letter by letter
  if (a.size() > longest) return edit_distance(a.substr(0, longest), b) + a.size() - longest;
  std::vector<std::vector<std::size_t>> distance(a.size() + 1,
                                                 std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) distance[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) distance[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      distance[i][j] = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
      }
    }
  }
  return distance[a.size()][b.size()];
}

}  // namespace

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
  const auto nearest = std::min_element(candidates.begin(), candidates.end(),
                                        [&](const std::string& a, const std::string& b) {
                                          return edit_distance(name, a) < edit_distance(name, b);
                                        });
  return nearest == candidates.end() ? "" : *nearest;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  const std::size_t like = std::max<std::size_t>(1, name.size() / 2);
  return nearest.empty() || edit_distance(name, nearest) > like
             ? ""
             : "; did you mean \"" + nearest + "\"?";
}

std::string one_of_these(const std::string& name, const std::vector<std::string>& candidates) {
  std::string text = did_you_mean(name, candidates);
  text += text.empty() ? "; it is one of" : " It is one of";
  for (const std::string& candidate : candidates) {
    text += &candidate == &candidates.front() ? " " : ", ";
    text += candidate;
  }
  return text;
}

}  // namespace fourfold::inline support
