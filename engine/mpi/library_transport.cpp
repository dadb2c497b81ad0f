// Calls of MPI's collectives, with a bf16 that MPI does not know; see library_transport.hpp.
#include "engine/mpi/library_transport.hpp"

#include "engine/host_memory.hpp"
#include "engine/plan/ring_order.hpp"

namespace fourfold::inline engine::inline mpi {

namespace {

// Where a message waits beside the device, if it must.
constexpr std::size_t sent_slot = 0, received_slot = 1;

// MPI gives the right operand first: inout = in (op) inout.
template <Owed owed>
void combine_bf16(void* in, void* inout, int* elements, MPI_Datatype* /*bf16*/) {
  auto* result = static_cast<std::byte*>(inout);
  combine({owed, Precision::bf16}, result, static_cast<const std::byte*>(in), result, *elements);
}

MpiOperation commutative(MPI_User_function* function) {
  MPI_Op made = MPI_OP_NULL;
  check_mpi(MPI_Op_create(function, 1, &made), "MPI_Op_create");
  return MpiOperation(made);
}

}  // namespace

LibraryTransport::LibraryTransport(MpiCommunicator line, DeviceMemory& memory)
    : ChannelTransport(std::move(line), memory),
      bf16_sum_(commutative(combine_bf16<Owed::sum>)),
      bf16_max_(commutative(combine_bf16<Owed::max>)) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_contiguous(2, MPI_BYTE, &made), "MPI_Type_contiguous");
  bf16_ = MpiDatatype(made);
  check_mpi(MPI_Type_commit(bf16_.address()), "MPI_Type_commit");
}

MPI_Datatype LibraryTransport::datatype(Precision precision) const {
  if (precision == Precision::int32) return MPI_INT32_T;
  return precision == Precision::bf16 ? bf16_.get() : MPI_FLOAT;
}

MPI_Op LibraryTransport::operation(const CollectiveCall& call) const {
  const bool sum = call.owed == Owed::sum;
  if (call.send.precision == Precision::bf16) return (sum ? bf16_sum_ : bf16_max_).get();
  return sum ? MPI_SUM : MPI_MAX;
}

void LibraryTransport::begin(const CollectiveCall& call) {
  call_ = call;
  if (row_of(call.kind).gets == Portion::part) clear_padding(call);
  if (whole_of(call) == 0) return;
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      return post_all_reduce();
    case CollectiveKind::all_gather:
      return post_all_gather();
    case CollectiveKind::reduce_scatter:
      return post_reduce_scatter();
    case CollectiveKind::send:
      return post_message();
    case CollectiveKind::all_to_all:
      return post_all_to_all();
    case CollectiveKind::all_to_all_v:
      return post_all_to_all_v();
    case CollectiveKind::broadcast:
      return post_broadcast();
    case CollectiveKind::neighbour_exchange:
      exchange_.begin(means(), call_, std::numeric_limits<int>::max());
  }
}

// The first member sends, the second receives.
void LibraryTransport::post_message() {
  const Tensor& own = sends() ? call_.send : call_.receive;
  const int count = mpi_count(own.size());
  const MPI_Datatype type = datatype(own.precision);
  constexpr int tag = 0;
  if (sends()) {
    check_mpi(MPI_Isend(staging().outgoing(sent_slot, own.data, own.bytes()), count, type, 1, tag,
                        line(), request_.address()),
              "MPI_Isend");
  } else {
    check_mpi(MPI_Irecv(staging().incoming(received_slot, own.data, own.bytes()), count, type, 0,
                        tag, line(), request_.address()),
              "MPI_Irecv");
  }
}

void LibraryTransport::post_all_reduce() {
  const std::int64_t bytes = call_.send.bytes();
  const bool in_place = staging().direct() && call_.send.data == call_.receive.data;
  const void* from =
      in_place ? MPI_IN_PLACE : staging().outgoing(sent_slot, call_.send.data, bytes);
  void* to = staging().incoming(received_slot, call_.receive.data, bytes);
  check_mpi(MPI_Iallreduce(from, to, mpi_count(call_.send.size()), datatype(call_.send.precision),
                           operation(call_), line(), request_.address()),
            "MPI_Iallreduce");
}

