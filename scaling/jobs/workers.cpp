// fork, a socket for each worker, and poll; see workers.hpp.
#include "scaling/jobs/workers.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iterator>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "scaling/jobs/interrupt.hpp"
#include "scaling/jobs/process.hpp"
#include "scaling/jobs/slots.hpp"
#include "support/exit_status.hpp"
#include "support/plain_sentence.hpp"

namespace fourfold::inline scaling::inline jobs {
namespace {

// Lines between a worker and whoever shares out the work: the first character says what it is.
constexpr char told = ':', task_done = '.', task_failed = '!';

// False if the other end is gone.
bool send_line(int socket, std::string line) {
  std::ranges::replace(line, '\n', ' ');
  line += '\n';
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t count = send(socket, line.data() + done, line.size() - done, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

// Appends what comes; false at the end.
bool receive(int socket, std::string& text) {
  std::array<char, 65'536> buffer;
  const ssize_t count = recv(socket, buffer.data(), buffer.size(), 0);
  if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

// The first whole line, taken out.
std::optional<std::string> take_line(std::string& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = text.substr(0, end);
  text.erase(0, end + 1);
  return line;
}

// Files of the process that shares out the work stay its own: a lock that a worker held open would
// outlive it.
void close_all_but(std::vector<int> kept) {
  std::ranges::sort(kept);
  unsigned first = STDERR_FILENO + 1;
  for (int one : kept) {
    const auto number = static_cast<unsigned>(one);
    if (number > first) close_range(first, number - 1, 0);
    first = number + 1;
  }
  close_range(first, ~0U, 0);
}

// Does tasks until there are none. Never returns.
[[noreturn]] void be_worker(int socket, const DoTask& work, SlotPipe& slots) {
  share_slots(&slots);
  std::string text;
  try {
    while (true) {
      stop_if_interrupted();
      const std::optional<std::string> line = take_line(text);
      if (!line) {
        if (receive(socket, text)) continue;
        _exit(status_done);
      }
      std::string end(1, task_done);
      try {
        work(std::stoul(*line), [&](const std::string& said) { send_line(socket, told + said); });
      } catch (const std::bad_alloc&) {
        end = std::string(1, task_failed) + "there is not enough memory";
      } catch (const Interrupted&) {
        throw;
      } catch (const std::exception& error) {
        end = std::string(1, task_failed) + plain_sentence(error);
      }
      if (!send_line(socket, end)) _exit(status_could_not);
    }
  } catch (const Interrupted&) {
    _exit(status_stopped);
  }
}

class Worker {
 public:
  Worker(const DoTask& work, SlotPipe& slots) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw std::runtime_error(fmt::format("cannot make a socket: {}", std::strerror(errno)));
    }
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ == 0) {
      setpgid(0, 0);  // Ctrl-C of the terminal is for whoever shares out the work
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (getppid() != parent) _exit(status_stopped);
      close_all_but({ends[1], slots.take_end(), slots.give_end()});
      be_worker(ends[1], work, slots);
    }
    const int error = errno;
    close(ends[1]);
    socket_ = ends[0];
    if (process_ > 0) return;
    close(socket_);
    throw std::runtime_error(fmt::format("cannot start a worker: {}", std::strerror(error)));
  }
  Worker(Worker&& other) noexcept
      : task(std::exchange(other.task, std::nullopt)),
        process_(std::exchange(other.process_, -1)),
        socket_(std::exchange(other.socket_, -1)),
        text_(std::move(other.text_)),
        asked_(other.asked_) {}
  Worker& operator=(Worker&& other) noexcept {
    std::swap(task, other.task);
    std::swap(process_, other.process_);
    std::swap(socket_, other.socket_);
    std::swap(text_, other.text_);
    std::swap(asked_, other.asked_);
    return *this;
  }
  ~Worker() {
    if (socket_ >= 0) close(socket_);
    if (process_ < 0) return;
    // It ends what it has started, which has two seconds, and then itself.
    constexpr std::chrono::milliseconds look_again{10};
    constexpr int looks = 400;
    ask_to_end();
    for (int i = 0; i < looks; ++i) {
      if (waitpid(process_, nullptr, WNOHANG) != 0) return;
      std::this_thread::sleep_for(look_again);
    }
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

  int socket() const { return socket_; }
  // By one signal: a second one would not leave it the time.
  void ask_to_end() {
    if (process_ > 0 && !std::exchange(asked_, true)) kill(process_, SIGTERM);
  }
  void begin(std::size_t number) {
    task = number;
    send_line(socket_, std::to_string(number));  // of one that has died, the end will be heard
  }
  bool listen() { return receive(socket_, text_); }
  std::optional<std::string> line() { return take_line(text_); }

  // After its end: how it died, as its task's reason.
  std::string death() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    if (WIFSIGNALED(status)) return "the process that answered it " + death_text(WTERMSIG(status));
    return WEXITSTATUS(status) == status_stopped
               ? "the process that answered it was asked to stop by a signal"
               : "the process that answered it ended too early";
  }

  std::optional<std::size_t> task;

 private:
  pid_t process_ = -1;
  int socket_ = -1;
  std::string text_;
  bool asked_ = false;
};

class Workers {
 public:
  Workers(std::size_t most, const DoTask& work, const Ears& ears)
      : most_(std::max<std::size_t>(most, 1)), work_(work), ears_(ears) {}

