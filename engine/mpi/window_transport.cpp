// The state machine of a shared window; see window_transport.hpp.
#include "engine/mpi/window_transport.hpp"

#include <new>
#include <stdexcept>

#include "engine/mpi/pause.hpp"
#include "engine/plan/shares.hpp"

namespace fourfold::inline engine::inline mpi {

namespace {

void refuse_between_nodes(MPI_Comm line) {
  const std::int64_t here = members_on_this_node(line);
  if (here == size_of(line)) return;
  throw std::invalid_argument(
      "transport window needs all members of a line on one node, but only " + std::to_string(here) +
      " of " + std::to_string(size_of(line)) + " share this one; use auto or ring");
}

void refuse_beside_the_host(const DeviceMemory& memory) {
  if (memory.reach() == MemoryReach::host) return;
  throw std::invalid_argument(
      "transport window needs blocks in the processor's own memory, which ranks share; the device "
      "keeps its blocks apart, so use auto, ring or library");
}

// MPI aligns a member's part of a window for no more than 8 bytes. Windows are mapped by pages, so
// that every member finds the same place.
std::byte* first_cache_line(std::byte* part, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(part);
  return part + (bytes - address % bytes) % bytes;
}

}  // namespace

bool WindowTransport::possible(MPI_Comm line, const DeviceMemory& memory) {
  int here = members_on_this_node(line) == size_of(line) ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &here, 1, MPI_INT, MPI_MIN, line), "MPI_Allreduce");
  return here == 1 && memory.reach() == MemoryReach::host;
}

WindowTransport::WindowTransport(MpiCommunicator communicator, DeviceMemory& device,
                                 std::int64_t slot_bytes)
    : ChannelTransport(std::move(communicator), device) {
  refuse_beside_the_host(device);
  if (size() == 1) return;
  refuse_between_nodes(line());
  share_bytes_ = std::max<std::int64_t>(slot_bytes / size() / 64 * 64, 64);
  const std::int64_t area = slots * share_bytes_ * (size() + 1);
  std::byte* own = nullptr;
  MPI_Win made = MPI_WIN_NULL;
  check_mpi(MPI_Win_allocate_shared(static_cast<MPI_Aint>(sizeof(Counters) + cache_line) + area, 1,
                                    MPI_INFO_NULL, line(), &own, &made),
            "MPI_Win_allocate_shared");
  window_ = MpiWindow(made);
  for (int member = 0; member < static_cast<int>(size()); ++member) {
    MPI_Aint bytes = 0;
    int unit = 0;
    std::byte* base = nullptr;
    check_mpi(MPI_Win_shared_query(made, member, &bytes, &unit, &base), "MPI_Win_shared_query");
    base = first_cache_line(base, cache_line);
    counters_.push_back(reinterpret_cast<Counters*>(base));
    areas_.push_back(base + sizeof(Counters));
  }
  new (counters_[static_cast<std::size_t>(position())]) Counters{};
  // Nobody reads a counter before it is there.
  check_mpi(MPI_Barrier(line()), "MPI_Barrier");
}

void WindowTransport::begin(const CollectiveCall& call) {
  call_ = call;
  kind_ = &row_of(call.kind);
  width_ = bytes_per_element(call.send.precision);
  elements_ = whole_of(call);
  const std::int64_t longest = longest_part() * width_;
  first_ = last_;
  last_ = first_ + (longest + share_bytes_ - 1) / share_bytes_;
  if (!goes_around()) return place_own_part(call);
  if (!kind_->spreads()) clear_padding(call);
}

bool WindowTransport::step() {
  bool moved = offer();
  moved |= reduce();
  moved |= collect();
  return moved;
}

bool WindowTransport::all_reached(std::atomic<std::int64_t> Counters::*counter,
                                  std::int64_t block) const {
  for (const Counters* member : counters_) {
    if ((member->*counter).load(std::memory_order_acquire) < block) return false;
  }
  return true;
}

// The same on all members: of unequal parts it may be all that there is room for.
std::int64_t WindowTransport::longest_part() const {
  if (kind_->motion == Motion::neighbours) return elements_ / 2;
  return call_.to.empty() ? ring_piece(elements_, size()) : elements_;
}

RingChunk WindowTransport::within(const RingChunk& stretch, std::int64_t block) const {
  const std::int64_t room = share_bytes_ / width_;
  const std::int64_t offset = std::min((block - first_) * room, stretch.elements);
  return {stretch.first + offset, std::min(room, stretch.elements - offset)};
}

RingChunk WindowTransport::offered_to(std::int64_t other) const {
  if (kind_->motion != Motion::onward) return sent_to(call_, size(), position(), other);
  return position() == 0 ? ring_chunk(elements_, size(), other) : RingChunk{};
}

RingChunk WindowTransport::collected_from(std::int64_t other) const {
  if (kind_->motion != Motion::onward) return received_from(call_, size(), position(), other);
  return position() == 0 ? RingChunk{} : ring_chunk(elements_, size(), other);
}

void WindowTransport::offer_parts() {
  const bool own_too = kind_->motion == Motion::onward;
  for (std::int64_t other = 0; other < size(); ++other) {
    if (other == position() && !own_too) continue;
    const RingChunk part = within(offered_to(other), offered_);
    if (part.elements == 0) continue;
    memory().copy_out(share(position(), offered_, other), call_.send.data + part.first * width_,
                      part.elements * width_);
  }
}

