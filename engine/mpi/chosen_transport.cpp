// Trials of transports, and whose turn a collective is; see chosen_transport.hpp.
#include "engine/mpi/chosen_transport.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "engine/bf16.hpp"
#include "engine/mpi/library_transport.hpp"
#include "engine/mpi/ring_transport.hpp"
#include "engine/mpi/window_transport.hpp"

namespace fourfold::inline engine::inline mpi {

namespace {

MpiCommunicator copy_of(MPI_Comm line) {
  MPI_Comm made = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(line, &made), "MPI_Comm_dup");
  return MpiCommunicator(made);
}

// Numbers whose sum depends on the order, other ones on each member.
std::vector<std::byte> numbers(std::int64_t elements, Precision precision, std::int64_t member) {
  const std::int64_t width = bytes_per_element(precision);
  std::vector<std::byte> result(static_cast<std::size_t>(elements * width));
  for (std::int64_t i = 0; i < elements; ++i) {
    const float number = 1.0F / static_cast<float>(1 + (7919 * i + 104729 * member) % 997);
    std::byte* const at = result.data() + i * width;
    if (precision == Precision::bf16) {
      const std::uint16_t rounded = bf16_bits(number);
      std::copy_n(reinterpret_cast<const std::byte*>(&rounded), width, at);
    } else {
      std::copy_n(reinterpret_cast<const std::byte*>(&number), width, at);
    }
  }
  return result;
}

// One collective with operands of its own, to be done again and again.
class Trial {
 public:
  Trial(const ChosenCollective& collective, DeviceMemory& memory, std::int64_t position)
      : memory_(memory) {
    const KindRow& kind = row_of(collective.kind);
    const auto operand = [&](Portion portion) {
      return Tensor{nullptr, 1, elements_of(portion, collective.elements, collective.members),
                    collective.precision};
    };
    call_ = {collective.kind, collective.owed, operand(kind.brings), operand(kind.gets)};
    if (collective.kind == CollectiveKind::all_to_all_v) {
      call_.to.assign(static_cast<std::size_t>(collective.members),
                      collective.elements / collective.members);
      call_.from = call_.to;
    }
    send_ = memory.allocate(call_.send.bytes());
    receive_ = memory.allocate(call_.receive.bytes());
    call_.send.data = send_.data();
    // A broadcast is in place, as programs have it.
    const bool in_place = kind.motion == Motion::onward;
    call_.receive.data = in_place ? send_.data() : receive_.data();
    numbers_ = numbers(call_.send.size(), collective.precision, position);
  }

  // The bytes that are received.
  std::vector<std::byte> result(ChannelTransport& transport) {
    memory_.copy_in(call_.send.data, numbers_.data(), call_.send.bytes());
    run(transport);
    std::vector<std::byte> bytes(static_cast<std::size_t>(call_.receive.bytes()));
    memory_.copy_out(bytes.data(), call_.receive.data, call_.receive.bytes());
    return bytes;
  }

  double seconds(ChannelTransport& transport, MPI_Comm line) {
    check_mpi(MPI_Barrier(line), "MPI_Barrier");
    const auto begin = std::chrono::steady_clock::now();
    run(transport);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  void run(ChannelTransport& transport) {
    transport.start(call_);
    while (!transport.idle()) {
      if (!transport.advance()) std::this_thread::yield();
    }
  }

  DeviceMemory& memory_;
  DeviceBlock send_, receive_;
  CollectiveCall call_;
  std::vector<std::byte> numbers_;
};

bool equal_on_all(const std::vector<std::byte>& a, const std::vector<std::byte>& b, MPI_Comm line) {
  int equal = a == b ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &equal, 1, MPI_INT, MPI_MIN, line), "MPI_Allreduce");
  return equal == 1;
}

// Short ones are disturbed more easily.
int rounds_of(const ChosenCollective& collective) {
  constexpr std::int64_t long_bytes = 4 << 20;
  return collective.bytes() >= long_bytes ? 4 : 15;
}

}  // namespace

ChosenTransport::ChosenTransport(std::string channel, MpiCommunicator line, DeviceMemory& memory)
    : ChannelTransport(std::move(line), memory), channel_(std::move(channel)) {
  if (size() == 1) return;
  window_possible_ = WindowTransport::possible(this->line(), memory);
  transport(TransportKind::ring);
}

