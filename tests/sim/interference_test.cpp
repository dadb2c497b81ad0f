// What the static charge of interference is worth: exact for a collective beside kernels, and on
// whole steps compared with rates that change while both run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "schedule/models/model_file.hpp"
#include "sim/cost/protocol.hpp"
#include "sim/estimate/estimate.hpp"
#include "tests/points.hpp"
#include "tests/sim/programs.hpp"

namespace fourfold::tests {
namespace {

// One device of a program of one stage: channels serve their posts in turn, and while a kernel and
// a collective run side by side each has what the other leaves it.
class Fluid {
 public:
  explicit Fluid(const TimedProgram& program) : p_(program), channels_(program.channels.size()) {}

  double seconds() {
    for (const TimedStep& step : unrolled_steps(p_)) {
      if (step.kind == StepKind::compute) {
        compute(step.duration.value);
        continue;
      }
      Channel& channel = channels_[static_cast<std::size_t>(step.channel)];
      if (step.kind == StepKind::post) {
        ++channel.posted;
        const auto& posted = p_.collectives[static_cast<std::size_t>(step.collective)];
        channel.left.push_back({posted.uncontended.value, posted.lost});
      } else {
        const std::int64_t awaited = channel.posted - 1 - step.back;
        while (channel.done() <= awaited) advance(next_end(Beside::nothing), Beside::nothing);
      }
    }
    return now_;
  }

 private:
  enum class Beside : std::uint8_t { nothing, kernels };
  struct Posted {
    double left;  // seconds, alone
    Interference lost;
  };
  struct Channel {
    std::deque<Posted> left;
    std::int64_t posted = 0;
    std::int64_t done() const { return posted - std::ssize(left); }
  };

  // What a channel does of its collective in a second.
  static double speed(const Posted& posted, Beside beside) {
    return beside == Beside::kernels ? 1.0 - posted.lost.of_collectives : 1.0;
  }

  double next_end(Beside beside) const {
    double first = std::numeric_limits<double>::infinity();
    for (const Channel& channel : channels_) {
      if (channel.left.empty()) continue;
      first = std::min(first, channel.left.front().left / speed(channel.left.front(), beside));
    }
    return first;
  }

  void compute(double left) {
    while (left > 0.0) {
      double kernels = 1.0;
      for (const Channel& channel : channels_) {
        if (channel.left.empty()) continue;
        kernels = std::min(kernels, 1.0 - channel.left.front().lost.of_kernels);
      }
      const double end = next_end(Beside::kernels);
      const double until = left / kernels;
      const bool over = until <= end;
      advance(over ? until : end, Beside::kernels);
      left = over ? 0.0 : left - end * kernels;
    }
  }

  void advance(double seconds, Beside beside) {
    now_ += seconds;
    for (Channel& channel : channels_) {
      if (channel.left.empty()) continue;
      Posted& first = channel.left.front();
      first.left -= seconds * speed(first, beside);
      if (first.left < 1e-12) channel.left.pop_front();
    }
  }

