// Live progress on standard error: one line that is rewritten on a terminal; elsewhere a line per
// finished point, and one every half minute within a point. Time left comes from work weights,
// since points differ a hundredfold in work, and from how fast the activity of the moment goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace fourfold::inline scaling::inline jobs {

class Progress {
 public:
  // `work`: the sum of the weights of all points that will be run.
  Progress(std::int64_t points, double work);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin(const std::string& label, double weight);
  void update(const std::string& activity, double done);  // of the point, 0 to 1
  // Prints a line that stays.
  void finish(const std::string& result);

 private:
  std::string time_left(double done_work) const;
  void follow(const std::string& activity, double done_work);
  void wipe();

  using Clock = std::chrono::steady_clock;
  Clock::time_point started_ = Clock::now();
  Clock::time_point drawn_ = Clock::now();
  // What is being done, without its numbers; since when, and how much had been done before.
  std::string activity_;
  Clock::time_point activity_started_ = Clock::now();
  double work_before_activity_ = 0.0;
  bool terminal_ = false;
  bool line_open_ = false;
  std::int64_t points_ = 0;
  std::int64_t number_ = 0;
  double work_ = 0.0;
  double done_work_ = 0.0;
  double weight_ = 0.0;
  std::string label_;
};

// The time that the rest takes if work goes on as fast as so far; -1 while that is unknown.
double seconds_left(double elapsed, double done_work, double work);
// That in words: "about 2:45 left".
std::string time_left_text(double seconds_left);

}  // namespace fourfold::inline scaling::inline jobs
