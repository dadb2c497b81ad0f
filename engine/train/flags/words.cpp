// The four overlaps by their short names; see words.hpp.
#include "engine/train/flags/words.hpp"

#include <array>
#include <sstream>
#include <utility>

namespace fourfold {

namespace {

constexpr std::array<std::pair<const char*, bool Overlap::*>, 4> known{
    {{"oar", &Overlap::all_reduce},
     {"ors", &Overlap::reduce_scatter},
     {"oag", &Overlap::all_gather},
     {"recompute", &Overlap::recompute_gather}}};

}  // namespace

Overlap overlap_named(const std::string& words) {
  Overlap overlap;
  for (const auto& [word, member] : known) overlap.*member = words == "all";
  if (words == "all" || words == "none") return overlap;
  std::istringstream list(words);
  for (std::string typed; std::getline(list, typed, ',');) {
    bool found = false;
    for (const auto& [word, member] : known) {
      if (typed != word) continue;
      overlap.*member = true;
      found = true;
    }
    if (!found) {
      throw std::runtime_error(
          "unknown --overlap '" + typed + "'" +
          did_you_mean(typed, {"all", "none", "oar", "ors", "oag", "recompute"}));
    }
  }
  return overlap;
}

std::string overlap_text(const Overlap& overlap) {
  if (overlap == overlap_named("all")) return "all";
  std::string text;
  for (const auto& [word, member] : known) {
    if (overlap.*member) text += (text.empty() ? "" : ",") + std::string(word);
  }
  return text.empty() ? "none" : text;
}

}  // namespace fourfold
