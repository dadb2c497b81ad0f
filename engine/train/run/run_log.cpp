// Checked writes; see run_log.hpp.
#include "engine/train/run/run_log.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "support/lost_reader.hpp"
#include "support/visible_text.hpp"

namespace fourfold::inline engine::inline train::inline run {

namespace {

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw std::runtime_error("cannot write the log " + path + ": " + std::strerror(error));
}

}  // namespace

void RunLog::open(const std::string& path, Screen screen) {
  path_ = path;
  screen_ = screen;
  // A file at its limit (ulimit -f) is an error of the write, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  file_ = std::fopen(path.c_str(), "ab");
  if (file_ == nullptr) cannot_write(path, errno);
  std::setvbuf(file_, nullptr, _IONBF, 0);  // what could not be written is not kept for later
  // A line that an earlier run left torn would swallow the first of this one.
  std::ifstream before(path, std::ios::binary);
  if (before.seekg(-1, std::ios::end) && before.get() != '\n') std::fputc('\n', file_);
}

RunLog::RunLog(RunLog&& other) noexcept
    : path_(std::move(other.path_)),
      screen_(other.screen_),
      file_(std::exchange(other.file_, nullptr)),
      unsaid_(other.unsaid_),
      unrecorded_(other.unrecorded_) {}

RunLog::~RunLog() {
  if (file_ != nullptr) std::fclose(file_);
}

void RunLog::say(const std::string& text) const {
  say_lines(visible_line(text));
}

void RunLog::say_lines(const std::string& text) const {
  if (screen_ == Screen::lines) print_line(text);
}

void RunLog::print_line(const std::string& text) const {
  const std::string line = visible(text) + "\n";
  const bool said = std::fwrite(line.data(), 1, line.size(), stdout) == line.size();
  if (said && std::fflush(stdout) == 0) return;
  if (!nobody_reads(errno) && unsaid_ == 0) unsaid_ = errno;
}

void RunLog::expect_all_said() const {
  if (unsaid_ == 0) return;
  throw std::runtime_error(std::string("cannot write to standard output: ") +
                           std::strerror(unsaid_) + "; the log " + path_ + " has all of it");
}

void RunLog::record(const std::string& json_line) const {
  if (file_ == nullptr) return;
  if (screen_ == Screen::json) print_line(json_line);
  if (unrecorded_ == 0) write_line(json_line + "\n");
}

void RunLog::record_end(const std::string& json_line) const {
  if (file_ == nullptr) return;
  if (screen_ == Screen::json) print_line(json_line);
  write_line(json_line + "\n");
}

void RunLog::write_line(const std::string& text) const {
  struct stat before {};
  const int file = ::fileno(file_);
  const bool known = ::fstat(file, &before) == 0;
  if (std::fwrite(text.data(), 1, text.size(), file_) == text.size()) return;
  if (unrecorded_ == 0) unrecorded_ = errno;
  // What is there of it goes again: the lines before stay whole, and the end finds its room.
  if (!known || ::ftruncate(file, before.st_size) != 0) return;
}

void RunLog::expect_whole() const {
  if (unrecorded_ != 0) cannot_write(path_, unrecorded_);
}

}  // namespace fourfold::inline engine::inline train::inline run
