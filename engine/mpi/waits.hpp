// Whether this rank waits for others, and how often anything has moved on: written by the thread
// that computes, read by another that watches it.
#pragma once

#include <atomic>
#include <cstdint>

namespace fourfold::inline engine::inline mpi {

class Waits {
 public:
  // A wait lasts as long as this.
  class Wait {
   public:
    explicit Wait(Waits& waits) : waits_(waits) { waits_.now_.store(true, relaxed); }
    ~Wait() {
      waits_.now_.store(false, relaxed);
      waits_.move_on();
    }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    Waits& waits_;
  };

  // One thread writes: no exchange is needed.
  void move_on() { moves_.store(moves_.load(relaxed) + 1, relaxed); }

  bool now() const { return now_.load(relaxed); }
  std::int64_t moves() const { return moves_.load(relaxed); }

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  std::atomic<bool> now_ = false;
  std::atomic<std::int64_t> moves_ = 0;
};

}  // namespace fourfold::inline engine::inline mpi
