// Drawing and extrapolation; see progress.hpp.
#include "scaling/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace fourfold {

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  const std::int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

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
  label_ = label;
  weight_ = weight;
  drawn_ = {};
  update("starting", 0.0);
}

void Progress::update(const std::string& activity, double done) {
  constexpr std::chrono::milliseconds redraw_after{100};
  if (!terminal_ || Clock::now() - drawn_ < redraw_after) return;
  drawn_ = Clock::now();
  fmt::print(stderr, "\r\033[K[{}/{}] {}: {}, {}", number_, points_, label_, activity,
             time_left(done_work_ + done * weight_));
  std::fflush(stderr);
  line_open_ = true;
}

void Progress::finish(const std::string& result) {
  wipe();
  done_work_ += weight_;
  fmt::print(stderr, "[{}/{}] {}: {}, {}\n", number_, points_, label_, result,
             time_left(done_work_));
}

std::string Progress::time_left(double done_work) const {
  const double elapsed = std::chrono::duration<double>(Clock::now() - started_).count();
  const double left = seconds_left(elapsed, done_work, work_);
  return left < 0.0 ? "time left not known yet" : "about " + clock_text(left) + " left";
}

void Progress::wipe() {
  if (line_open_) fmt::print(stderr, "\r\033[K");
  line_open_ = false;
}

}  // namespace fourfold
