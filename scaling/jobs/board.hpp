// Live progress of several points at once, on standard error: on a terminal a table of those at
// work that is drawn anew; elsewhere a line per finished point, and one every half minute.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fourfold::inline scaling::inline jobs {

// How standard error shows it.
struct Display {
  bool terminal = false;
  std::size_t columns = 80;
};
Display display_now();

class Board {
 public:
  // `work`: the sum of the weights of all points that will be begun.
  Board(std::int64_t points, double work, Display display = display_now());
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  void begin(std::size_t point, const std::string& label, double weight);
  void update(std::size_t point, const std::string& activity, double done);  // 0 to 1
  // Print a line that stays: of a point that is answered or has failed, or is put back.
  void finish(std::size_t point, const std::string& result);
  void fail(std::size_t point);
  void put_back(std::size_t point, const std::string& why);
  // Draws anew if it is time to.
  void tick();

  // Of the moment, the line on top and one for each point at work, cut to the screen.
  std::vector<std::string> lines() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct AtWork {
    std::string label, activity;
    double weight = 0.0, done = 0.0;
    Clock::time_point since;
  };
  std::string time_left() const;
  double done_work() const;
  void stay(const std::string& line);
  void wipe();

  Clock::time_point started_ = Clock::now(), drawn_ = Clock::now();
  Display display_;
  std::map<std::size_t, AtWork> at_work_;
  std::int64_t points_ = 0, finished_ = 0, failed_ = 0;
  double work_ = 0.0, finished_work_ = 0.0;
  std::size_t drawn_lines_ = 0;
};

}  // namespace fourfold::inline scaling::inline jobs