ChannelTransport& ChosenTransport::transport(TransportKind which) {
  std::unique_ptr<ChannelTransport>& slot = transports_[static_cast<std::size_t>(which)];
  if (!slot) {
    if (which == TransportKind::ring) {
      slot = std::make_unique<RingTransport>(copy_of(line()), memory());
    } else if (which == TransportKind::library) {
      slot = std::make_unique<LibraryTransport>(copy_of(line()), memory());
    } else {
      slot = std::make_unique<WindowTransport>(copy_of(line()), memory());
    }
  }
  return *slot;
}

bool ChosenTransport::may_take(TransportKind which, const ChosenCollective& collective) const {
  switch (which) {
    case TransportKind::ring:
      return true;
    case TransportKind::window:
      return window_possible_;
    case TransportKind::library:
      return collective.elements <= std::numeric_limits<int>::max() &&
             (!row_of(collective.kind).reduces() || collective.owed == Owed::max ||
              collective.members == 2);
    case TransportKind::automatic:
      return false;
  }
  return false;
}

void ChosenTransport::remember(const std::vector<TransportChoice>& choices) {
  for (const TransportChoice& choice : choices) {
    if (choice.channel == channel_) remembered_.push_back(choice);
  }
}

bool ChosenTransport::remembered(const ChosenCollective& collective) {
  for (const TransportChoice& choice : remembered_) {
    if (choice.collective != collective || !may_take(choice.transport, collective)) continue;
    choices_.push_back(choice);
    transport(choice.transport);
    return true;
  }
  return false;
}

void ChosenTransport::prepare(const std::vector<CollectiveCall>& calls) {
  if (size() == 1) return;
  for (const CollectiveCall& call : calls) {
    const ChosenCollective collective = class_of(call, size());
    const bool known =
        std::ranges::find(choices_, collective, &TransportChoice::collective) != choices_.end();
    if (known || collective.elements == 0 || remembered(collective)) continue;
    choices_.push_back(timed(collective));
  }
  drop_what_nobody_takes();
}

TransportChoice ChosenTransport::timed(const ChosenCollective& collective) {
  Trial trial(collective, memory(), position());
  const std::vector<std::byte> right = trial.result(transport(TransportKind::ring));
  TransportChoice choice{channel_, collective, TransportKind::ring, {}};
  for (const TransportKind which :
       {TransportKind::ring, TransportKind::window, TransportKind::library}) {
    if (!may_take(which, collective)) continue;
    if (!equal_on_all(trial.result(transport(which)), right, line())) continue;
    choice.timings.push_back({which, std::numeric_limits<double>::infinity()});
  }
  for (int round = 0; round < rounds_of(collective); ++round) {
    for (TransportTiming& timing : choice.timings) {
      double seconds = trial.seconds(transport(timing.transport), line());
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, line()),
                "MPI_Allreduce");
      timing.seconds = std::min(timing.seconds, seconds);
    }
  }
  choice.transport =
      std::ranges::min_element(choice.timings, {}, &TransportTiming::seconds)->transport;
  return choice;
}

// Windows and buffers of those that lost are given back; the ring stays for what comes unprepared.
void ChosenTransport::drop_what_nobody_takes() {
  for (const TransportKind which : {TransportKind::window, TransportKind::library}) {
    if (std::ranges::find(choices_, which, &TransportChoice::transport) != choices_.end()) continue;
    transports_[static_cast<std::size_t>(which)].reset();
  }
}

void ChosenTransport::begin(const CollectiveCall& call) {
  const ChosenCollective collective = class_of(call, size());
  const auto found = std::ranges::find(choices_, collective, &TransportChoice::collective);
  current_ = &transport(found == choices_.end() ? TransportKind::ring : found->transport);
  current_->start(call);
}

std::int64_t ChosenTransport::staged_bytes() const {
  std::int64_t sum = 0;
  for (const auto& transport : transports_) sum += transport ? transport->staged_bytes() : 0;
  return sum;
}

}  // namespace fourfold::inline engine::inline mpi
