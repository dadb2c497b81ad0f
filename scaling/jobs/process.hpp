// One program that this one has started: where its streams go, how it ends, and that it never
// outlives us. The only place that forks and becomes another program.
#pragma once

#include <sys/types.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fourfold::inline scaling::inline jobs {

// A descriptor, closed once.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  void close();

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor read_end, write_end;
};
// Throws std::runtime_error.
Pipe make_pipe();

struct Start {
  std::vector<std::string> command;  // executable (PATH is searched), then its arguments
  // Descriptors that become its input, output and complaint; -1: no input, and our own two.
  std::array<int, 3> streams{-1, -1, -1};
  int when_we_end = SIGKILL;  // what it gets then, whatever ends us
  // SIGINT, SIGTERM and SIGHUP sent to it wait until it ends: pending() tells of them.
  enum class Stopping { by_its_own, held_back } stopping = Stopping::by_its_own;
  std::int64_t cpu_limit_s = 0;  // ends it by SIGXCPU; 0: no limit
};

class Process {
 public:
  // In a group of its own, so that Ctrl-C of the terminal is for us alone. Throws
  // std::runtime_error if it cannot be started.
  explicit Process(const Start& start);
  Process(Process&& other) noexcept
      : id_(std::exchange(other.id_, -1)), status_(other.status_), end_(std::move(other.end_)) {}
  Process(const Process&) = delete;
  // Ends it: SIGTERM, unless end() was called before, then SIGKILL after two seconds.
  ~Process();

  // Asks it to end, by a signal.
  void end(int signal = SIGTERM) const;
  // Whether it has ended; does not wait.
  bool ended();
  // A descriptor that poll() finds ready once it has ended; -1 on a kernel without such (before
  // Linux 5.3).
  int end_descriptor() const { return end_.number(); }
  // Waits. Its exit status; 128 + signal if it died of one.
  int status();
  int signal();  // that it died of; 0: it ended by itself
  // Whether one of the signals that it holds back has come.
  bool stop_is_pending() const;

 private:
  void reap(int options);

  pid_t id_ = -1;
  int status_ = 0;  // as waitpid gives it
  Descriptor end_;
};

// "was killed by signal 9 (Killed), perhaps by the system for lack of memory"
std::string death_text(int signal);

// Sees to it that this process and what it starts may have so many files open: raises the soft
// limit where the hard one allows it. Throws std::runtime_error with a sentence that names the
// limit and the cure where not; `who` needs them.
void allow_open_files(std::int64_t needed, const std::string& who);
// Throws likewise if they may not write files of so many bytes. That limit stays as it is.
void expect_file_size(std::int64_t needed, const std::string& who);
// The same of the addresses that a process may have, in bytes.
void expect_addresses(std::int64_t needed, const std::string& who);

}  // namespace fourfold::inline scaling::inline jobs
