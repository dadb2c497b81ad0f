// Seconds of silence and of standing still, rank by rank; see watch.hpp.
#include "engine/train/run/watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

namespace fourfold::inline engine::inline train::inline run {

std::string line_of(const Sign& sign) {
  const std::string text =
      fmt::format("{:.40} {} {} {} {} {} {}", sign.host, sign.process, sign.beat, sign.moves,
                  sign.waits ? "waits" : "works", sign.step, name(sign.doing));
  return fmt::format("{:<{}.{}}\n", text, sign_bytes - 1, sign_bytes - 1);
}

std::optional<Sign> sign_in(const std::string& line) {
  std::istringstream words(line);
  Sign sign;
  std::string waits, doing;
  words >> sign.host >> sign.process >> sign.beat >> sign.moves >> waits >> sign.step >> std::ws;
  std::getline(words, doing);
  doing.erase(doing.find_last_not_of(' ') + 1);
  for (int i = 0; words && i <= static_cast<int>(Doing::ended); ++i) {
    sign.doing = static_cast<Doing>(i);
    sign.waits = waits == "waits";
    if (doing == name(sign.doing)) return sign;
  }
  return std::nullopt;
}

Patience patience_of(double hang_timeout) {
  Patience patience;
  patience.to_end = hang_timeout;
  if (hang_timeout > 0.0) patience.to_name = std::min(patience.to_name, hang_timeout / 2.0);
  patience.when_asked = std::min(patience.when_asked, patience.to_name);
  return patience;
}

Watch::Watch(Patience patience, std::int64_t ranks)
    : patience_(patience), ranks_(static_cast<std::size_t>(ranks)) {}

Watch::View Watch::look(const std::vector<std::optional<Sign>>& signs, double seconds,
                        bool asked_to_stop) {
  View view;
  std::vector<std::size_t> back;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    const std::optional<Sign>& now = signs[i];
    const bool beats = now && (!rank.last || now->beat != rank.last->beat);
    const bool moves = beats && (!rank.last || now->moves != rank.last->moves ||
                                 now->step != rank.last->step || now->doing != rank.last->doing);
    rank.silent = beats ? 0.0 : rank.silent + seconds;
    rank.still = moves ? 0.0 : rank.still + seconds;
    if (beats) rank.last = now;
    const bool over = rank.named == Trouble::silent ? beats : moves;
    if (rank.named != Trouble::none && over) {
      rank.named = Trouble::none;
      back.push_back(i);
    }
  }
  for (std::size_t i : back) view.sentences.push_back(who(i) + " goes on");
  for (const Case& found : cases(patience_.to_name, patience_.to_name)) {
    const bool is_new = std::ranges::any_of(
        found.ranks, [&](std::size_t i) { return ranks_[i].named != found.trouble; });
    if (!is_new) continue;
    for (std::size_t i : found.ranks) ranks_[i].named = found.trouble;
    const double left = patience_.to_end - found.seconds;
    view.sentences.push_back(sentence(found) +
                             (patience_.to_end > 0.0
                                  ? fmt::format("; the job ends in {:.0f} s unless that changes "
                                                "(--hang-timeout)",
                                                std::max(left, 0.0))
                                  : "; the job waits on (--hang-timeout 0)"));
  }
  if (asked_to_stop) {
    const std::vector<Case> found = cases(patience_.when_asked, patience_.to_name);
    if (!found.empty()) {
      view.end = "asked to stop, and no checkpoint can be written: " + sentence(found.front());
    }
  } else if (patience_.to_end > 0.0) {
    const std::vector<Case> found = cases(patience_.to_end, patience_.to_end);
    if (!found.empty()) view.end = sentence(found.front()) + "; the job is ended (--hang-timeout)";
  }
  return view;
}

bool Watch::is_silent(std::int64_t rank, bool asked_to_stop) const {
  const Rank& one = ranks_[static_cast<std::size_t>(rank)];
  return one.silent >= (asked_to_stop ? patience_.when_asked : patience_.to_name);
}

std::vector<Watch::Case> Watch::cases(double silent, double still) const {
  Case quiet{Trouble::silent, 0.0, {}}, stuck{Trouble::stuck, 0.0, {}},
      waiting{Trouble::tangled, 0.0, {}};
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const Rank& rank = ranks_[i];
    if (rank.last && rank.last->doing == Doing::ended) continue;
    const auto add = [i](Case& to, double seconds) {
      to.ranks.push_back(i);
      to.seconds = std::max(to.seconds, seconds);
    };
    if (rank.silent >= silent) {
      add(quiet, rank.silent);
    } else if (rank.last && rank.last->doing == Doing::training && rank.still >= still) {
      add(rank.last->waits ? waiting : stuck, rank.still);
    }
  }
  if (!quiet.ranks.empty()) return {quiet};
  if (!stuck.ranks.empty() && !waiting.ranks.empty()) return {stuck};
  if (waiting.ranks.size() == ranks_.size()) return {waiting};
  return {};
}

std::string Watch::sentence(const Case& found) const {
  if (found.trouble == Trouble::tangled) {
    return fmt::format("all ranks have waited for one another for {:.0f} s, in step {}",
                       found.seconds, ranks_.front().last->step);
  }
  constexpr std::size_t most = 8;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(found.ranks.size(), most); ++i) {
    names.push_back(who(found.ranks[i]));
  }
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (found.ranks.size() > most) text += fmt::format(" and {} more", found.ranks.size() - most);
  const std::optional<Sign>& last = ranks_[found.ranks.front()].last;
  const std::string doing =
      last ? fmt::format("{} in step {}", name(last->doing), last->step) : "not there yet";
  if (found.trouble == Trouble::silent) {
    return fmt::format("no sign of life for {:.0f} s from {}, last seen {}", found.seconds, text,
                       doing);
  }
  return fmt::format("no progress for {:.0f} s in {}, {}, which others wait for", found.seconds,
                     text, doing);
}

std::string Watch::who(std::size_t rank) const {
  const std::optional<Sign>& last = ranks_[rank].last;
  if (!last) return fmt::format("rank {}", rank);
  return fmt::format("rank {} on {} (process {})", rank, last->host, last->process);
}

}  // namespace fourfold::inline engine::inline train::inline run
