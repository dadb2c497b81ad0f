// Owners of blocks, and the host's way to them; see device_memory.hpp.
#include "engine/device_memory.hpp"

namespace fourfold::inline engine {

void DeviceBlock::GiveBack::operator()(std::byte* data) const {
  owner->give_back(data);
}

DeviceBlock DeviceMemory::allocate(std::int64_t bytes) {
  DeviceBlock block;
  block.data_ = {take(bytes), DeviceBlock::GiveBack{this}};
  block.bytes_ = bytes;
  return block;
}

std::byte* HostView::copy_of(std::int64_t bytes) {
  if (room_ < bytes) {
    copy_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    room_ = bytes;
  }
  return copy_.get();
}

const std::byte* HostView::read(const std::byte* at, std::int64_t bytes) {
  if (in_place()) {
    memory_.finish();
    return at;
  }
  std::byte* const copy = copy_of(bytes);
  memory_.copy_out(copy, at, bytes);
  return copy;
}

std::byte* HostView::open(std::byte* at, std::int64_t bytes) {
  opened_ = at;
  opened_bytes_ = bytes;
  if (!in_place()) return copy_of(bytes);
  memory_.finish();
  return at;
}

void HostView::close() {
  if (!in_place()) memory_.copy_in(opened_, copy_.get(), opened_bytes_);
}

}  // namespace fourfold::inline engine
