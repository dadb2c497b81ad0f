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
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "scaling/jobs/interrupt.hpp"

namespace fourfold {
namespace {

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) == 0) return ends;
  throw std::runtime_error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
}

// A stream of the command: a pipe if somebody hears it.
class Stream {
 public:
  explicit Stream(const std::function<void(std::string_view)>& hear) : hear_(hear) {
    if (hear) ends_ = make_pipe();
  }
  ~Stream() {
    close_end(0);
    close_end(1);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // In the child.
  void become(int stream) const {
    if (ends_[1] >= 0) dup2(ends_[1], stream);
  }
  // In the parent, which does not write.
  void only_read() { close_end(1); }
  pollfd watched() const { return {ends_[0], POLLIN, 0}; }
  // Hands on what is there.
  void hear_some() {
    std::array<char, 4096> buffer;
    const ssize_t count = read(ends_[0], buffer.data(), buffer.size());
    if (count > 0) hear_({buffer.data(), static_cast<std::size_t>(count)});
    if (count == 0 || (count < 0 && errno != EINTR)) close_end(0);
  }
  // What is left when the writer has ended; what others still write is not waited for.
  void hear_rest() {
    if (ends_[0] >= 0) fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    while (ends_[0] >= 0) hear_some();
  }

 private:
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) close(std::exchange(ends_[end], -1));
  }

  const std::function<void(std::string_view)>& hear_;
  std::array<int, 2> ends_{-1, -1};
};

struct Streams {
  Stream output, complaint;
};

// In the child. Returns only if the command cannot be started.
void become(const std::vector<std::string>& command, pid_t parent, const Streams& streams) {
  setpgid(0, 0);  // Ctrl-C of the terminal is for us: mpirun would kill its ranks on it
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  for (int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  streams.output.become(STDOUT_FILENO);
  streams.complaint.become(STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
}

// The error of a child that could not become the command comes back through a pipe, which a
// successful exec closes.
pid_t started(const std::vector<std::string>& command, const Streams& streams) {
  const std::array<int, 2> failure = make_pipe();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    become(command, parent, streams);
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

AttachedResult run_attached(const std::vector<std::string>& command, const Hearers& hearers) {
  constexpr int look_again = 100;  // milliseconds
  Streams streams{Stream(hearers.output), Stream(hearers.complaint)};
  const std::array heard_streams{&streams.output, &streams.complaint};
  const pid_t child = started(command, streams);
  for (Stream* stream : heard_streams) stream->only_read();
  AttachedResult result;
  int heard = 0, status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (interrupts_so_far() > heard) {
      ++heard;
      kill(child, heard == 1 ? SIGUSR1 : SIGTERM);
    }
    // A stream that nobody hears, or whose end has come, is never ready: then this only waits.
    std::array watched{streams.output.watched(), streams.complaint.watched()};
    if (poll(watched.data(), watched.size(), look_again) <= 0) continue;
    for (std::size_t i = 0; i < watched.size(); ++i) {
      if (watched[i].revents != 0) heard_streams[i]->hear_some();
    }
  }
  for (Stream* stream : heard_streams) stream->hear_rest();
  result.interrupted = heard > 0;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.status = result.signal > 0 ? 128 + result.signal : WEXITSTATUS(status);
  return result;
}

}  // namespace fourfold
