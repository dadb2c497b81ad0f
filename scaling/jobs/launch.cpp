// posix_spawnp, three pipes a child, and poll; see launch.hpp.
#include "scaling/jobs/launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "scaling/jobs/interrupt.hpp"
#include "scaling/jobs/slots.hpp"

namespace fourfold {
namespace {

static_assert(over_cpu_limit == 128 + SIGXCPU);
constexpr std::size_t plain_pipe = 65'536;        // bytes that a pipe holds
constexpr std::size_t longest_input = 1'048'576;  // and that Linux lets anybody ask for
constexpr std::size_t longest_complaint = 4'096;
constexpr std::string_view progress_word = "progress ";

// One end of a pipe, closed once.
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
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor read_end, write_end;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// A running child. Its destructor ends it, so that an exception leaves none behind.
class Child {
 public:
  explicit Child(const Job& job) {
    if (job.input.size() > longest_input) throw std::runtime_error("the input is too long");
    Pipe input = make_pipe(), output = make_pipe(), complaint = make_pipe();
    if (job.input.size() > plain_pipe &&
        fcntl(input.write_end.number(), F_SETPIPE_SZ, static_cast<int>(longest_input)) < 0) {
      throw std::runtime_error(
          fmt::format("cannot hand over {} bytes: {}", job.input.size(), std::strerror(errno)));
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.read_end.number(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output.write_end.number(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, complaint.write_end.number(), STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : job.command)
      arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const int error =
        posix_spawnp(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
      process_ = -1;
      throw std::runtime_error(
          fmt::format("cannot start {}: {}", job.command.front(), std::strerror(error)));
    }
    if (job.cpu_limit_s > 0) {
      const auto seconds = static_cast<rlim_t>(job.cpu_limit_s);
      const rlimit limit{seconds, seconds + 1};
      prlimit(process_, RLIMIT_CPU, &limit, nullptr);
    }
    // A child that died before it read makes this fail; its status and complaint then tell why.
    [[maybe_unused]] const ssize_t written =
        write(input.write_end.number(), job.input.data(), job.input.size());
    streams_ = {std::move(output.read_end), std::move(complaint.read_end)};
  }
  Child(Child&& other) noexcept
      : process_(std::exchange(other.process_, -1)),
        streams_(std::move(other.streams_)),
        texts_(std::move(other.texts_)) {}
  ~Child() {
    if (process_ < 0) return;
    kill(process_, SIGKILL);
    wait_for_end();
  }

  bool running() const { return streams_[0].open() || streams_[1].open(); }
  void watch(std::vector<pollfd>& watched) const {
    for (const Descriptor& stream : streams_) watched.push_back({stream.number(), POLLIN, 0});
  }
  // Takes the lines of progress out of the complaint; returns the last one's number, or -1.
  double take_progress() {
    double done = -1.0;
    std::string& text = texts_[1];
    std::size_t from = 0;
    for (std::size_t end = 0; (end = text.find('\n', from)) != std::string::npos;) {
      if (!text.compare(from, progress_word.size(), progress_word)) {
        done = std::strtod(text.c_str() + from + progress_word.size(), nullptr);
        text.erase(from, end + 1 - from);
      } else {
        from = end + 1;
      }
    }
    return done;
  }
  // Takes what has come; a stream is closed at its end.
  void read_available(const pollfd* watched) {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (!streams_[i].open() || watched[i].revents == 0) continue;
      std::array<char, 65'536> buffer;
      const ssize_t count = read(streams_[i].number(), buffer.data(), buffer.size());
      if (count > 0) texts_[i].append(buffer.data(), static_cast<std::size_t>(count));
      if (count == 0 || (count < 0 && errno != EINTR)) streams_[i].close();
    }
    if (texts_[1].size() > longest_complaint) {
      texts_[1].erase(0, texts_[1].size() - longest_complaint);
    }
  }
  JobResult result() {
    const int status = wait_for_end();
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return {std::move(texts_[0]), std::move(texts_[1]), code};
  }

 private:
  int wait_for_end() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    return status;
  }

  pid_t process_ = -1;
  std::array<Descriptor, 2> streams_;  // standard output, standard error
  std::array<std::string, 2> texts_;
};

}  // namespace

// In a worker as many at once as it has places for (slots.hpp).
std::vector<JobResult> run_side_by_side(const std::vector<Job>& jobs, const Hear& hear) {
  std::vector<Child> children;
  children.reserve(jobs.size());
  ExtraSlots slots;
  const auto running = [&] {
    return static_cast<std::size_t>(std::ranges::count_if(children, &Child::running));
  };
  while (children.size() < jobs.size() || running() > 0) {
    while (children.size() < jobs.size() && (running() == 0 || slots.take())) {
      children.emplace_back(jobs[children.size()]);
    }
    std::vector<pollfd> watched;
    for (const Child& child : children) child.watch(watched);
    // The time limit covers a signal that comes between the look and the wait.
    poll(watched.data(), watched.size(), /*timeout_ms=*/200);
    stop_if_interrupted();
    for (std::size_t i = 0; i < children.size(); ++i) {
      children[i].read_available(&watched[2 * i]);
      const double done = children[i].take_progress();
      if (hear && done >= 0.0) hear(i, done);
    }
    slots.keep_for(running());
  }
  std::vector<JobResult> results;
  for (Child& child : children) results.push_back(child.result());
  stop_if_interrupted();  // the terminal sends Ctrl-C to the children, too: they died of it
  return results;
}

std::string beside_this_executable(const std::string& executable) {
  const std::filesystem::path path =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / executable;
  if (access(path.c_str(), X_OK) != 0) {
    throw std::runtime_error(
        fmt::format("{} is missing; build it (./run.sh does){}", path.string(),
                    executable == "fourfold-replay" ? ", or ask for --fidelity estimated" : ""));
  }
  return path.string();
}

}  // namespace fourfold
