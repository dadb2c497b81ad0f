// Every transport, collective, precision and odd size against plain loops, bit by bit where the
// order of sums is ours.
#include <gtest/gtest.h>

#include "engine/mpi/handles.hpp"
#include "engine/mpi/lanes.hpp"
#include "tests/mpi/reference_line.hpp"

namespace fourfold {
namespace {

std::vector<std::int64_t> odd_sizes(std::int64_t members) {
  return {0, 1, members - 1, members, members + 1, 2 * members + 1, 127, 1009, 65537, 600011};
}

constexpr std::array<CollectiveKind, 3> kinds{
    CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce};

std::string described(const CollectiveCall& call, std::int64_t elements) {
  return std::string(name(call.kind)) + (call.owed == Owed::sum ? " sum " : " max ") +
         name(call.send.precision) + " of " + std::to_string(elements);
}

class EveryCollective : public testing::TestWithParam<Transport> {};

TEST_P(EveryCollective, GivesTheBitsOfTheDocumentedOrder) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  Lanes lanes(ProcessGrid(ranks, 1, 1, 1), GetParam(), ProgressMode::none);
  Communicator& lane = lanes[Lane::x];
  for (std::int64_t elements : odd_sizes(ranks)) {
    for (CollectiveKind kind : kinds) {
      for (Precision precision : {Precision::fp32, Precision::bf16}) {
        for (Owed owed : {Owed::sum, Owed::max}) {
          const bool gather = kind == CollectiveKind::all_gather;
          if (gather && owed == Owed::max) continue;
          Trial trial(kind, owed, precision, elements, ranks, lane.position());

          lane.finish(lane.start(trial.call));

          EXPECT_TRUE(trial.equal()) << described(trial.call, elements);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ours, EveryCollective, testing::Values(Transport::ring, Transport::window),
                         [](const auto& info) { return name(info.param); });

}  // namespace
}  // namespace fourfold
