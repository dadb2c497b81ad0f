// Which sentence sums up a run, at the edges between them, and every span of small timelines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sim/cost/lower.hpp"
#include "sim/explain/explanation.hpp"
#include "sim/explain/timeline.hpp"
#include "sim/explain/trace.hpp"
#include "tests/channels.hpp"

namespace fourfold::tests {
namespace {

using ::testing::StartsWith;

// A step of 10 s: 4 s of products at half of their peak, 1 s of attention, and 3 s exposed.
Explanation made_up() {
  Explanation one;
  one.outcome = Outcome(made_up_channels());
  one.outcome.total = {10.0};
  one.kernels = {Seconds{4.0}, Seconds{1.0}, Seconds{1.0}, Seconds{1.0}};
  one.outcome.compute = {7.0};
  one.outcome.exposed[on::x] = {1.0};
  one.outcome.exposed[on::y] = {2.0};
  one.channels.resize(5);
  one.channels[on::y].busy = {8.0};
  one.channels[on::y].latency = {2.0};
  one.gemm_rate = {50e12};
  one.empirical_peak = {100e12};
  one.ideals = {{"network", "", {7.5}, ""}, {"overlap", "", {8.0}, ""}};
  return one;
}

TEST(Verdict, NamesWhatTakesMost) {
  const Explanation one = made_up();

  EXPECT_EQ(one.verdict(),
            "This run is limited by matrix products: 40.0 % of the step, done at 50.0 % of the "
            "empirical peak; 30.0 % is exposed communication, most of it along y.");
}

TEST(Verdict, OfAnotherKernelHasNoPeak) {
  Explanation one = made_up();
  one.kernels[1 + functions::family_number(functions::attention)] = {4.5};

  EXPECT_EQ(one.verdict(),
            "This run is limited by attention: 45.0 % of the step; 30.0 % is exposed "
            "communication, most of it along y.");
}

TEST(Verdict, IsCommunicationFromWhereItIsMoreThanTheBusiestKernel) {
  Explanation one = made_up();
  one.outcome.exposed[on::y] = {3.0};
  EXPECT_THAT(one.verdict(), StartsWith("This run is limited by matrix products"));  // 4 and 4
  one.outcome.exposed[on::y] = {3.125};

  EXPECT_EQ(one.verdict(),
            "Communication limits this run, most of all along y: 31.2 % of the step is exposed "
            "there, and 75 % of that lane's time is bandwidth; a network that takes no time would "
            "save 25.0 %.");
  one.channels[on::y].latency = {6.0};
  EXPECT_NE(one.verdict().find("and 75 % of that lane's time is latency"), std::string::npos);
  one.channels[on::y].latency = {16.0};
  EXPECT_NE(one.verdict().find("and 100 % of that lane's time is latency"), std::string::npos);
}

TEST(Verdict, IsThePipelineWhereHalfOfTheWaitsAreItsBubble) {
  Explanation one = made_up();
  one.outcome.bubble = {1.75};

  EXPECT_EQ(one.verdict(),
            "This run is limited by matrix products: 40.0 % of the step, done at 50.0 % of the "
            "empirical peak; 17.5 % is the pipeline's bubble, 12.5 % exposed communication.");
  one.outcome.bubble = {1.5};
  EXPECT_NE(one.verdict().find("most of it along y"), std::string::npos);
  one.kernels[0] = {2.5};
  one.outcome.bubble = {1.75};
  EXPECT_EQ(one.verdict(),
            "The pipeline limits this run: stages wait for each other during 17.5 % of the step; "
            "more micro-batches or fewer stages would shorten that.");
}

TEST(Verdict, IsSlowDevicesWhereOthersWaitForThemMostOfTheTime) {
  Explanation one = made_up();
  one.slower_devices = {0.5};
  one.channels[on::x].waiting = {0.5};
  one.channels[on::y].waiting = {1.0};
  EXPECT_THAT(one.verdict(), StartsWith("This run is limited by"));  // 1.5 of 3
  one.channels[on::y].waiting = {1.25};

  EXPECT_EQ(one.verdict(),
            "Slower devices limit this run: the others wait for them during 17.5 % of the step.");
  one.ideals.push_back({"without_slow_devices", "", {8.75}, ""});
  EXPECT_EQ(one.verdict(),
            "Slower devices limit this run: the others wait for them during 17.5 % of the step; "
            "they cost 1.250 s, 12.5 % of it.");
}

TEST(Verdict, OfARunThatExposesNothingSaysSo) {
  Explanation one = made_up();
  one.outcome.exposed.assign(5, {});

  EXPECT_EQ(one.verdict(),
            "This run is limited by matrix products: 40.0 % of the step, done at 50.0 % of the "
            "empirical peak; no communication is exposed.");
}

TEST(Parts, OfAPipelineTellItsMessagesFromItsBubble) {
  Explanation one = made_up();
  one.outcome.channels.push_back(forward_from(0, 2));
  one.outcome.channels.push_back(backward_from(1));
  one.outcome.exposed.push_back({0.5});
  one.outcome.exposed.push_back({0.25});
  one.outcome.bubble = {0.125};
  one.interference = {0.0625};
  one.last_device = {0.03125};
  one.channels[on::y].waiting = {0.015625};

  std::map<std::string, double> parts;
  for (const auto& [name, time] : one.parts()) parts[name] = time.value;

  EXPECT_EQ(parts.at("exposed messages between stages"), 0.625);
  EXPECT_EQ(parts.at("pipeline bubble"), 0.125);
  EXPECT_EQ(parts.at("interference of collectives with kernels"), 0.0625);
  EXPECT_EQ(parts.at("until the last device ends"), 0.03125);
  EXPECT_EQ(parts.at("attention"), 1.0);
  EXPECT_EQ(parts.at("exposed communication, y"), 2.0 - 0.015625);
  EXPECT_EQ(parts.at("waiting for the last member of a group"), 0.015625);
  EXPECT_EQ(parts.size(), 4U + 3 + 5 + 1 + 2 + 1);
}

// Spans of a lane come one after the other; each names what its section does.
TEST(Timeline, SpansOfALaneComeOneAfterTheOther) {
  Point point;
  point.platform = "crossbar";
  point.model = {"tiny", 9, 256, 8, 64, 512};
  point.grid = {2, 1, 2, 1};
  point.global_batch = 64;
  point.options.micro_batches = 8;
  Point piped = point;
  piped.grid = {1, 1, 1, 1, 3};
  piped.options.micro_batches = 9;
  piped.global_batch = 9;
  for (const Point& one : {point, piped}) {
    const Platform platform = read_platform(one.platform);
    const TimedProgram program = lower(one, platform);
    const ProgramDetail detail(one, platform, program);
    for (std::int64_t stage = 0; stage < one.grid.extent(Axis::pipe); ++stage) {
      const DeviceLog log = estimated_log(program, stage);
      std::map<std::pair<std::string, int>, double> ends;
      double kernels = 0.0;
      const std::vector<Span> spans =
          timeline(log, detail, LoggedRepetitions::all(program), Repeated::all, stage);
      for (const Span& span : spans) {
        const NamedSection& section = detail.sections().at(static_cast<std::size_t>(span.section));
        EXPECT_TRUE(section.layer >= -1 && section.layer < one.model.layers);
        EXPECT_TRUE(span.micro_batch >= -1 && span.micro_batch < one.options.micro_batches);
        EXPECT_LE(span.start.value, span.end.value);
        EXPECT_LE(span.end.value, log.end * (1.0 + 1e-9));
        double& end = ends[{name(span.kind), span.channel}];
        EXPECT_GE(span.start.value, end - 1e-9) << name(span.kind) << span.channel;
        end = span.end.value;
        if (name(span.kind) == std::string("kernel")) {
          kernels += (span.end - span.start).value;
          EXPECT_GE(span.name, 0) << "a kernel has a name";
        }
      }
      EXPECT_GT(kernels, 0.0);
      EXPECT_LT(kernels, log.end);
    }
  }
}

// A file of at most so many spans is whole, whoever's they are.
TEST(Trace, IsSampledFromOneSpanTooMany) {
  Point point;
  point.platform = "crossbar";
  point.model = {"tiny", 3, 256, 8, 64, 512};
  point.grid = {2, 1, 2, 1};
  point.global_batch = 64;
  const Platform platform = read_platform(point.platform);
  const TimedProgram program = lower(point, platform);
  const ProgramDetail detail(point, platform, program);
  const std::int64_t devices = most_spans / detail.span_count();

  EXPECT_EQ(repeated_in_trace(detail, devices), Repeated::all);
  EXPECT_EQ(repeated_in_trace(detail, devices + 1), Repeated::sampled);
}

}  // namespace
}  // namespace fourfold::tests
