// A process and three pipes a child, and poll; see launch.hpp.
#include "scaling/jobs/launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
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
#include "scaling/jobs/process.hpp"
#include "scaling/jobs/slots.hpp"

namespace fourfold::inline scaling::inline jobs {
namespace {

static_assert(over_cpu_limit == 128 + SIGXCPU);
constexpr std::size_t plain_pipe = 65'536;        // bytes that a pipe holds
constexpr std::size_t longest_input = 1'048'576;  // and that Linux lets anybody ask for
constexpr std::size_t longest_complaint = 4'096;
constexpr std::string_view progress_word = "progress ";

// A running child, which an exception leaves none of behind.
class Child {
 public:
  explicit Child(const Job& job) : Child(job, make_pipe(), make_pipe(), make_pipe()) {}

  void end() const { process_.end(); }
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
    return {std::move(texts_[0]), std::move(texts_[1]), process_.status(), process_.signal()};
  }

 private:
  Child(const Job& job, Pipe input, Pipe output, Pipe complaint)
      : process_(
            {with_room_for(job, input),
             {input.read_end.number(), output.write_end.number(), complaint.write_end.number()},
             SIGKILL,
             Start::Stopping::by_its_own,
             job.cpu_limit_s}),
        streams_{std::move(output.read_end), std::move(complaint.read_end)} {
    // A child that died before it read makes this fail; its status and complaint then tell why.
    [[maybe_unused]] const ssize_t written =
        write(input.write_end.number(), job.input.data(), job.input.size());
  }

  // The command, once its input fits into the pipe: nobody reads yet when it is written.
  static const std::vector<std::string>& with_room_for(const Job& job, const Pipe& input) {
    if (job.input.size() > longest_input) throw std::runtime_error("the input is too long");
    if (job.input.size() > plain_pipe &&
        fcntl(input.write_end.number(), F_SETPIPE_SZ, static_cast<int>(longest_input)) < 0) {
      throw std::runtime_error(
          fmt::format("cannot hand over {} bytes: {}", job.input.size(), std::strerror(errno)));
    }
    return job.command;
  }

  Process process_;
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
    if (interrupts_so_far() > 0) break;
    for (std::size_t i = 0; i < children.size(); ++i) {
      children[i].read_available(&watched[2 * i]);
      const double done = children[i].take_progress();
      if (hear && done >= 0.0) hear(i, done);
    }
    slots.keep_for(running());
  }
  if (interrupts_so_far() > 0) {
    for (const Child& child : children) child.end();  // all at once; then each is waited for
    throw Interrupted();
  }
  std::vector<JobResult> results;
  for (Child& child : children) results.push_back(child.result());
  return results;
}

std::string ending_text(const JobResult& result) {
  if (result.signal > 0) return death_text(result.signal);
  return fmt::format("ended with status {}", result.status);
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

}  // namespace fourfold::inline scaling::inline jobs
