// All ranks of a run and what they tell each other beside the schedule: measurements, words drawn,
// and whether to stop. A communicator of its own, so that the schedule's never carry it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/mpi/handles.hpp"
#include "engine/mpi/waits.hpp"
#include "engine/train/run/doing.hpp"

namespace fourfold::inline engine::inline train::inline run {

class World {
 public:
  World();  // collective; MPI has been started
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  std::int64_t rank() const { return rank_; }
  std::int64_t size() const { return size_; }
  std::int64_t ranks_on_this_node() const;  // collective
  void barrier() const;

  // What this rank does and waits for outside the schedule, for whoever watches it.
  const Waits& waits() const { return waits_; }
  void note(Doing doing, std::int64_t step) { activity_.note(doing, step); }
  const Activity& activity() const { return activity_; }

  // One value of each rank, by rank, on every rank.
  template <typename T>
  std::vector<T> all(const T& own) const {
    return all(std::vector<T>{own});
  }
  // Equally many values of each rank, one rank after the other, on every rank.
  template <typename T>
  std::vector<T> all(const std::vector<T>& own) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> every(own.size() * static_cast<std::size_t>(size_));
    all_bytes(own.data(), own.size() * sizeof(T), every.data());
    return every;
  }
  // What rank 0 has, on every rank.
  std::string from_first(const std::string& text) const;
  // What the last rank has, which is of the last stage of a pipeline and knows the loss.
  double from_last(double own) const;
  // Any number of values of `sender`, on rank 0; empty elsewhere.
  template <typename T>
  std::vector<T> to_first(const std::vector<T>& own, std::int64_t sender) const {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::string bytes =
        bytes_to_first({reinterpret_cast<const char*>(own.data()), own.size() * sizeof(T)}, sender);
    std::vector<T> received(bytes.size() / sizeof(T));
    std::memcpy(received.data(), bytes.data(), bytes.size());
    return received;
  }

 private:
  void all_bytes(const void* own, std::size_t bytes, void* every) const;
  std::string bytes_to_first(const std::string& own, std::int64_t sender) const;

  MpiCommunicator communicator_;
  mutable Waits waits_;
  Activity activity_;
  std::int64_t rank_ = 0;
  std::int64_t size_ = 1;
};

}  // namespace fourfold::inline engine::inline train::inline run
