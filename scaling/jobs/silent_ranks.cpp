// Two lines of a file, and how long they have stayed; see silent_ranks.hpp.
#include "scaling/jobs/silent_ranks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "scaling/jobs/process.hpp"
#include "support/own_file.hpp"

namespace fourfold::inline scaling::inline jobs {
namespace {

constexpr std::size_t sign_bytes = 128;  // a line a rank, as the engine writes them

struct Words {
  std::string host, process, beat, moves, waits, step, doing;
};

// Of a rank that has left no sign yet all are empty.
Words words_of(const std::string& line) {
  Words words;
  std::istringstream text(line);
  text >> words.host >> words.process >> words.beat >> words.moves >> words.waits >> words.step >>
      std::ws;
  std::getline(text, words.doing);
  words.doing.erase(words.doing.find_last_not_of(' ') + 1);
  return words;
}

}  // namespace

SilentRanks::SilentRanks(const nlohmann::json& watched) {
  if (watched.is_null()) return;
  file_ = watched.at("file");
  looking_[1].rank = watched.at("ranks").get<std::int64_t>() - 1;
  name_after_ = watched.at("name_after");
  end_after_ = watched.at("end_after");
  end_when_asked_after_ = watched.at("end_when_asked_after");
  is_left_over_ = read();
}

std::string SilentRanks::Looking::who() const {
  const Words words = words_of(line);
  return words.host.empty()
             ? fmt::format("rank {}", rank)
             : fmt::format("rank {} on {} (process {})", rank, words.host, words.process);
}

// False where there is no such file: the job has not come so far, or is over. A pipe or a link in
// its place was not left by our ranks.
bool SilentRanks::read() try {
  const Descriptor file(open_own_file(file_, O_RDONLY));
  for (Looking& one : looking_) {
    std::string line(sign_bytes, ' ');
    const auto bytes = static_cast<ssize_t>(line.size());
    const off_t place = static_cast<off_t>(sign_bytes) * one.rank;
    if (::pread(file.number(), line.data(), line.size(), place) != bytes) return false;
    if (line != one.line) {
      one.silent = 0.0;
      is_left_over_ = false;
    }
    one.line = line;
    one.missed = words_of(line).doing != "at its end";
  }
  return true;
} catch (const std::runtime_error&) {
  return false;
}

SilentRanks::View SilentRanks::look(double seconds, bool asked_to_stop) {
  if (file_.empty()) return {};
  for (Looking& one : looking_) one.silent += seconds;
  if (!read() || is_left_over_) {
    for (Looking& one : looking_) one.silent = 0.0;
    return {};
  }
  double silent = std::numeric_limits<double>::infinity();
  for (const Looking& one : looking_) silent = std::min(silent, one.missed ? one.silent : silent);
  if (!std::isfinite(silent)) return {};
  View view;
  const bool silent_now = silent >= name_after_;
  if (named_ && !silent_now) {
    const auto back = std::ranges::min_element(
        looking_, {}, [](const Looking& one) { return one.missed ? one.silent : 1e300; });
    view.sentence = back->who() + " goes on";
  }
  if (!named_ && silent_now) {
    view.sentence =
        sentence(silent) + (end_after_ > 0.0
                                ? fmt::format("; the job ends in {:.0f} s unless that changes "
                                              "(--hang-timeout)",
                                              std::max(end_after_ - silent, 0.0))
                                : "; the job waits on (--hang-timeout 0)");
  }
  named_ = silent_now;
  if (asked_to_stop && silent >= end_when_asked_after_) {
    view.end = "asked to stop, and no checkpoint can be written: " + sentence(silent);
  } else if (end_after_ > 0.0 && silent >= end_after_) {
    view.end = sentence(silent) + "; the job is ended (--hang-timeout)";
  }
  return view;
}

std::string SilentRanks::sentence(double seconds) const {
  std::string who;
  const Looking* last = nullptr;
  for (const Looking& one : looking_) {
    if (!one.missed || (last != nullptr && last->rank == one.rank)) continue;
    who += (who.empty() ? "" : ", ") + one.who();
    last = &one;
  }
  const Words words = words_of(last->line);
  return fmt::format(
      "no sign of life for {:.0f} s from {}, last seen {}", seconds, who,
      words.host.empty() ? "not there yet" : fmt::format("{} in step {}", words.doing, words.step));
}

}  // namespace fourfold::inline scaling::inline jobs
