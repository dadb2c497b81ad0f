// Blocking and non-blocking messages; see messages.hpp.
#include "bench/measure/messages.hpp"

#include <array>

#include "bench/measure/turns.hpp"
#include "engine/mpi/handles.hpp"

namespace fourfold::inline bench::inline measure {

namespace {

constexpr int tag = 1;

void send(const std::vector<char>& from, std::int64_t to) {
  check_mpi(MPI_Send(from.data(), mpi_count(static_cast<std::int64_t>(from.size())), MPI_CHAR,
                     mpi_count(to), tag, MPI_COMM_WORLD),
            "MPI_Send");
}

void receive(std::vector<char>& to, std::int64_t from) {
  check_mpi(MPI_Recv(to.data(), mpi_count(static_cast<std::int64_t>(to.size())), MPI_CHAR,
                     mpi_count(from), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
            "MPI_Recv");
}

}  // namespace

std::int64_t partner_of(std::int64_t rank, std::int64_t ranks) {
  const std::int64_t half = ranks / 2;
  if (rank >= 2 * half) return rank;
  return rank < half ? rank + half : rank - half;
}

PingPong::PingPong(std::int64_t bytes)
    : sent_(static_cast<std::size_t>(bytes)),
      received_(sent_.size()),
      rank_(rank_in(MPI_COMM_WORLD)),
      partner_(partner_of(rank_, size_of(MPI_COMM_WORLD))) {}

double PingPong::seconds() {
  // The first and the last byte tell whether this very message has come.
  ++turn_;
  if (!sent_.empty()) sent_.front() = sent_.back() = turn_;
  return slowest_seconds([this] {
    if (partner_ == rank_) {
      received_ = sent_;
      return 0.0;
    }
    return wall_seconds([this] {
             if (rank_ < partner_) send(sent_, partner_);
             receive(received_, partner_);
             if (rank_ > partner_) send(sent_, partner_);
           }) /
           2.0;
  });
}

bool PingPong::right() const {
  return all_ranks(received_ == sent_);
}

MessageStream::MessageStream(std::int64_t bytes)
    : sent_(static_cast<std::size_t>(bytes), 'x'),
      received_(sent_.size()),
      rank_(rank_in(MPI_COMM_WORLD)),
      partner_(partner_of(rank_, size_of(MPI_COMM_WORLD))) {}

double MessageStream::seconds() {
  const int count = mpi_count(static_cast<std::int64_t>(sent_.size()));
  return slowest_seconds([&] {
    if (partner_ == rank_) {
      received_ = sent_;
      return 0.0;
    }
    return wall_seconds([&] {
      std::array<MPI_Request, window> requests{};
      for (MPI_Request& request : requests) {
        check_mpi(rank_ < partner_ ? MPI_Isend(sent_.data(), count, MPI_CHAR, mpi_count(partner_),
                                               tag, MPI_COMM_WORLD, &request)
                                   : MPI_Irecv(received_.data(), count, MPI_CHAR,
                                               mpi_count(partner_), tag, MPI_COMM_WORLD, &request),
                  "MPI_Isend or MPI_Irecv");
      }
      check_mpi(MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
      std::vector<char> answer(1);
      if (rank_ > partner_) send(answer, partner_);
      if (rank_ < partner_) receive(answer, partner_);
    });
  });
}

bool MessageStream::right() const {
  return all_ranks(rank_ < partner_ || received_ == sent_);
}

double largest_of_ranks(double own) {
  double largest = 0.0;
  check_mpi(MPI_Allreduce(&own, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
  return largest;
}

bool all_ranks(bool own) {
  return largest_of_ranks(own ? 0.0 : 1.0) == 0.0;
}

void wait_for_all_ranks() {
  check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

}  // namespace fourfold::inline bench::inline measure