  // All are asked to end before each is waited for.
  ~Workers() {
    for (Worker& worker : workers_) worker.ask_to_end();
  }

  void run() {
    while (true) {
      hand_out();
      if (busy() == 0) return;
      stop_if_interrupted();
      listen();
      ears_.tick();
    }
  }

 private:
  std::size_t busy() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(workers_, [](const Worker& one) { return one.task.has_value(); }));
  }

  // A task takes a place and gives it back; a dead worker may have had further ones.
  void hand_out() {
    if (busy() == 0) {
      while (slots_.take()) {
      }
      for (std::size_t i = 0; i < most_; ++i) slots_.give();
    }
    while (busy() < most_ && slots_.take()) {
      const std::optional<std::size_t> task = ears_.next();
      if (!task) {
        slots_.give();
        return;
      }
      auto free = std::ranges::find_if(workers_, [](const Worker& one) { return !one.task; });
      if (free == workers_.end()) {
        workers_.emplace_back(work_, slots_);
        free = std::prev(workers_.end());
      }
      free->begin(*task);
    }
  }

  void listen() {
    constexpr int look_again_ms = 200;
    std::vector<pollfd> watched;
    for (const Worker& worker : workers_) watched.push_back({worker.socket(), POLLIN, 0});
    poll(watched.data(), watched.size(), look_again_ms);
    stop_if_interrupted();
    std::vector<std::size_t> dead;
    for (std::size_t i = 0; i < watched.size(); ++i) {
      if (watched[i].revents == 0) continue;
      const bool alive = workers_[i].listen();
      while (const std::optional<std::string> line = workers_[i].line()) hear(workers_[i], *line);
      if (!alive) dead.push_back(i);
    }
    for (auto i = dead.rbegin(); i != dead.rend(); ++i) bury(*i);
  }

  void hear(Worker& worker, const std::string& line) {
    const std::string said = line.substr(1);
    if (line.front() == told) return ears_.hear(worker.task.value(), said);
    finish(worker, said, false);
  }

  void bury(std::size_t index) {
    Worker worker = std::move(workers_[index]);
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(index));
    const std::string why = worker.death();
    if (worker.task) finish(worker, why, true);
  }

  void finish(Worker& worker, const std::string& why, bool died) {
    const std::size_t task = worker.task.value();
    worker.task.reset();
    slots_.give();
    ears_.end(task, why, died);
  }

  std::size_t most_;
  const DoTask& work_;
  const Ears& ears_;
  SlotPipe slots_;
  std::vector<Worker> workers_;
};

}  // namespace

void share_out(std::size_t workers, const DoTask& work, const Ears& ears) {
  Workers(workers, work, ears).run();
}

}  // namespace fourfold::inline scaling::inline jobs
