// Calls of MPI's collectives, with a bf16 that MPI does not know; see library_transport.hpp.
#include "engine/mpi/library_transport.hpp"

#include "engine/mpi/combine.hpp"
#include "engine/plan/ring_order.hpp"

namespace fourfold {

namespace {

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

LibraryTransport::LibraryTransport(MpiCommunicator line)
    : LaneTransport(std::move(line)),
      bf16_sum_(commutative(combine_bf16<Owed::sum>)),
      bf16_max_(commutative(combine_bf16<Owed::max>)) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_contiguous(2, MPI_BYTE, &made), "MPI_Type_contiguous");
  bf16_ = MpiDatatype(made);
  check_mpi(MPI_Type_commit(bf16_.address()), "MPI_Type_commit");
}

MPI_Datatype LibraryTransport::datatype(Precision precision) const {
  return precision == Precision::bf16 ? bf16_.get() : MPI_FLOAT;
}

MPI_Op LibraryTransport::operation(const CollectiveCall& call) const {
  const bool sum = call.owed == Owed::sum;
  if (call.send.precision == Precision::bf16) return (sum ? bf16_sum_ : bf16_max_).get();
  return sum ? MPI_SUM : MPI_MAX;
}

void LibraryTransport::begin(const CollectiveCall& call) {
  if (call.kind == CollectiveKind::reduce_scatter) clear_padding(call, size(), position());
  const Tensor& whole = call.kind == CollectiveKind::all_gather ? call.receive : call.send;
  if (whole.size() == 0) return;
  const MPI_Datatype type = datatype(whole.precision);
  if (call.kind == CollectiveKind::all_reduce) {
    const void* from = call.send.data == call.receive.data ? MPI_IN_PLACE : call.send.data;
    check_mpi(MPI_Iallreduce(from, call.receive.data, mpi_count(whole.size()), type,
                             operation(call), line(), request_.address()),
              "MPI_Iallreduce");
    return;
  }
  extents_.clear();
  firsts_.clear();
  for (std::int64_t member = 0; member < size(); ++member) {
    const RingChunk chunk = ring_chunk(whole.size(), size(), member);
    extents_.push_back(mpi_count(chunk.elements));
    firsts_.push_back(mpi_count(chunk.first));
  }
  if (call.kind == CollectiveKind::all_gather) {
    const int own = extents_[static_cast<std::size_t>(position())];
    check_mpi(MPI_Iallgatherv(call.send.data, own, type, call.receive.data, extents_.data(),
                              firsts_.data(), type, line(), request_.address()),
              "MPI_Iallgatherv");
  } else {
    check_mpi(MPI_Ireduce_scatter(call.send.data, call.receive.data, extents_.data(), type,
                                  operation(call), line(), request_.address()),
              "MPI_Ireduce_scatter");
  }
}

bool LibraryTransport::step() {
  return completed(request_);
}

}  // namespace fourfold
