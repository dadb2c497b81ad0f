// fork, exec, and a look at signals ten times a second; see attached.hpp.
#include "scaling/attached.hpp"

#include <fcntl.h>
#include <fmt/format.h>
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

#include "scaling/interrupt.hpp"

namespace fourfold {
namespace {

// In the child. Returns only if the command cannot be started.
void become(const std::vector<std::string>& command, pid_t parent) {
  setpgid(0, 0);  // Ctrl-C of the terminal is for us: mpirun would kill its ranks on it
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  for (int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
}

// The error of a child that could not become the command comes back through a pipe, which a
// successful exec closes.
pid_t started(const std::vector<std::string>& command) {
  std::array<int, 2> failure{};
  if (pipe2(failure.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    become(command, parent);
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

}  // namespace

AttachedResult run_attached(const std::vector<std::string>& command) {
  constexpr std::chrono::milliseconds look_again{100};
  const pid_t child = started(command);
  AttachedResult result;
  int heard = 0, status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (interrupts_so_far() > heard) {
      ++heard;
      kill(child, heard == 1 ? SIGUSR1 : SIGTERM);
    }
    std::this_thread::sleep_for(look_again);
  }
  result.interrupted = heard > 0;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace fourfold
