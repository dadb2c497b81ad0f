// A process, two pipes, its end, and a look at signals ten times a second; see attached.hpp.
#include "scaling/jobs/attached.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "scaling/jobs/interrupt.hpp"
#include "scaling/jobs/process.hpp"

namespace fourfold::inline scaling::inline jobs {
namespace {

using Clock = std::chrono::steady_clock;

// A stream of the command: a pipe if somebody hears it.
class Stream {
 public:
  explicit Stream(const std::function<void(std::string_view)>& hear) : hear_(hear) {
    if (hear) ends_ = make_pipe();
  }

  int write_end() const { return ends_.write_end.number(); }
  // In the parent, which does not write.
  void only_read() { ends_.write_end.close(); }
  pollfd watched() const { return {ends_.read_end.number(), POLLIN, 0}; }
  // Hands on what is there.
  void hear_some() {
    std::array<char, 4096> buffer;
    const ssize_t count = read(ends_.read_end.number(), buffer.data(), buffer.size());
    if (count > 0) hear_({buffer.data(), static_cast<std::size_t>(count)});
    if (count == 0 || (count < 0 && errno != EINTR)) ends_.read_end.close();
  }
  // What is left when the writer has ended; what others still write is not waited for.
  void hear_rest() {
    if (ends_.read_end.open()) fcntl(ends_.read_end.number(), F_SETFL, O_NONBLOCK);
    while (ends_.read_end.open()) hear_some();
  }

 private:
  const std::function<void(std::string_view)>& hear_;
  Pipe ends_;
};

// What has been asked of the command so far, and what it is to hear next.
class Stops {
 public:
  Stops(Process& process, const Launching& launching) : process_(process), launching_(launching) {}

  bool asked() const { return asked_ > 0; }
  void look() {
    const bool starting = launching_.has_started && !launching_.has_started();
    if (launching_.has_started && !held_back_) held_back_ = process_.stop_is_pending();
    const int now = std::max(interrupts_so_far(), held_back_ ? 1 : 0);
    if (now > asked_) {
      if (asked_ == 0) ask();
      if (asked_ > 0 || now > 1) process_.end(SIGKILL);
      if (asked_ == 0) since_ = latest_ = Clock::now();
      asked_ = now;
    }
    ask_again();
    if (!starting) return;
    constexpr std::chrono::seconds for_one_that_starts{2};
    if (asked()) {
      if (Clock::now() - since_ > for_one_that_starts) process_.end(SIGKILL);
      return;
    }
    if (Clock::now() - began_ < launching_.at_most) return;
    process_.end(SIGKILL);
    throw NothingStarted(fmt::format(
        "has started nothing within {:g} s; is there room for its processes, their files and their "
        "shared memory (ulimit -a, df /tmp /dev/shm), and do all nodes answer?",
        std::chrono::duration<double>(launching_.at_most).count()));
  }

 private:
  // One that is stopped, by SIGSTOP or a terminal, would never hear it.
  void ask() {
    process_.end(SIGUSR1);
    process_.end(SIGCONT);
  }
  // Asked while it was launching, mpirun may have handed the signal on to nobody; to who has heard
  // it, another SIGUSR1 says nothing new.
  void ask_again() {
    constexpr std::chrono::seconds patience{1};
    if (asked_ != 1 || Clock::now() - latest_ < patience) return;
    ask();
    latest_ = Clock::now();
  }

  Process& process_;
  const Launching& launching_;
  Clock::time_point began_ = Clock::now(), since_, latest_;
  bool held_back_ = false;
  int asked_ = 0;
};

Start start_of(const std::vector<std::string>& command, const Stream& output,
               const Stream& complaint, const Launching& launching) {
  Start start{command, {-1, output.write_end(), complaint.write_end()}, SIGTERM, {}, 0};
  if (launching.has_started) {
    start.stopping = Start::Stopping::held_back;
    start.when_we_end = SIGKILL;
  }
  return start;
}

}  // namespace

AttachedResult run_attached(const std::vector<std::string>& command, const Hearers& hearers,
                            const Launching& launching, const Watching& watching) {
  constexpr int look_again = 100;  // milliseconds: at signals, and at silent ranks
  const PatientlyInterrupted patiently;
  Stream output(hearers.output), complaint(hearers.complaint);
  const std::array heard{&output, &complaint};
  Process process(start_of(command, output, complaint, launching));
  for (Stream* stream : heard) stream->only_read();
  Stops stops(process, launching);
  std::string given_up;
  while (!process.ended()) {
    stops.look();
    if (watching && given_up.empty()) given_up = watching(stops.asked());
    if (!given_up.empty()) process.end(SIGKILL);
    // A stream that nobody hears, or whose end has come, is never ready.
    std::array watched{output.watched(), complaint.watched(),
                       pollfd{process.end_descriptor(), POLLIN, 0}};
    if (poll(watched.data(), watched.size(), look_again) <= 0) continue;
    for (std::size_t i = 0; i < heard.size(); ++i) {
      if (watched[i].revents != 0) heard[i]->hear_some();
    }
  }
  for (Stream* stream : heard) stream->hear_rest();
  return {process.status(), process.signal(), stops.asked(), given_up};
}

}  // namespace fourfold::inline scaling::inline jobs
