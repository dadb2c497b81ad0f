// What a run says: lines on standard output and lines of JSON in its log, both from rank 0.
#pragma once

#include <cstdio>
#include <string>

#include "engine/train/flags/settings.hpp"

namespace fourfold::inline engine::inline train::inline run {

class RunLog {
 public:
  // Says nothing, as on all ranks but 0, until it is opened.
  RunLog() = default;
  // Appends to the file, behind whole lines. Throws std::runtime_error with a sentence if it cannot
  // be written.
  void open(const std::string& path, Screen screen);
  ~RunLog();
  RunLog(RunLog&& other) noexcept;
  RunLog& operator=(RunLog&&) = delete;

  // One line to standard output, if that is for people, at once; what it quotes has no line ends
  // any more. A reader that left early is no error.
  void say(const std::string& text) const;
  // Several lines, of which each names what it quotes as visible_line does.
  void say_lines(const std::string& text) const;
  // To the file, and to standard output if that is JSON, at once, so that a run that is killed
  // leaves whole lines. Where the disk is full, nothing more is written: other ranks must hear of
  // it before this one gives up.
  void record(const std::string& json_line) const;
  bool is_whole() const { return unrecorded_ == 0; }
  // The last line, which is tried even where others could not be recorded: the disk may have room
  // again.
  void record_end(const std::string& json_line) const;
  // Throws std::runtime_error if some of it could not be recorded.
  void expect_whole() const;
  // Throws std::runtime_error if some of it could not be said: a disk that standard output goes to
  // being full is no reason to stop training, but one to say so.
  void expect_all_said() const;

 private:
  void print_line(const std::string& text) const;
  void write_line(const std::string& text) const;

  std::string path_;
  Screen screen_ = Screen::silent;
  std::FILE* file_ = nullptr;
  mutable int unsaid_ = 0;      // the error of the first line that was lost on standard output
  mutable int unrecorded_ = 0;  // and in the file
};

}  // namespace fourfold::inline engine::inline train::inline run
