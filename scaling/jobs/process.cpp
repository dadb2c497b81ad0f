// fork, exec, waitpid and limits; see process.hpp.
#include "scaling/jobs/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>

namespace fourfold::inline scaling::inline jobs {
namespace {

constexpr std::array stopping_signals{SIGINT, SIGTERM, SIGHUP};

std::string error_text(int error) {
  return std::strerror(error);
}

sigset_t stopping_set() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : stopping_signals) sigaddset(&set, signal);
  return set;
}

// In the child. Returns only if the command cannot be started.
void become(const Start& start, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, start.when_we_end);
  if (getppid() != parent) _exit(1);
  // A hang-up that is ignored (nohup) stays so.
  for (int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
  if (start.stopping == Start::Stopping::held_back) {
    const sigset_t held = stopping_set();
    sigprocmask(SIG_BLOCK, &held, nullptr);
  }
  if (start.cpu_limit_s > 0) {
    const auto seconds = static_cast<rlim_t>(start.cpu_limit_s);
    const rlimit limit{seconds, seconds + 1};
    setrlimit(RLIMIT_CPU, &limit);
  }
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (std::size_t i = 0; i < start.streams.size(); ++i) {
    const int stream = i == 0 && start.streams[i] < 0 ? nothing : start.streams[i];
    if (stream >= 0) dup2(stream, static_cast<int>(i));
  }
  std::vector<char*> arguments;
  for (const std::string& word : start.command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
}

}  // namespace

void Descriptor::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) == 0) return {Descriptor(ends[0]), Descriptor(ends[1])};
  throw std::runtime_error(fmt::format("cannot make a pipe: {}", error_text(errno)));
}

// The error of a child that could not become the command comes back through a pipe, which a
// successful exec closes.
Process::Process(const Start& start) {
  Pipe failure = make_pipe();
  const pid_t parent = getpid();
  id_ = fork();
  if (id_ == 0) {
    become(start, parent);
    const int error = errno;
    [[maybe_unused]] const ssize_t told = write(failure.write_end.number(), &error, sizeof error);
    _exit(127);
  }
  int error = id_ < 0 ? errno : 0;
  failure.write_end.close();
  ssize_t count = -1;
  while (id_ > 0 && count < 0) {
    count = read(failure.read_end.number(), &error, sizeof error);
    if (count < 0 && errno != EINTR) break;
  }
  if (count == sizeof error) reap(0);
  if (error == 0) {
    end_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, id_, 0)));
    return;
  }
  throw std::runtime_error(
      fmt::format("cannot start {}: {}", start.command.front(), error_text(error)));
}

Process::~Process() {
  if (ended()) return;
  constexpr std::chrono::milliseconds look_again{10};
  constexpr int looks = 200;
  end();
  for (int i = 0; i < looks && !ended(); ++i) std::this_thread::sleep_for(look_again);
  end(SIGKILL);
  reap(0);
}

void Process::end(int signal) const {
  if (id_ > 0) kill(id_, signal);
}

void Process::reap(int options) {
  if (id_ <= 0) return;
  pid_t reaped = 0;
  while ((reaped = waitpid(id_, &status_, options)) < 0 && errno == EINTR) {
  }
  if (reaped != 0) id_ = -1;
}

bool Process::ended() {
  reap(WNOHANG);
  return id_ <= 0;
}

int Process::status() {
  const int died_of = signal();
  return died_of > 0 ? 128 + died_of : WEXITSTATUS(status_);
}

int Process::signal() {
  reap(0);
  return WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
}

bool Process::stop_is_pending() const {
  if (id_ <= 0) return false;
  std::ifstream about(fmt::format("/proc/{}/status", id_));
  for (std::string line; std::getline(about, line);) {
    constexpr std::string_view key = "ShdPnd:";  // of the process, not of one thread
    if (!line.starts_with(key)) continue;
    const unsigned long long pending = std::strtoull(line.c_str() + key.size(), nullptr, 16);
    return std::ranges::any_of(stopping_signals,
                               [&](int signal) { return (pending >> (signal - 1) & 1U) != 0; });
  }
  return false;
}

std::string death_text(int signal) {
  std::string perhaps;
  if (signal == SIGKILL) perhaps = ", perhaps by the system for lack of memory";
  if (signal == SIGBUS) perhaps = ", perhaps because /dev/shm or the disk is full";
  if (signal == SIGXCPU) perhaps = ", which is its limit of CPU time";
  return fmt::format("was killed by signal {} ({}){}", signal, strsignal(signal), perhaps);
}

void allow_open_files(std::int64_t needed, const std::string& who) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const auto wanted = static_cast<rlim_t>(needed);
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  const bool raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
  if (raised && limit.rlim_cur >= wanted) return;
  throw std::runtime_error(fmt::format(
      "{} may have to open {} files, but the limit of open files is {}; raise it (ulimit -n {})",
      who, needed, limit.rlim_max, needed));
}

namespace {

constexpr std::int64_t block = 1024;  // of ulimit

// In blocks, where it is below what is needed.
std::optional<std::int64_t> too_low(decltype(RLIMIT_AS) which, std::int64_t needed) {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  if (limit.rlim_cur >= static_cast<rlim_t>(needed)) return std::nullopt;
  return static_cast<std::int64_t>(limit.rlim_cur) / block;
}

}  // namespace

void expect_file_size(std::int64_t needed, const std::string& who) {
  const std::optional<std::int64_t> limit = too_low(RLIMIT_FSIZE, needed);
  if (!limit) return;
  throw std::runtime_error(
      fmt::format("{} may have to write files of {} kB, but the limit of a file is {} kB; raise it "
                  "(ulimit -f {})",
                  who, needed / block, *limit, needed / block));
}

void expect_addresses(std::int64_t needed, const std::string& who) {
  const std::optional<std::int64_t> limit = too_low(RLIMIT_AS, needed);
  if (!limit) return;
  throw std::runtime_error(
      fmt::format("{} and its libraries take up to {} kB of addresses, but the limit is {} kB; "
                  "raise it (ulimit -v {})",
                  who, needed / block, *limit, needed / block));
}

}  // namespace fourfold::inline scaling::inline jobs
