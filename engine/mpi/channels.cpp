// A rank's communicators, one behind each channel, and how they are moved on; see channels.hpp.
#include "engine/mpi/channels.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "engine/mpi/chosen_transport.hpp"
#include "engine/mpi/library_transport.hpp"
#include "engine/mpi/pause.hpp"
#include "engine/mpi/ring_transport.hpp"
#include "engine/mpi/window_transport.hpp"

namespace fourfold::inline engine::inline mpi {

namespace {

// One line a channel.
std::string text_of(const std::vector<Channel>& channels) {
  std::ostringstream text;
  for (const Channel& channel : channels) {
    text << static_cast<int>(channel.axis) << ' ' << static_cast<int>(channel.group) << ' '
         << channel.purpose << '\n';
  }
  return text.str();
}

void add_new(const std::string& text, std::vector<Channel>& channels) {
  std::istringstream lines(text);
  int axis = 0, group = 0;
  while (lines >> axis >> group) {
    Channel channel{static_cast<Axis>(axis), "", static_cast<Group>(group)};
    lines.get();  // the blank before the purpose, which may be empty
    std::getline(lines, channel.purpose);
    if (std::ranges::find(channels, channel) == channels.end()) channels.push_back(channel);
  }
}

// Communicators are made by all ranks in one order, and stages have channels of their own.
std::vector<Channel> of_all_ranks(const std::vector<Channel>& own) {
  const std::string text = text_of(own);
  const int length = mpi_count(static_cast<std::int64_t>(text.size()));
  std::vector<int> lengths(static_cast<std::size_t>(size_of(MPI_COMM_WORLD)));
  check_mpi(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD),
            "MPI_Allgather");
  std::vector<int> firsts(lengths.size(), 0);
  std::partial_sum(lengths.begin(), lengths.end() - 1, firsts.begin() + 1);
  std::string all(static_cast<std::size_t>(firsts.back() + lengths.back()), ' ');
  check_mpi(MPI_Allgatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), firsts.data(),
                           MPI_CHAR, MPI_COMM_WORLD),
            "MPI_Allgatherv");
  std::vector<Channel> channels;
  add_new(all, channels);
  return channels;
}

// Messages have pairs of stages; other groups have collectives.
bool carries_messages(const Channel& channel) {
  return channel.group != Group::line && channel.group != Group::ends;
}

// The ranks of this one's group, in the group's order: of a message the sender is first.
MpiCommunicator communicator_of(const Channel& channel, const ProcessGrid& grid,
                                std::int64_t rank) {
  const std::vector<std::int64_t> ranks = group(channel, grid, rank);
  const std::string title = "channel " + name(channel);
  if (ranks.empty()) return split(MPI_COMM_WORLD, std::nullopt, 0, title);
  const auto own = std::ranges::find(ranks, rank) - ranks.begin();
  return split(MPI_COMM_WORLD, std::ranges::min(ranks), own, title);
}

std::unique_ptr<ChannelTransport> made(TransportKind transport, MpiCommunicator line,
                                       DeviceMemory& memory) {
  switch (transport) {
    case TransportKind::ring:
      return std::make_unique<RingTransport>(std::move(line), memory);
    case TransportKind::library:
      return std::make_unique<LibraryTransport>(std::move(line), memory);
    case TransportKind::window:
      return std::make_unique<WindowTransport>(std::move(line), memory);
    case TransportKind::automatic:
      break;
  }
  throw std::invalid_argument("no such transport");
}

// Looking costs system calls where messages come over a network; kernels of short tiles would look
// every few microseconds.
constexpr std::chrono::microseconds pause_after_nothing{100};

void check_world(const ProcessGrid& grid, ProgressMode mode) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  if (ranks != grid.size()) {
    throw std::invalid_argument("grid " + grid.str() + " needs " + std::to_string(grid.size()) +
                                " ranks, but MPI has started " + std::to_string(ranks));
  }
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
  if (mode == ProgressMode::thread && level < MPI_THREAD_SERIALIZED) {
    throw std::invalid_argument(
        "this MPI library was not started for threads (MPI_THREAD_SERIALIZED); use --progress "
        "tiles or none");
  }
}

}  // namespace

// Everything that may be touched by two threads, behind one mutex; MPI is only used under it.
class Channels::Movement {
 public:
  using Lock = std::unique_lock<std::mutex>;

  Pause pause() const { return Pause(shares_cores_); }
  Lock lock() { return Lock(mutex_); }

  // What follows needs the lock.
  bool advance() {
    bool moved = false;
    for (const std::unique_ptr<ChannelTransport>& transport : transports_) {
      if (!transport->idle()) moved |= transport->advance();
    }
    return moved;
  }
  bool idle() const {
    for (const std::unique_ptr<ChannelTransport>& transport : transports_) {
      if (!transport->idle()) return false;
    }
    return true;
  }
  void wake() { started_.notify_one(); }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  void start_thread() {
    thread_ = std::thread([this] { run(); });
  }
  void stop_thread() {
    if (!thread_.joinable()) return;
    {
      const Lock locked = lock();
      stopping_ = true;
    }
    started_.notify_one();
    thread_.join();
  }

  // Of the channels that have this rank in a group; of these, those that choose.
  std::vector<std::unique_ptr<ChannelTransport>> transports_;
  std::vector<ChosenTransport*> choosing_;

