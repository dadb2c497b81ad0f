// The MPI library's own non-blocking collectives, which add in whatever order the library likes.
#pragma once

#include <vector>

#include "engine/mpi/part_messages.hpp"
#include "engine/mpi/transport.hpp"

namespace fourfold::inline engine::inline mpi {

class LibraryTransport final : public ChannelTransport {
 public:
  LibraryTransport(MpiCommunicator line, DeviceMemory& memory);

 private:
  void begin(const CollectiveCall& call) override;
  bool step() override;
  bool done() const override { return request_.empty() && exchange_.done(); }
  Exchange::Means means() { return {line(), staging(), size(), position()}; }

  void post_all_reduce();
  void post_all_gather();
  void post_reduce_scatter();
  void post_message();
  void post_all_to_all();
  void post_all_to_all_v();
  void post_broadcast();
  // A message or a broadcast, and this member is its sender.
  bool sends() const {
    const Motion motion = row_of(call_.kind).motion;
    return (motion == Motion::one_way || motion == Motion::onward) && position() == 0;
  }
  void cut(std::int64_t elements);
  std::int64_t received_bytes() const;
  MPI_Datatype datatype(Precision precision) const;
  MPI_Op operation(const CollectiveCall& call) const;

  MpiDatatype bf16_;
  MpiOperation bf16_sum_, bf16_max_;
  std::vector<int> extents_, firsts_, to_,
      to_firsts_;      // of the pieces; the library reads them until it is done
  Exchange exchange_;  // of neighbours, whom MPI knows as senders and receivers
  CollectiveCall call_;
  MpiRequest request_;
};

}  // namespace fourfold::inline engine::inline mpi
