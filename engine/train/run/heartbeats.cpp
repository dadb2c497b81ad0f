// A thread, a file that all ranks write a line of, and the end of the job; see heartbeats.hpp.
#include "engine/train/run/heartbeats.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>
#include <vector>

#include "engine/train/checkpoint/checkpoint_folder.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/train/run/stop.hpp"
#include "support/complaint.hpp"
#include "support/exit_status.hpp"
#include "support/own_file.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline engine::inline train::inline run {

namespace {

using Clock = std::chrono::steady_clock;

// Opened anew each time: files shared between nodes are brought up to date only then.
class Opened {
 public:
  Opened(const std::string& path, int how)
      : file_(::open(path.c_str(), how | O_CLOEXEC | O_NOFOLLOW)) {}
  ~Opened() {
    if (file_ >= 0) ::close(file_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  bool write_at(const std::string& text, std::size_t place) const {
    return file_ >= 0 && ::pwrite(file_, text.data(), text.size(), static_cast<off_t>(place)) ==
                             static_cast<ssize_t>(text.size());
  }
  // Empty unless there is so much.
  std::string read(std::size_t bytes) const {
    std::string text(bytes, ' ');
    std::size_t done = 0;
    while (file_ >= 0 && done < bytes) {
      const ssize_t count =
          ::pread(file_, text.data() + done, bytes - done, static_cast<off_t>(done));
      if (count <= 0) return "";
      done += static_cast<std::size_t>(count);
    }
    return file_ < 0 ? "" : text;
  }

 private:
  int file_ = -1;
};

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "?";
  return name.data();
}

// Signals are for the thread that computes (stop.hpp).
std::thread without_signals(const std::function<void()>& work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(work);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

std::string heartbeats_file(const std::string& folder) {
  return folder + "/heartbeats";
}

Heartbeats::Heartbeats(std::string folder, Self self, Patience patience)
    : folder_(std::move(folder)),
      path_(heartbeats_file(folder_)),
      self_(std::move(self)),
      watch_(patience, self_.ranks),
      interval_(patience.to_name / 10.0),
      looked_(Clock::now()),
      host_(host_name()),
      thread_(without_signals([this] { run(); })) {}

Heartbeats::~Heartbeats() {
  {
    const std::lock_guard locked(mutex_);
    stopping_ = true;
  }
  over_.notify_one();
  thread_.join();
  Sign last = self_.sign();
  last.doing = Doing::ended;
  leave_sign(last);
  if (self_.rank == 0) ::unlink(path_.c_str());
}

void Heartbeats::run() {
  std::unique_lock locked(mutex_);
  while (!over_.wait_for(locked, interval_, [this] { return stopping_; })) {
    locked.unlock();
    const bool watches = self_.rank == 0 || self_.rank == self_.ranks - 1;
    // Who cannot write cannot tell whether others could.
    if (leave_sign(self_.sign()) && watches) look();
    locked.lock();
  }
}

bool Heartbeats::leave_sign(const Sign& sign) {
  Sign own = sign;
  own.host = host_;
  own.process = getpid();
  own.beat = ++beats_;
  return Opened(path_, O_WRONLY)
      .write_at(line_of(own), static_cast<std::size_t>(self_.rank) * sign_bytes);
}

// Time in which this rank was stopped itself, or waited for the file, does not count.
void Heartbeats::look() {
  const auto bytes = static_cast<std::size_t>(self_.ranks) * sign_bytes;
  const std::string text = Opened(path_, O_RDONLY).read(bytes);
  const Clock::time_point now = Clock::now();
  const double passed =
      std::min(std::chrono::duration<double>(now - looked_), 2.0 * interval_).count();
  looked_ = now;
  if (text.empty()) return;
  std::vector<std::optional<Sign>> signs;
  for (std::size_t at = 0; at < bytes; at += sign_bytes) {
    signs.push_back(sign_in(text.substr(at, sign_bytes)));
  }
  const bool asked = self_.asked_to_stop();
  const Watch::View view = watch_.look(signs, passed, asked);
  if (self_.rank != 0 && !watch_.is_silent(0, asked)) return;
  for (const std::string& sentence : view.sentences) remark(sentence);
  if (!view.end.empty()) end_job(view.end);
}

// The thread that computes stands in MPI: whoever started the ranks ends the others when one ends.
void Heartbeats::end_job(const std::string& why) {
  const std::string checkpoints = folder_ + "/checkpoints";
  const bool has_one = !finished_checkpoints(checkpoints).empty();
  remark(fmt::format("{}; {}", why,
                     has_one ? "go on from the newest checkpoint with --resume " + checkpoints
                             : "there is no checkpoint yet"));
  Sign last = self_.sign();
  last.doing = Doing::ended;  // others that go on before they are ended do not miss this rank
  leave_sign(last);
  _exit(self_.asked_to_stop() ? status_stopped : status_could_not);
}

std::unique_ptr<Heartbeats> watched(const TrainSettings& settings, const World& world,
                                    const Channels& channels) {
  on_first_rank([&] {
    std::string text;
    for (std::int64_t i = 0; i < world.size(); ++i) text += std::string(sign_bytes - 1, ' ') + '\n';
    write_own_file(heartbeats_file(settings.folder), text);
  });
  const auto sign = [&world, &channels] {
    Sign now;
    now.moves = world.waits().moves() + channels.waits().moves();
    now.waits = world.waits().now() || channels.waits().now();
    now.step = world.activity().step();
    now.doing = world.activity().doing();
    return now;
  };
  return std::make_unique<Heartbeats>(
      settings.folder, Heartbeats::Self{world.rank(), world.size(), sign, stop_asked},
      patience_of(settings.hang_timeout));
}

}  // namespace fourfold::inline engine::inline train::inline run