 private:
  void run() {
    Lock locked = lock();
    try {
      Pause waiting = pause();
      while (true) {
        started_.wait(locked, [this] { return stopping_ || !idle(); });
        if (stopping_) return;
        const bool moved = advance();
        locked.unlock();
        waiting.after_a_look(moved);
        locked.lock();
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  const bool shares_cores_ = ranks_share_cores();
  std::mutex mutex_;
  std::condition_variable started_;
  bool stopping_ = false;
  std::exception_ptr failure_;  // of the thread; the next wait throws it
  std::thread thread_;
};

class Channels::LockedChannel final : public Communicator {
 public:
  LockedChannel(Movement& movement, ChannelTransport& transport, Waits& waits)
      : movement_(movement), transport_(transport), waits_(waits) {}

  std::int64_t size() const override { return transport_.size(); }
  std::int64_t position() const override { return transport_.position(); }

  void prepare(const std::vector<CollectiveCall>& calls) override {
    const Movement::Lock locked = movement_.lock();
    transport_.prepare(calls);
  }

  Post start(const CollectiveCall& call) override {
    const Movement::Lock locked = movement_.lock();
    const Post post = transport_.start(call);
    if (!transport_.idle()) movement_.wake();
    return post;
  }

  bool progress() override {
    const Movement::Lock locked = movement_.lock();
    transport_.advance();
    return !transport_.idle();
  }

  bool finished(Post post) override {
    waits_.move_on();
    const Movement::Lock locked = movement_.lock();
    movement_.rethrow();
    if (transport_.finished() < post) movement_.advance();
    return transport_.finished() >= post;
  }

  void finish(Post post) override {
    const Waits::Wait wait(waits_);
    Pause waiting = movement_.pause();
    while (true) {
      bool moved = false;
      {
        const Movement::Lock locked = movement_.lock();
        movement_.rethrow();
        if (transport_.finished() >= post) return;
        moved = movement_.advance();
      }
      waiting.after_a_look(moved);
    }
  }

 private:
  Movement& movement_;
  ChannelTransport& transport_;
  Waits& waits_;
};

Channels::Channels(const ProcessGrid& grid, const std::vector<Channel>& list,
                   TransportKind transport, ProgressMode mode, DeviceMemory& memory)
    : mode_(mode), movement_(std::make_unique<Movement>()) {
  check_world(grid, mode);
  list_ = of_all_ranks(list);
  const std::int64_t rank = rank_in(MPI_COMM_WORLD);
  for (const Channel& channel : list_) {
    MpiCommunicator ranks = communicator_of(channel, grid, rank);
    communicators_.emplace_back();
    if (ranks.empty()) continue;
    const TransportKind own = carries_messages(channel) ? TransportKind::library : transport;
    if (own == TransportKind::automatic) {
      auto chosen = std::make_unique<ChosenTransport>(name(channel), std::move(ranks), memory);
      movement_->choosing_.push_back(chosen.get());
      movement_->transports_.push_back(std::move(chosen));
    } else {
      movement_->transports_.push_back(made(own, std::move(ranks), memory));
    }
    communicators_.back() =
        std::make_unique<LockedChannel>(*movement_, *movement_->transports_.back(), waits_);
  }
  if (mode == ProgressMode::thread) movement_->start_thread();
}

// What is still under way is finished, so that no other rank waits for this one for ever; after an
// exception the job ends without.
Channels::~Channels() {
  movement_->stop_thread();
  const Movement::Lock locked = movement_->lock();
  Pause waiting = movement_->pause();
  while (std::uncaught_exceptions() == 0 && !movement_->idle()) {
    waiting.after_a_look(movement_->advance());
  }
}

Communicator& Channels::operator[](const Channel& channel) {
  const auto found = std::ranges::find(list_, channel) - list_.begin();
  if (found == std::ssize(list_) || !communicators_[static_cast<std::size_t>(found)]) {
    throw std::invalid_argument("no communicator was made for channel " + name(channel));
  }
  return *communicators_[static_cast<std::size_t>(found)];
}

std::vector<Communicator*> Channels::communicators(const std::vector<Channel>& of_program) {
  std::vector<Communicator*> result;
  for (const Channel& channel : of_program) result.push_back(&(*this)[channel]);
  return result;
}

std::vector<TransportChoice> Channels::choices() {
  const Movement::Lock locked = movement_->lock();
  std::vector<TransportChoice> result;
  for (const ChosenTransport* transport : movement_->choosing_) {
    result.insert(result.end(), transport->choices().begin(), transport->choices().end());
  }
  return result;
}

void Channels::remember(const std::vector<TransportChoice>& choices) {
  const Movement::Lock locked = movement_->lock();
  for (ChosenTransport* transport : movement_->choosing_) transport->remember(choices);
}

std::int64_t Channels::staged_bytes() {
  const Movement::Lock locked = movement_->lock();
  std::int64_t sum = 0;
  for (const auto& transport : movement_->transports_) sum += transport->staged_bytes();
  return sum;
}

void Channels::between_tiles() {
  waits_.move_on();
  if (mode_ != ProgressMode::tiles) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  const Movement::Lock locked = movement_->lock();
  next_look_ = movement_->advance() ? now : now + pause_after_nothing;
}

namespace {

constexpr std::array<const char*, 3> progress_names{"tiles", "thread", "none"};

}  // namespace

const char* name(ProgressMode mode) {
  return progress_names[static_cast<std::size_t>(mode)];
}

ProgressMode parse_progress_mode(const std::string& text) {
  for (std::size_t i = 0; i < progress_names.size(); ++i) {
    if (text == progress_names[i]) return static_cast<ProgressMode>(i);
  }
  throw std::invalid_argument("'" + text + "' is no way to progress; choose tiles, thread or none");
}

}  // namespace fourfold::inline engine::inline mpi
