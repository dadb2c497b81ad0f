// Drawing and extrapolation; see progress.hpp.
#include "scaling/jobs/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "support/clock_text.hpp"
#include "support/standard_streams.hpp"
#include "support/visible_text.hpp"

namespace fourfold::inline scaling::inline jobs {

double seconds_left(double elapsed, double done_work, double work) {
  if (done_work <= 0.0) return -1.0;
  return elapsed * std::max(work - done_work, 0.0) / done_work;
}

Progress::Progress(std::int64_t points, double work)
    : terminal_(isatty(STDERR_FILENO) == 1), points_(points), work_(work) {}

Progress::~Progress() {
  wipe();
}

void Progress::begin(const std::string& label, double weight) {
  ++number_;
  label_ = visible_line(label);
  weight_ = weight;
  if (terminal_) drawn_ = {};
  update("starting", 0.0);
}

void Progress::update(const std::string& activity, double done) {
  constexpr std::chrono::milliseconds redraw_after{100};
  constexpr std::chrono::seconds line_after{30};
  const double done_work = done_work_ + done * weight_;
  follow(activity, done_work);
  if (Clock::now() - drawn_ < (terminal_ ? Clock::duration(redraw_after) : line_after)) return;
  drawn_ = Clock::now();
  say(fmt::format("{}[{}/{}] {}: {}, {:.0f} % done, {}{}", terminal_ ? "\r\033[K" : "", number_,
                  points_, label_, activity, work_ > 0.0 ? 100.0 * done_work / work_ : 0.0,
                  time_left(done_work), terminal_ ? "" : "\n"));
  line_open_ = terminal_;
}

void Progress::follow(const std::string& activity, double done_work) {
  std::string words;
  for (char letter : activity) {
    if (letter < '0' || letter > '9') words += letter;
  }
  if (words == activity_) return;
  activity_ = words;
  activity_started_ = Clock::now();
  work_before_activity_ = done_work;
}

void Progress::finish(const std::string& result) {
  wipe();
  done_work_ += weight_;
  say_line(
      fmt::format("[{}/{}] {}: {}, {}", number_, points_, label_, result, time_left(done_work_)));
}

std::string Progress::time_left(double done_work) const {
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  double left = seconds_left(since(activity_started_), done_work - work_before_activity_,
                             work_ - work_before_activity_);
  if (left < 0.0) left = seconds_left(since(started_), done_work, work_);
  return time_left_text(left);
}

std::string time_left_text(double seconds_left) {
  if (seconds_left < 0.0) return "time left not known yet";
  return "about " + clock_text(seconds_left) + " left";
}

void Progress::wipe() {
  if (line_open_) say("\r\033[K");
  line_open_ = false;
}

}  // namespace fourfold::inline scaling::inline jobs
