// Drawing and extrapolation; see board.hpp.
#include "scaling/jobs/board.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "scaling/jobs/progress.hpp"
#include "support/clock_text.hpp"
#include "support/standard_streams.hpp"
#include "support/visible_text.hpp"

namespace fourfold::inline scaling::inline jobs {
namespace {

double percent_of(double part, double whole) {
  return whole > 0.0 ? 100.0 * part / whole : 0.0;
}

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string cut(const std::string& text, std::size_t columns) {
  return text.size() <= columns ? text : text.substr(0, columns - 1) + "~";
}

}  // namespace

Display display_now() {
  constexpr std::size_t least_columns = 40;
  Display display{isatty(STDERR_FILENO) == 1, 80};
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= least_columns) {
    display.columns = size.ws_col;
  }
  return display;
}

Board::Board(std::int64_t points, double work, Display display)
    : display_(display), points_(points), work_(work) {}

Board::~Board() {
  wipe();
}

void Board::begin(std::size_t point, const std::string& label, double weight) {
  at_work_[point] = {visible_line(label), "starting", weight, 0.0, Clock::now()};
  if (display_.terminal) drawn_ = {};
  tick();
}

void Board::update(std::size_t point, const std::string& activity, double done) {
  at_work_.at(point).activity = activity;
  at_work_.at(point).done = done;
}

void Board::finish(std::size_t point, const std::string& result) {
  const AtWork ended = at_work_.at(point);
  at_work_.erase(point);
  finished_work_ += ended.weight;
  ++finished_;
  stay(fmt::format("[{}/{}] {}: {}, {}", finished_, points_, ended.label, result, time_left()));
}

void Board::fail(std::size_t point) {
  ++failed_;
  finish(point, "failed");
}

void Board::put_back(std::size_t point, const std::string& why) {
  const AtWork ended = at_work_.at(point);
  at_work_.erase(point);
  stay(fmt::format("{}: {}; it will be tried once more", ended.label, why));
}

void Board::tick() {
  constexpr std::chrono::milliseconds redraw_after{200};
  constexpr std::chrono::seconds line_after{30};
  if (Clock::now() - drawn_ < (display_.terminal ? Clock::duration(redraw_after) : line_after)) {
    return;
  }
  drawn_ = Clock::now();
  wipe();
  std::string text;
  const std::vector<std::string> all = lines();
  for (const std::string& line : all) text += line + '\n';
  say(text);
  if (display_.terminal) drawn_lines_ = all.size();
}

std::vector<std::string> Board::lines() const {
  std::vector<std::string> all{
      cut(fmt::format("{} of {} points done{}, {:.0f} % of the work, {}", finished_, points_,
                      failed_ > 0 ? fmt::format(", {} failed", failed_) : "",
                      percent_of(done_work(), work_), time_left()),
          display_.columns)};
  std::size_t widest = 0;
  for (const auto& [point, one] : at_work_) widest = std::max(widest, one.label.size());
  widest = std::min(widest, display_.columns / 2);
  for (const auto& [point, one] : at_work_) {
    const std::string numbers =
        fmt::format("{:3.0f} %  {:>7}", 100.0 * one.done, clock_text(since(one.since)));
    const std::size_t room = display_.columns - numbers.size() - 2;
    all.push_back(fmt::format(
        "{:<{}}  {}",
        cut(fmt::format("  {:<{}}  {}", cut(one.label, widest), widest, one.activity), room), room,
        numbers));
  }
  return all;
}

double Board::done_work() const {
  double work = finished_work_;
  for (const auto& [point, one] : at_work_) work += one.done * one.weight;
  return work;
}

std::string Board::time_left() const {
  return time_left_text(seconds_left(since(started_), done_work(), work_));
}

void Board::stay(const std::string& line) {
  wipe();
  say_line(line);
  if (display_.terminal) drawn_ = {};
}

void Board::wipe() {
  if (drawn_lines_ > 0) say(fmt::format("\033[{}A\r\033[J", drawn_lines_));
  drawn_lines_ = 0;
}

}  // namespace fourfold::inline scaling::inline jobs
