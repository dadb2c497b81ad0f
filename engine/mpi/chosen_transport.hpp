// For each collective of a channel the transport that was the fastest of those that give the ring's
// bits, timed before the first step, as kernels are.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "engine/mpi/transport.hpp"
#include "engine/mpi/transport_choice.hpp"

namespace fourfold::inline engine::inline mpi {

// Choosing changes no number: a gather is a copy, and a sum is the library's only between two
// members, where there is one order. What was not prepared goes by the ring.
class ChosenTransport final : public ChannelTransport {
 public:
  // Collective over the line.
  ChosenTransport(std::string channel, MpiCommunicator line, DeviceMemory& memory);

  // Times what is neither chosen nor remembered, on all lines of the axis at once.
  void prepare(const std::vector<CollectiveCall>& calls) override;
  // Choices of an earlier run, to be taken instead of timing; those of other channels are passed
  // over.
  void remember(const std::vector<TransportChoice>& choices);
  const std::vector<TransportChoice>& choices() const { return choices_; }
  std::int64_t staged_bytes() const override;

 private:
  static constexpr std::size_t kinds = 3;

  void begin(const CollectiveCall& call) override;
  bool step() override { return current_->advance(); }
  bool done() const override { return current_->idle(); }

  ChannelTransport& transport(TransportKind which);
  bool may_take(TransportKind which, const ChosenCollective& collective) const;
  bool remembered(const ChosenCollective& collective);
  TransportChoice timed(const ChosenCollective& collective);
  void drop_what_nobody_takes();

  std::string channel_;
  bool window_possible_ = false;
  std::array<std::unique_ptr<ChannelTransport>, kinds> transports_;  // those in use
  ChannelTransport* current_ = nullptr;
  std::vector<TransportChoice> choices_, remembered_;
};

}  // namespace fourfold::inline engine::inline mpi