// From whom something is to be collected.
bool WindowTransport::parts_are_there() const {
  const auto there = [&](std::int64_t member) {
    return counters_[static_cast<std::size_t>(member)]->offered.load(std::memory_order_acquire) >
           collected_;
  };
  switch (kind_->motion) {
    case Motion::onward:
      return there(0);
    case Motion::neighbours:
      return (position() == 0 || there(position() - 1)) &&
             (position() + 1 == size() || there(position() + 1));
    default:
      return all_reached(&Counters::offered, collected_ + 1);
  }
}

void WindowTransport::collect_parts() {
  const bool by_first = kind_->motion == Motion::onward;
  for (std::int64_t step = 1; step <= size(); ++step) {
    const std::int64_t other = (position() + step) % size();
    if (other == position() && !by_first) continue;
    const RingChunk part = within(collected_from(other), collected_);
    if (part.elements == 0) continue;
    const std::byte* const from =
        by_first ? share(0, collected_, other) : share(other, collected_, position());
    memory().copy_in(call_.receive.data + part.first * width_, from, part.elements * width_);
  }
}

WindowTransport::BlockSpan WindowTransport::stretch(std::int64_t block, std::int64_t chunk) const {
  const RingChunk whole = ring_chunk(elements_, size(), chunk);
  const std::int64_t room = share_bytes_ / width_;
  const std::int64_t offset = std::min((block - first_) * room, whole.elements);
  return {whole.first + offset, std::min(room, whole.elements - offset), offset};
}

std::byte* WindowTransport::share(std::int64_t member, std::int64_t block,
                                  std::int64_t chunk) const {
  return areas_[static_cast<std::size_t>(member)] + (block % slots * size() + chunk) * share_bytes_;
}

std::byte* WindowTransport::result(std::int64_t member, std::int64_t block) const {
  return areas_[static_cast<std::size_t>(member)] + (slots * size() + block % slots) * share_bytes_;
}

bool WindowTransport::offer() {
  if (offered_ == last_ || !all_reached(&Counters::collected, offered_ - slots + 1)) return false;
  if (!goes_around()) offer_parts();
  if (kind_->reduces()) {
    for (std::int64_t other = 1; other < size(); ++other) {
      const std::int64_t chunk = (position() + other) % size();
      const BlockSpan part = stretch(offered_, chunk);
      if (part.elements == 0) continue;
      memory().copy_out(share(position(), offered_, chunk), call_.send.data + part.first * width_,
                        part.elements * width_);
    }
  }
  ++offered_;
  counters_[static_cast<std::size_t>(position())]->offered.store(offered_,
                                                                 std::memory_order_release);
  return true;
}

bool WindowTransport::reduce() {
  if (reduced_ == offered_) return false;
  if (!goes_around()) {
    reduced_ = offered_;
    return true;
  }
  const bool gather = !kind_->reduces();  // which needs nothing of others
  if (!gather && !all_reached(&Counters::offered, reduced_ + 1)) return false;
  const BlockSpan part = stretch(reduced_, position());
  const std::int64_t bytes = part.elements * width_;
  std::byte* shared = result(position(), reduced_);
  if (gather && bytes > 0) {
    const std::byte* own = call_.send.data + part.offset * width_;
    memory().copy_out(shared, own, bytes);
    memory().copy(call_.receive.data + part.first * width_, own, bytes);  // from the cache
  } else if (bytes > 0) {
    const bool scatter = !kind_->spreads();
    const Combination combination{call_.owed, call_.send.precision};
    std::byte* kept = call_.receive.data + (scatter ? part.offset : part.first) * width_;
    const std::byte* own = call_.send.data + part.first * width_;
    const std::byte* so_far = share(ring_member(size(), position(), 0), reduced_, position());
    for (std::int64_t place = 1; place + 1 < size(); ++place) {
      const std::int64_t member = ring_member(size(), position(), place);
      memory().reduce(combination, shared, so_far, share(member, reduced_, position()),
                      part.elements);
      so_far = shared;
    }
    memory().reduce(combination, scatter ? kept : shared, so_far, own, part.elements);
    if (!scatter) memory().copy_in(kept, shared, bytes);
    memory().finish();  // before the others hear of it
  }
  ++reduced_;
  counters_[static_cast<std::size_t>(position())]->reduced.store(reduced_,
                                                                 std::memory_order_release);
  return true;
}

bool WindowTransport::collect() {
  if (collected_ == reduced_) return false;
  if (!goes_around()) {
    if (!parts_are_there()) return false;
    collect_parts();
  }
  if (kind_->spreads()) {
    if (!all_reached(&Counters::reduced, collected_ + 1)) return false;
    for (std::int64_t other = 1; other < size(); ++other) {
      const std::int64_t chunk = (position() + other) % size();
      const BlockSpan part = stretch(collected_, chunk);
      if (part.elements == 0) continue;
      memory().copy_in(call_.receive.data + part.first * width_, result(chunk, collected_),
                       part.elements * width_);
    }
  }
  ++collected_;
  counters_[static_cast<std::size_t>(position())]->collected.store(collected_,
                                                                   std::memory_order_release);
  return true;
}

}  // namespace fourfold::inline engine::inline mpi
