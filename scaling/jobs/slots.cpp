// Bytes in a pipe; see slots.hpp. Which pipe a worker shares is global to its process, since those
// who start processes stand far below those who share out the work.
#include "scaling/jobs/slots.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace fourfold::inline scaling::inline jobs {
namespace {

SlotPipe* shared = nullptr;

}  // namespace

SlotPipe::SlotPipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::runtime_error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  take_ = ends[0];
  give_ = ends[1];
}

SlotPipe::~SlotPipe() {
  close(take_);
  close(give_);
}

bool SlotPipe::take() {
  char place = 0;
  return read(take_, &place, 1) == 1;
}

void SlotPipe::give() {
  const char place = '+';
  [[maybe_unused]] const ssize_t written = write(give_, &place, 1);  // a pipe holds thousands
}

void share_slots(SlotPipe* pipe) {
  shared = pipe;
}

bool ExtraSlots::take() {
  if (shared == nullptr) return true;
  if (!shared->take()) return false;
  ++extra_;
  return true;
}

void ExtraSlots::keep_for(std::size_t running) {
  const std::size_t needed = running > 1 ? running - 1 : 0;
  for (; extra_ > needed; --extra_) shared->give();
}

ExtraSlots::~ExtraSlots() {
  keep_for(0);
}

}  // namespace fourfold::inline scaling::inline jobs
