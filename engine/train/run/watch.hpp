// Which rank of a run holds the others up, told from the signs of life that all of them leave: one
// that is stopped, one whose node hangs, one in an endless loop. Knows no clock, no file and no
// MPI.
//
//   silent   a rank leaves no signs any more, whatever it was doing
//   stuck    a rank leaves signs, but in the midst of a step nothing of it has moved on, while
//            another waits
//   tangled  all ranks wait for one another
//
// A long step is none of these: between its operations ranks move on. Nor are checkpoints, held-out
// words, drawing and the start, during which only silence counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/train/run/doing.hpp"

namespace fourfold::inline engine::inline train::inline run {

// What a rank leaves every now and then.
struct Sign {
  std::string host;
  std::int64_t process = 0;
  std::int64_t beat = 0;   // counts the signs
  std::int64_t moves = 0;  // counts what has moved on
  bool waits = false;      // for others
  std::int64_t step = 0;
  Doing doing = Doing::starting;
};

// As a line of equal length, and back; none where there is no sign.
inline constexpr std::size_t sign_bytes = 128;
std::string line_of(const Sign& sign);
std::optional<Sign> sign_in(const std::string& line);

// Seconds. A rank is named after the first, and the job ended after the second (0: never); where
// the job was asked to stop, after the third.
struct Patience {
  double to_name = 45.0, to_end = 600.0, when_asked = 20.0;
};
// What --hang-timeout means: named in less than a minute, and well before the job ends.
Patience patience_of(double hang_timeout);

class Watch {
 public:
  Watch(Patience patience, std::int64_t ranks);

  struct View {
    std::vector<std::string> sentences;  // to be said now
    std::string end;                     // why the job is to be ended now; empty: it is not
  };
  // Of the signs of all ranks, so many seconds of this rank's life after the last look.
  View look(const std::vector<std::optional<Sign>>& signs, double seconds, bool asked_to_stop);
  bool is_silent(std::int64_t rank, bool asked_to_stop) const;

 private:
  enum class Trouble : std::uint8_t { none, silent, stuck, tangled };
  struct Rank {
    std::optional<Sign> last;
    double silent = 0.0, still = 0.0;  // seconds
    Trouble named = Trouble::none;
  };
  struct Case {
    Trouble trouble = Trouble::none;
    double seconds = 0.0;
    std::vector<std::size_t> ranks;
  };
  // What has lasted for so many seconds of silence, or of standing still.
  std::vector<Case> cases(double silent, double still) const;
  std::string sentence(const Case& found) const;
  std::string who(std::size_t rank) const;

  Patience patience_;
  std::vector<Rank> ranks_;
};

}  // namespace fourfold::inline engine::inline train::inline run
