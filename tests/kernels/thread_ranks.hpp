// Ranks as threads of one process: communicators that hold everybody to the letter of
// engine/communicator.hpp. What is to be received is spoilt at the start and comes at the wait, and
// what is sent must be there unchanged until then.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/communicator.hpp"
#include "engine/host_memory.hpp"
#include "engine/plan/shares.hpp"
#include "schedule/program/channel.hpp"

namespace fourfold::tests {

// Where the members of one group of a channel meet.
class ThreadMeeting {
 public:
  explicit ThreadMeeting(std::int64_t members) : posted_(static_cast<std::size_t>(members)) {}

  std::int64_t members() const { return static_cast<std::int64_t>(posted_.size()); }
  Post post(std::int64_t member, const CollectiveCall& call, std::vector<std::byte> sent) {
    const std::lock_guard lock(mutex_);
    std::vector<Posted>& own = posted_[static_cast<std::size_t>(member)];
    own.push_back({call, std::move(sent)});
    arrived_.notify_all();
    return static_cast<Post>(own.size());
  }
  // Others get the processor where it is not.
  bool complete(Post post) {
    std::unique_lock lock(mutex_);
    constexpr std::chrono::microseconds a_while{100};
    return arrived_.wait_for(lock, a_while, [&] { return all_have(post); });
  }
  void wait_for(Post post) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return given_up_ || all_have(post); });
    if (!all_have(post)) throw std::runtime_error("another rank has failed");
  }
  // Nobody waits any longer for a rank that has failed.
  void give_up() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    arrived_.notify_all();
  }
  CollectiveCall call(std::int64_t member, Post post) {
    const std::lock_guard lock(mutex_);
    return at(member, post).call;
  }
  std::vector<std::byte> sent(std::int64_t member, Post post) {
    const std::lock_guard lock(mutex_);
    return at(member, post).sent;
  }

 private:
  struct Posted {
    CollectiveCall call;
    std::vector<std::byte> sent;  // as it was at the start
  };
  const Posted& at(std::int64_t member, Post post) const {
    return posted_[static_cast<std::size_t>(member)].at(static_cast<std::size_t>(post - 1));
  }
  bool all_have(Post post) const {
    for (const std::vector<Posted>& own : posted_) {
      if (static_cast<Post>(own.size()) < post) return false;
    }
    return true;
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  bool given_up_ = false;
  std::vector<std::vector<Posted>> posted_;  // by member
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(ThreadMeeting& meeting, std::int64_t position, DeviceMemory& memory)
      : meeting_(meeting), position_(position), memory_(memory) {}

  std::int64_t size() const override { return meeting_.members(); }
  std::int64_t position() const override { return position_; }
  Post start(const CollectiveCall& call) override {
    const Post post = meeting_.post(
        position_, call, receives_only(call) ? std::vector<std::byte>{} : bytes_of(call.send));
    if (!sends_only(call) && (receives_only(call) || call.send.data != call.receive.data)) {
      write(call.receive, std::vector<std::byte>(bytes(call.receive), spoilt));
    }
    return post;
  }
  bool progress() override { return false; }
  bool finished(Post post) override { return meeting_.complete(post); }
  void finish(Post post) override {
    for (; finished_ < post; ++finished_) {
      meeting_.wait_for(finished_ + 1);
      take(finished_ + 1);
    }
  }
  // Collectives whose operand was written to before their wait.
  int disturbed() const { return disturbed_; }

 private:
  static constexpr std::byte spoilt{0xff};  // floats that are not numbers

  static std::size_t bytes(const Tensor& tensor) {
    return static_cast<std::size_t>(tensor.bytes());
  }
  bool sends_only(const CollectiveCall& call) const {
    return call.kind == CollectiveKind::send && position_ == 0;
  }
  bool receives_only(const CollectiveCall& call) const {
    return call.kind == CollectiveKind::send && position_ == 1;
  }
  std::vector<std::byte> bytes_of(const Tensor& tensor) {
    std::vector<std::byte> result(bytes(tensor));
    memory_.copy_out(result.data(), tensor.data, tensor.bytes());
    return result;
  }
  void write(const Tensor& tensor, const std::vector<std::byte>& bytes) {
    memory_.copy_in(tensor.data, bytes.data(), static_cast<std::int64_t>(bytes.size()));
  }

  void take(Post post) {
    const CollectiveCall call = meeting_.call(position_, post);
    if (!receives_only(call)) {
      disturbed_ += bytes_of(call.send) == meeting_.sent(position_, post) ? 0 : 1;
    }
    if (call.kind == CollectiveKind::reduce_scatter) {
      write(call.send, std::vector<std::byte>(bytes(call.send), spoilt));
    }
    if (!sends_only(call)) write(call.receive, result(call, post));
  }
  std::vector<std::byte> result(const CollectiveCall& call, Post post) {
    if (call.kind == CollectiveKind::send) return meeting_.sent(0, post);
    const bool goes_around = row_of(call.kind).motion == Motion::around;
    if (!goes_around) return moved(call, post);
    const bool gathers = call.kind == CollectiveKind::all_gather;
    const bool scatters = call.kind == CollectiveKind::reduce_scatter;
    const std::int64_t width = bytes_per_element(call.send.precision);
    const std::int64_t elements = (gathers ? call.receive : call.send).size();
    std::vector<std::byte> bytes_received(bytes(call.receive));
    for (std::int64_t chunk = 0; chunk < size(); ++chunk) {
      if (scatters && chunk != position_) continue;
      const RingChunk part = ring_chunk(elements, size(), chunk);
      std::byte* const to = bytes_received.data() + (scatters ? 0 : part.first * width);
      if (gathers) {
        const std::vector<std::byte> piece = meeting_.sent(chunk, post);
        std::copy_n(piece.begin(), part.elements * width, to);
        continue;
      }
      for (std::int64_t place = 0; place < size(); ++place) {
        const std::vector<std::byte> whole = meeting_.sent(ring_member(size(), chunk, place), post);
        const std::byte* const own = whole.data() + part.first * width;
        if (place == 0) {
          std::copy_n(own, part.elements * width, to);
        } else {
          combine({call.owed, call.send.precision}, to, to, own, part.elements);
        }
      }
    }
    return bytes_received;
  }

  std::vector<std::byte> moved(const CollectiveCall& call, Post post) {
    const std::int64_t width = bytes_per_element(call.send.precision);
    std::vector<std::byte> bytes_received(bytes(call.receive));
    for (std::int64_t other = 0; other < size(); ++other) {
      const RingChunk sent = sent_to(meeting_.call(other, post), size(), other, position_);
      const RingChunk came = received_from(call, size(), position_, other);
      if (came.elements == 0) continue;
      const std::vector<std::byte> theirs = meeting_.sent(other, post);
      std::copy_n(theirs.begin() + sent.first * width, came.elements * width,
                  bytes_received.begin() + came.first * width);
    }
    return bytes_received;
  }

  ThreadMeeting& meeting_;
  std::int64_t position_ = 0;
  DeviceMemory& memory_;
  Post finished_ = 0;
  int disturbed_ = 0;
};

