// The signs of life that the ranks of a run leave in a file of its folder, a line a rank, and the
// two ranks that look at them (watch.hpp): the first, and the last where the first is silent. Where
// both are, whoever started the run looks (scaling/jobs/silent_ranks.hpp). A thread that sleeps nearly
// always; MPI is not touched, so that it works while MPI waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "engine/mpi/channels.hpp"
#include "engine/train/flags/settings.hpp"
#include "engine/train/run/watch.hpp"
#include "engine/train/run/world.hpp"

namespace fourfold::inline engine::inline train::inline run {

class Heartbeats {
 public:
  // How the thread learns of this rank, and of signals.
  struct Self {
    std::int64_t rank = 0, ranks = 1;
    std::function<Sign()> sign;  // but for host, process and beat
    std::function<bool()> asked_to_stop;
  };
  // The file is there, with a line for each rank.
  Heartbeats(std::string folder, Self self, Patience patience);
  // A rank that has ended is not missed; the first takes the file away.
  ~Heartbeats();
  Heartbeats(const Heartbeats&) = delete;
  Heartbeats& operator=(const Heartbeats&) = delete;

 private:
  void run();
  bool leave_sign(const Sign& sign);
  void look();
  [[noreturn]] void end_job(const std::string& why);

  std::string folder_, path_;
  Self self_;
  Watch watch_;
  std::chrono::duration<double> interval_;
  std::chrono::steady_clock::time_point looked_;
  std::string host_;
  std::int64_t beats_ = 0;
  std::mutex mutex_;
  std::condition_variable over_;
  bool stopping_ = false;
  std::thread thread_;
};

// Of a run whose folder is there, from here until the result goes. Collective.
std::string heartbeats_file(const std::string& folder);
std::unique_ptr<Heartbeats> watched(const TrainSettings& settings, const World& world,
                                    const Channels& channels);

}  // namespace fourfold::inline engine::inline train::inline run