// Extent and first element of every member's piece.
void LibraryTransport::cut(std::int64_t elements) {
  extents_.clear();
  firsts_.clear();
  for (std::int64_t member = 0; member < size(); ++member) {
    const RingChunk chunk = ring_chunk(elements, size(), member);
    extents_.push_back(mpi_count(chunk.elements));
    firsts_.push_back(mpi_count(chunk.first));
  }
}

void LibraryTransport::post_all_gather() {
  cut(call_.receive.size());
  const MPI_Datatype type = datatype(call_.receive.precision);
  const int own = extents_[static_cast<std::size_t>(position())];
  const std::int64_t own_bytes = own * bytes_per_element(call_.send.precision);
  const void* from = staging().outgoing(sent_slot, call_.send.data, own_bytes);
  void* to = staging().incoming(received_slot, call_.receive.data, received_bytes());
  check_mpi(MPI_Iallgatherv(from, own, type, to, extents_.data(), firsts_.data(), type, line(),
                            request_.address()),
            "MPI_Iallgatherv");
}

void LibraryTransport::post_reduce_scatter() {
  cut(call_.send.size());
  const void* from = staging().outgoing(sent_slot, call_.send.data, call_.send.bytes());
  void* to = staging().incoming(received_slot, call_.receive.data, received_bytes());
  check_mpi(MPI_Ireduce_scatter(from, to, extents_.data(), datatype(call_.send.precision),
                                operation(call_), line(), request_.address()),
            "MPI_Ireduce_scatter");
}

void LibraryTransport::post_all_to_all() {
  const int part = mpi_count(call_.send.size() / size());
  const MPI_Datatype type = datatype(call_.send.precision);
  const void* from = staging().outgoing(sent_slot, call_.send.data, call_.send.bytes());
  void* to = staging().incoming(received_slot, call_.receive.data, call_.receive.bytes());
  check_mpi(MPI_Ialltoall(from, part, type, to, part, type, line(), request_.address()),
            "MPI_Ialltoall");
}

void LibraryTransport::post_all_to_all_v() {
  const auto list = [](const std::vector<std::int64_t>& parts, std::vector<int>& extents,
                       std::vector<int>& firsts) {
    extents.clear();
    firsts.clear();
    std::int64_t first = 0;
    for (std::int64_t part : parts) {
      extents.push_back(mpi_count(part));
      firsts.push_back(mpi_count(first));
      first += part;
    }
  };
  list(call_.to, to_, to_firsts_);
  list(call_.from, extents_, firsts_);
  const MPI_Datatype type = datatype(call_.send.precision);
  const void* from = staging().outgoing(sent_slot, call_.send.data, call_.send.bytes());
  void* to = staging().incoming(received_slot, call_.receive.data, call_.receive.bytes());
  check_mpi(MPI_Ialltoallv(from, to_.data(), to_firsts_.data(), type, to, extents_.data(),
                           firsts_.data(), type, line(), request_.address()),
            "MPI_Ialltoallv");
}

void LibraryTransport::post_broadcast() {
  place_own_part(call_);
  const std::int64_t bytes = call_.receive.bytes();
  void* buffer = position() == 0
                     ? const_cast<std::byte*>(staging().outgoing(sent_slot, call_.send.data, bytes))
                     : staging().incoming(received_slot, call_.receive.data, bytes);
  check_mpi(MPI_Ibcast(buffer, mpi_count(call_.receive.size()), datatype(call_.receive.precision),
                       0, line(), request_.address()),
            "MPI_Ibcast");
}

// Without padding.
std::int64_t LibraryTransport::received_bytes() const {
  if (row_of(call_.kind).gets != Portion::part) return call_.receive.bytes();
  return ring_chunk(call_.send.size(), size(), position()).elements *
         bytes_per_element(call_.send.precision);
}

bool LibraryTransport::step() {
  if (row_of(call_.kind).motion == Motion::neighbours) return exchange_.step(means());
  const bool nothing_to_take = request_.empty() || sends();
  if (!completed(request_)) return false;
  if (!nothing_to_take) staging().arrived(received_slot, call_.receive.data, received_bytes());
  return true;
}

}  // namespace fourfold::inline engine::inline mpi
