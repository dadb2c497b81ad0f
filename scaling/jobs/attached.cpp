// fork, exec, and a look at signals ten times a second; see attached.hpp.
#include "scaling/jobs/attached.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "scaling/jobs/interrupt.hpp"

namespace fourfold {
namespace {

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) == 0) return ends;
  throw std::runtime_error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
}

// In the child. Returns only if the command cannot be started.
void become(const std::vector<std::string>& command, pid_t parent, int complaint) {
  setpgid(0, 0);  // Ctrl-C of the terminal is for us: mpirun would kill its ranks on it
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  for (int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  if (complaint >= 0) dup2(complaint, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
}

// The error of a child that could not become the command comes back through a pipe, which a
// successful exec closes.
pid_t started(const std::vector<std::string>& command, int complaint) {
  const std::array<int, 2> failure = make_pipe();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    become(command, parent, complaint);
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(failure[1], &error, sizeof error);
    _exit(127);
  }
  int error = child < 0 ? errno : 0;
  close(failure[1]);
  if (child > 0 && read(failure[0], &error, sizeof error) == sizeof error) {
    waitpid(child, nullptr, 0);
  }
  close(failure[0]);
  if (error != 0) {
    throw std::runtime_error(
        fmt::format("cannot start {}: {}", command.front(), std::strerror(error)));
  }
  return child;
}

// Waits at most `patience` for something to read, and hands on what is there. Whether more may
// come.
bool hear_some(int stream, const HearComplaint& hear, std::chrono::milliseconds patience) {
  pollfd watched{stream, POLLIN, 0};
  if (poll(&watched, 1, static_cast<int>(patience.count())) <= 0) return true;
  std::array<char, 4096> buffer;
  const ssize_t count = read(stream, buffer.data(), buffer.size());
  if (count > 0) hear({buffer.data(), static_cast<std::size_t>(count)});
  return count > 0 || (count < 0 && errno == EINTR);
}

// What is left of a stream whose writer has ended; what others still write is not waited for.
void hear_rest(int stream, const HearComplaint& hear) {
  fcntl(stream, F_SETFL, O_NONBLOCK);
  while (true) {
    std::array<char, 4096> buffer;
    const ssize_t count = read(stream, buffer.data(), buffer.size());
    if (count <= 0) return;
    hear({buffer.data(), static_cast<std::size_t>(count)});
  }
}

}  // namespace

AttachedResult run_attached(const std::vector<std::string>& command, const HearComplaint& hear) {
  constexpr std::chrono::milliseconds look_again{100};
  std::array<int, 2> complaint{-1, -1};
  if (hear) complaint = make_pipe();
  const pid_t child = started(command, complaint[1]);
  if (hear) close(complaint[1]);
  AttachedResult result;
  int heard = 0, status = 0;
  bool more = static_cast<bool>(hear);
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (interrupts_so_far() > heard) {
      ++heard;
      kill(child, heard == 1 ? SIGUSR1 : SIGTERM);
    }
    if (more) {
      more = hear_some(complaint[0], hear, look_again);
    } else {
      std::this_thread::sleep_for(look_again);
    }
  }
  if (hear) {
    hear_rest(complaint[0], hear);
    close(complaint[0]);
  }
  result.interrupted = heard > 0;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.status = result.signal > 0 ? 128 + result.signal : WEXITSTATUS(status);
  return result;
}

}  // namespace fourfold
