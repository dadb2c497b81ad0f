// Meaning before letters; edit distance is quadratic in the length of names, a few dozen letters.
#include "support/nearest_name.hpp"

#include <algorithm>
#include <cstddef>

#include "support/meant_name.hpp"
#include "support/trade_words.hpp"

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

// Runs of letters and runs of digits: "llama3.1-8b" has llama, 3, 1, 8 and b. Sorted.
std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts;
  char kind = ' ', before = ' ';
  for (char letter : name) {
    const std::string bare = bare_word({letter});
    kind = bare.empty() ? ' ' : bare.front() <= '9' ? '0' : 'a';
    if (kind != ' ') {
      if (kind != before) parts.emplace_back();
      parts.back() += bare;
    }
    before = kind;
  }
  std::ranges::sort(parts);
  return parts;
}

// The candidate of the fewest other parts that has all of the name's; empty if none has.
std::string with_parts_of(const std::string& name, const std::vector<std::string>& candidates) {
  if (bare_word(name).size() < 2) return "";  // one letter means nothing
  const std::vector<std::string> parts = parts_of(name);
  const std::string* found = nullptr;
  std::size_t fewest = 0;
  for (const std::string& candidate : candidates) {
    const std::vector<std::string> others = parts_of(candidate);
    if (!std::ranges::includes(others, parts)) continue;
    if (found != nullptr && others.size() >= fewest) continue;
    found = &candidate;
    fewest = others.size();
  }
  return found == nullptr ? "" : *found;
}

// The candidate of the most parts, all of which are the name's; empty if there is none.
std::string within_parts_of(const std::string& name, const std::vector<std::string>& candidates) {
  const std::vector<std::string> parts = parts_of(name);
  const std::string* found = nullptr;
  std::size_t most = 0;
  for (const std::string& candidate : candidates) {
    const std::vector<std::string> others = parts_of(candidate);
    if (others.size() <= most || !std::ranges::includes(parts, others)) continue;
    found = &candidate;
    most = others.size();
  }
  return found == nullptr ? "" : *found;
}

std::string nearest_by_letters(const std::string& name,
                               const std::vector<std::string>& candidates) {
  const auto nearest = std::ranges::min_element(
      candidates, {}, [&](const std::string& candidate) { return edit_distance(name, candidate); });
  return nearest == candidates.end() ? "" : *nearest;
}

// One or two letters are a slip of the hand.
bool slips(const std::string& name, const std::vector<std::string>& candidates) {
  return !candidates.empty() && edit_distance(name, nearest_by_letters(name, candidates)) <= 2;
}

std::string quoted_question(const std::string& name) {
  return "; did you mean \"" + name + "\"?";
}

// What the name means among the candidates, and how that is said; empty if nobody knows.
struct Meaning {
  std::string candidate, said;
};

Meaning meaning_of(const std::string& name, const std::vector<std::string>& candidates) {
  const std::string bare = bare_word(name);
  for (const std::string& candidate : candidates) {
    if (!bare.empty() && bare_word(candidate) == bare) {
      return {candidate, quoted_question(candidate)};
    }
  }
  for (const TradeWords& words : trade_words()) {
    const auto same = [&](const std::string& said) { return bare_word(said) == bare; };
    if (std::ranges::none_of(words.said, same)) continue;
    for (const std::string& meant : words.meant) {
      const std::string known = meant.substr(0, meant.find(' '));
      if (std::ranges::count(candidates, known) == 0) continue;
      return {known, words.instead.empty() ? quoted_question(meant) : "; " + words.instead};
    }
  }
  if (!bare.empty()) {  // its plural is nearer than what has other words, too
    const auto plural = std::ranges::find(candidates, name + 's');
    if (plural != candidates.end()) return {*plural, quoted_question(*plural)};
  }
  std::string alike = with_parts_of(name, candidates);
  if (alike.empty() && !slips(name, candidates)) alike = within_parts_of(name, candidates);
  return alike.empty() ? Meaning{} : Meaning{alike, quoted_question(alike)};
}

}  // namespace

std::string meant_name(const std::string& name, const std::vector<std::string>& candidates) {
  return meaning_of(name, candidates).candidate;
}

bool has_parts_of(const std::string& text, const std::string& name) {
  return bare_word(name).size() > 2 && std::ranges::includes(parts_of(text), parts_of(name));
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
  const std::string meant = meant_name(name, candidates);
  return meant.empty() ? nearest_by_letters(name, candidates) : meant;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& candidates) {
  const Meaning meaning = meaning_of(name, candidates);
  if (!meaning.said.empty()) return meaning.said;
  const std::string nearest = nearest_by_letters(name, candidates);
  const std::size_t like = std::max<std::size_t>(1, name.size() / 2);
  return nearest.empty() || edit_distance(name, nearest) > like ? "" : quoted_question(nearest);
}

std::string one_of_these(const std::string& name, const std::vector<std::string>& candidates) {
  std::string text = did_you_mean(name, candidates);
  text += text.ends_with('?') ? " It is one of" : "; it is one of";
  for (const std::string& candidate : candidates) {
    text += &candidate == &candidates.front() ? " " : ", ";
    text += candidate;
  }
  return text;
}

}  // namespace fourfold::inline support
