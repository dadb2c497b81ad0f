// The intercepted functions; see pmpi_counter.hpp.
#include "tests/pmpi_counter.hpp"

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <array>
#include <cstddef>
#include <numeric>

namespace fourfold::tests {
namespace {

std::map<std::string, MpiTraffic>& counted() {
  static std::map<std::string, MpiTraffic> traffic;
  return traffic;
}

MpiTraffic& traffic_of(MPI_Comm communicator) {
  std::array<char, MPI_MAX_OBJECT_NAME> text{};
  int length = 0;
  PMPI_Comm_get_name(communicator, text.data(), &length);
  return counted()[std::string(text.data(), static_cast<std::size_t>(length))];
}

std::int64_t bytes_of(std::int64_t count, MPI_Datatype type) {
  int width = 0;
  PMPI_Type_size(type, &width);
  return count * width;
}

void count_collective(std::int64_t elements, MPI_Datatype type, MPI_Comm communicator) {
  MpiTraffic& traffic = traffic_of(communicator);
  ++traffic.collectives;
  traffic.whole_buffers += bytes_of(elements, type);
}

struct Place {
  const void* data;
  std::int64_t bytes;

  const std::byte* begin() const { return static_cast<const std::byte*>(data); }
  const std::byte* end() const { return begin() + bytes; }
};

// Where messages under way lie, by the request that stands for them.
using UnderWay = std::map<const MPI_Request*, Place>;
struct Messages {
  UnderWay sends, receives;
};
Messages& messages() {
  static Messages all;
  return all;
}

void note_message(UnderWay& own, const UnderWay& others, const Place& place,
                  const MPI_Request* request, MPI_Comm communicator) {
  for (const auto& [other, used] : others) {
    if (used.begin() < place.end() && place.begin() < used.end()) {
      ++traffic_of(communicator).clashes;
    }
  }
  own.insert_or_assign(request, place);
}

std::int64_t summed(const int* counts, MPI_Comm communicator) {
  int members = 0;
  PMPI_Comm_size(communicator, &members);
  return std::accumulate(counts, counts + members, std::int64_t{0});
}

}  // namespace

const std::map<std::string, MpiTraffic>& mpi_traffic() {
  return counted();
}
void reset_mpi_traffic() {
  counted().clear();
}

}  // namespace fourfold::tests

extern "C" {

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm communicator, MPI_Request* request) {
  fourfold::tests::MpiTraffic& traffic = fourfold::tests::traffic_of(communicator);
  ++traffic.messages;
  traffic.sent += fourfold::tests::bytes_of(count, type);
  fourfold::tests::note_message(
      fourfold::tests::messages().sends, fourfold::tests::messages().receives,
      {data, fourfold::tests::bytes_of(count, type)}, request, communicator);
  return PMPI_Isend(data, count, type, to, tag, communicator, request);
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm communicator,
              MPI_Request* request) {
  fourfold::tests::note_message(
      fourfold::tests::messages().receives, fourfold::tests::messages().sends,
      {data, fourfold::tests::bytes_of(count, type)}, request, communicator);
  return PMPI_Irecv(data, count, type, from, tag, communicator, request);
}

int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  const int result = PMPI_Test(request, done, status);
  if (*done != 0) {
    fourfold::tests::messages().sends.erase(request);
    fourfold::tests::messages().receives.erase(request);
  }
  return result;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  fourfold::tests::messages().sends.erase(request);
  fourfold::tests::messages().receives.erase(request);
  return PMPI_Wait(request, status);
}

int MPI_Iallreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op operation,
                   MPI_Comm communicator, MPI_Request* request) {
  fourfold::tests::count_collective(count, type, communicator);
  return PMPI_Iallreduce(send, receive, count, type, operation, communicator, request);
}

int MPI_Iallgatherv(const void* send, int count, MPI_Datatype type, void* receive,
                    const int* counts, const int* firsts, MPI_Datatype receive_type,
                    MPI_Comm communicator, MPI_Request* request) {
  fourfold::tests::count_collective(fourfold::tests::summed(counts, communicator), receive_type,
                                    communicator);
  return PMPI_Iallgatherv(send, count, type, receive, counts, firsts, receive_type, communicator,
                          request);
}

int MPI_Ireduce_scatter(const void* send, void* receive, const int* counts, MPI_Datatype type,
                        MPI_Op operation, MPI_Comm communicator, MPI_Request* request) {
  fourfold::tests::count_collective(fourfold::tests::summed(counts, communicator), type,
                                    communicator);
  return PMPI_Ireduce_scatter(send, receive, counts, type, operation, communicator, request);
}

}  // extern "C"
