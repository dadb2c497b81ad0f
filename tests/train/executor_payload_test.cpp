// Bytes that the executor really hands to MPI, intercepted through PMPI, are those of the counted
// rung: by channel, to the byte, whether shapes divide or not.
#include <gtest/gtest.h>

#include "tests/pmpi_counter.hpp"
#include "tests/schedule/steps.hpp"
#include "tests/train/one_run.hpp"

namespace fourfold::tests {
namespace {

// One step's traffic, by channel.
std::vector<MpiTraffic> traffic_of_a_step(const Case& what, TransportKind transport) {
  ReferenceBackend backend;
  OneRun run(what, {transport, ProgressMode::none}, backend);
  reset_mpi_traffic();
  run.step(1);
  std::vector<MpiTraffic> traffic;
  for (const Channel& channel : run.schedule.program.channels) {
    const auto found = mpi_traffic().find("channel " + name(channel));
    traffic.push_back(found == mpi_traffic().end() ? MpiTraffic{} : found->second);
  }
  return traffic;
}

Counts expected_of(const Case& what) {
  return counted(what.model, what.options, what.grid, what.sequences).counts;
}

// On every grid, with options drawn anew: a model that every grid divides, and one whose vocabulary
// and whose pieces along z do not.
std::vector<Case> cases() {
  std::mt19937 random(3);
  std::vector<Case> result;
  for (const ProcessGrid& grid : grids_of_all_ranks()) {
    for (std::int64_t vocabulary : {64, 11}) {
      Case what;
      what.model.vocabulary = vocabulary;
      if (vocabulary == 11) what.model.sequence = 3;
      what.grid = grid;
      what.options = random_options(random, 1 + static_cast<std::int64_t>(random() % 2));
      what.options.precision = random() % 2 == 0 ? Precision::fp32 : Precision::bf16;
      what.sequences = 8 * what.options.micro_batches;
      result.push_back(what);
    }
  }
  return result;
}

TEST(ExecutorPayload, OfTheLibrarysCollectivesIsCountedToTheByte) {
  for (const Case& what : cases()) {
    const auto traffic = traffic_of_a_step(what, TransportKind::library);

    const Counts expected = expected_of(what);
    ASSERT_EQ(traffic.size(), expected.payload.size());
    for (std::size_t i = 0; i < traffic.size(); ++i) {
      EXPECT_EQ(static_cast<double>(traffic[i].whole_buffers), expected.payload[i].value)
          << what.grid.str() << " channel " << i << " " << described(what.options);
      EXPECT_EQ(traffic[i].collectives, expected.collectives[i]);
      EXPECT_EQ(traffic[i].sent, 0);
    }
  }
}

// Where a buffer does not divide among the members, some send a piece's remainder more than others:
// the counted rung states their mean, so that a line's members together send exactly that.
void expect_rings_counted(const Case& what) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  const auto traffic = traffic_of_a_step(what, TransportKind::ring);

  const Counts expected = expected_of(what);
  ASSERT_EQ(traffic.size(), expected.payload.size());
  for (std::size_t i = 0; i < traffic.size(); ++i) {
    std::int64_t sent = traffic[i].sent;
    MPI_Allreduce(MPI_IN_PLACE, &sent, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(static_cast<double>(sent), expected.sent[i].value * static_cast<double>(ranks))
        << what.grid.str() << " channel " << i << " " << described(what.options);
    EXPECT_EQ(traffic[i].collectives, 0);
  }
}

TEST(ExecutorPayload, OfRingsAndOfBucketsIsCountedToTheByte) {
  std::int64_t number = 0;
  for (Case what : cases()) {
    expect_rings_counted(what);
    what.options.zero = number++ % 4;
    what.options.data_bucket = 13 * what.model.hidden * what.model.hidden;
    expect_rings_counted(what);
  }
}

// Of a stage's devices.
Counts expected_of(const Case& what, const Stage& stage) {
  return counted(folded_step(what.model, what.options, stage), what.grid,
                 what.sequences * what.model.sequence / what.options.micro_batches)
      .counts;
}

// Both ends of a message count it; its first member is the one that sends it. Of 8 ranks each grid
// tries one order.
TEST(ExecutorPayload, OfMessagesIsCountedToTheByte) {
  std::mt19937 random(7);
  std::int64_t number = 0;
  for (const ProcessGrid& grid : pipelines_of_all_ranks(4)) {
    if (grid.size() > 4) ++number;
    for (const PipelineOrder order : {PipelineOrder::one_f_one_b, PipelineOrder::interleaved,
                                      PipelineOrder::zero_bubble, PipelineOrder::message_driven}) {
      if (grid.size() > 4 && number++ % 4 != 0) continue;
      Case what;
      what.grid = grid;
      what.model.layers = 9;
      what.options = random_options(random, grid.extent(Axis::pipe));
      what.options.chunks = order == PipelineOrder::interleaved ? 2 : 1;
      what.options.order = order;
      what.options.cut_messages = random() % 2 == 0;
      what.sequences = 8 * what.options.micro_batches;
      const std::int64_t rank = rank_in(MPI_COMM_WORLD);
      const auto traffic = traffic_of_a_step(what, TransportKind::library);

      const Counts expected = expected_of(what, stage_of(grid, rank));
      std::int64_t messages = 0;
      for (std::size_t i = 0; i < traffic.size(); ++i) {
        SCOPED_TRACE(described(what.options) + " " + grid.str() + " " + name(expected.channels[i]));
        const Group kind = expected.channels[i].group;
        if (kind == Group::line || kind == Group::ends) {
          EXPECT_EQ(static_cast<double>(traffic[i].whole_buffers), expected.payload[i].value);
          EXPECT_EQ(traffic[i].collectives, expected.collectives[i]);
          EXPECT_EQ(traffic[i].sent, 0);
          continue;
        }
        const bool sends = group(expected.channels[i], grid, rank).front() == rank;
        EXPECT_EQ(static_cast<double>(traffic[i].sent), sends ? expected.payload[i].value : 0.0);
        EXPECT_EQ(traffic[i].messages, sends ? expected.collectives[i] : 0);
        messages += expected.collectives[i];
      }
      EXPECT_GT(messages, 0);
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
