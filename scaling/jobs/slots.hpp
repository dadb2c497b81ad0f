// Places to compute at, which workers that share the cores hand to one another, as make's jobs do.
#pragma once

#include <cstddef>

namespace fourfold::inline scaling::inline jobs {

// A pipe with a byte for each place that nobody has. Forks of the process that made it share it.
class SlotPipe {
 public:
  SlotPipe();
  ~SlotPipe();
  SlotPipe(const SlotPipe&) = delete;
  SlotPipe& operator=(const SlotPipe&) = delete;

  bool take();  // whether there was a place; does not wait
  void give();
  int take_end() const { return take_; }
  int give_end() const { return give_; }

 private:
  int take_ = -1, give_ = -1;
};

// In a worker, which has a place of its own: further ones come from `pipe` from here on. Without
// this, whoever starts processes starts as many as it likes.
void share_slots(SlotPipe* pipe);

// The places beyond its own that somebody has taken, given back at the end.
class ExtraSlots {
 public:
  ExtraSlots() = default;
  ~ExtraSlots();
  ExtraSlots(const ExtraSlots&) = delete;
  ExtraSlots& operator=(const ExtraSlots&) = delete;

  bool take();
  // Gives back what so many running processes do not need.
  void keep_for(std::size_t running);

 private:
  std::size_t extra_ = 0;
};

}  // namespace fourfold::inline scaling::inline jobs