  const TimedProgram& p_;
  std::vector<Channel> channels_;
  double now_ = 0.0;
};

// A collective of `flight` seconds posted before kernels of `kernels` seconds, and awaited.
TimedProgram pair_of(double flight, double kernels, Interference lost) {
  TimedProgram p;
  p.channels = made_up_channels();
  p.collectives = {{0, {}, {}, {flight}}};
  p.collectives[0].lost = lost;
  p.steps = {{StepKind::post, 0, 0, 0, {}},
             {StepKind::compute, {}, -1, 0, {kernels}},
             {StepKind::wait, 0, -1, 0, {}}};
  p.runs = {{0, 3, 5}};
  p.cycles = {{0, 1, 1}};
  return p;
}

TEST(Interference, OfACollectiveBesideKernelsIsThatOfRatesThatChange) {
  for (const Interference lost : {Interference{0.159, 0.74}, {0.4, 0.1}, {0.0, 0.5}, {0.3, 0.0}}) {
    for (const double kernels : {0.01, 0.3, 0.9, 1.0, 1.1, 2.0, 3.0, 3.5, 50.0}) {
      const TimedProgram p = pair_of(1.0, kernels, lost);
      EXPECT_NEAR(estimate_step(p).total.value, Fluid(p).seconds(), 1e-9)
          << lost.of_kernels << " " << lost.of_collectives << " " << kernels;
    }
  }
}

// The error on a step of 1,024 devices, without links that are shared, as docs/accuracy.md has it.
TEST(Interference, ChargedStaticallyIsNearRatesThatChangeOnAWholeStep) {
  for (const char* machine : {"perlmutter", "frontier"}) {
    for (const ProcessGrid grid :
         {ProcessGrid(1, 1, 128, 8), ProcessGrid(2, 2, 32, 8), ProcessGrid(4, 1, 64, 4)}) {
      const Point point =
          made_up_point(machine, {"gpt-10b", 32, 5120, 40, 2048, 51200}, grid, 8192);
      const TimedProgram program = lower(point, read_platform(machine));

      const double charged = estimate_step(program).total.value;
      const double faithful = Fluid(program).seconds();

      EXPECT_NEAR(charged, faithful, 0.03 * faithful) << machine << " " << grid.str();
    }
  }
}

// What was measured over nodes was so at the machine's plateaus: what its bytes need there follows
// a plateau that is scaled, latency stays.
TEST(MeasuredOverNodes, FollowAScaledPlateauWithTheirBytesAlone) {
  const CollectiveLibrary was = read_platform("frontier").library;
  for (const double factor : {0.5, 4.0}) {
    const CollectiveLibrary is =
        read_platform("frontier", {{"library.across.bus_bandwidth_GBps", factor}}).library;
    ASSERT_EQ(is.measured.size(), was.measured.size());
    for (std::size_t t = 0; t < was.measured.size(); ++t) {
      const MeasuredCollectives& table = was.measured[t];
      ASSERT_TRUE(table.over_nodes() && table.devices == was.across.back().devices);
      for (std::size_t i = 0; i < table.rows.size(); ++i) {
        const double whole = table.rows[i].time.value;
        const double bytes = table.rows[i].bytes * part_sent(table.kind, table.members);
        const double stream = std::min(whole, bytes / was.across.back().bus_bandwidth.value);
        EXPECT_NEAR(is.measured[t].rows[i].time.value, whole - stream + stream / factor,
                    1e-9 * whole);
      }
    }
  }
}

// Rings pass pieces: what was measured comes back, and a ring twice as long takes twice as many
// hops.
TEST(MeasuredOverNodes, TakeAsLongAHopAtOnePieceWhateverTheLength) {
  const CollectiveLibrary library = read_platform("frontier").library;
  const auto seconds = [&](const MeasuredCollectives& table, std::int64_t members, double bytes) {
    const GroupShape shape{members, members / table.devices, 1};
    const CollectiveTask task{table.kind, {bytes}, shape, {1e12}, table.devices};
    return choose_collective(library, task, {}).uncontended.value;
  };
  for (const MeasuredCollectives& table : library.measured) {
    for (const MeasuredCollectives::Row& row : table.rows) {
      const double piece = row.bytes / static_cast<double>(table.members);
      if (piece >= library.cliff->from.value) continue;
      EXPECT_NEAR(seconds(table, table.members, row.bytes), row.time.value, 1e-6 * row.time.value)
          << name(table.kind) << " " << table.members << " " << row.bytes;
      double hop = 0.0;
      for (const std::int64_t members : {512, 1024, 2048, 8192}) {
        const auto hops = static_cast<double>(members - 1);
        const double one = seconds(table, members, piece * static_cast<double>(members)) / hops;
        if (hop > 0.0) {
          EXPECT_NEAR(one, hop, 1e-9 * hop) << members;
        }
        hop = one;
      }
    }
  }
}

// What kernels take from copies inside nodes shows more, the faster the NICs are, but takes no more
// than the NICs gain. (1.5 %: where the library turns to its low-latency protocol, not knowing that
// kernels slow it more.)
TEST(Interference, MakesNoStepSlowerOnFasterNics) {
  for (const ProcessGrid grid : {ProcessGrid(2, 1, 128, 32), ProcessGrid(1, 1, 256, 32)}) {
    const Point point = made_up_point("frontier", read_model("gpt-80b"), grid, 8192);
    double before = std::numeric_limits<double>::infinity();
    for (const double factor : {0.5, 1.0, 2.0, 3.0, 4.0, 8.0, 64.0}) {
      const double seconds =
          estimate_step(
              lower(point, read_platform("frontier",
                                         {{"node.nics.bandwidth_GBps", factor},
                                          {"library.across.bus_bandwidth_GBps", factor},
                                          {"library.across_at_once.bus_bandwidth_GBps", factor}})))
              .total.value;
      EXPECT_LE(seconds, before * 1.015) << grid.str() << " " << factor;
      before = seconds;
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