// The meetings of all ranks of a grid.
class Meetings {
 public:
  explicit Meetings(const ProcessGrid& grid) : grid_(grid) {}

  // A rank's communicators, by channel of its program; no thread may run meanwhile.
  std::vector<std::unique_ptr<ThreadCommunicator>> of_rank(std::int64_t rank,
                                                           const std::vector<Channel>& channels,
                                                           DeviceMemory& memory) {
    std::vector<std::unique_ptr<ThreadCommunicator>> result;
    for (const Channel& channel : channels) {
      const std::vector<std::int64_t> ranks = group(channel, grid_, rank);
      const auto position = std::ranges::find(ranks, rank) - ranks.begin();
      std::unique_ptr<ThreadMeeting>& meeting =
          meetings_[{name(channel), static_cast<int>(channel.group), std::ranges::min(ranks)}];
      if (!meeting) meeting = std::make_unique<ThreadMeeting>(std::ssize(ranks));
      result.push_back(std::make_unique<ThreadCommunicator>(*meeting, position, memory));
    }
    return result;
  }
  void give_up() {
    for (auto& [key, meeting] : meetings_) meeting->give_up();
  }

 private:
  ProcessGrid grid_;
  std::map<std::tuple<std::string, int, std::int64_t>, std::unique_ptr<ThreadMeeting>> meetings_;
};

}  // namespace fourfold::tests
