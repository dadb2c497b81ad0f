// The walk of all stages of a pipeline by their legs: what a stage does between two meetings is
// walked once and then added; see walk.hpp for what it must equal.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/fold/pipeline.hpp"
#include "sim/cost/lower.hpp"
#include "sim/question/outcome.hpp"

namespace fourfold::inline sim::inline estimate {

// A leg costs the same wherever it begins with nothing under way on the stage's own channels. Where
// something is, its cost depends on when that will be done: what was walked is remembered, and
// holds again where everything under way is as far as it was, or arrives before it is needed both
// times.
class PipelineWalk {
 public:
  // Reuses storage, never results.
  Outcome walk(const Pipeline& pipeline, const TimedBodies& bodies);

  // Legs that had to be walked step by step the last time.
  std::int64_t walked() const { return walked_; }

 private:
  // A collective class of a kind of stages: what it and compute beside it lose to each other grows
  // with that compute up to `beside`, and is `most` from there on.
  struct OfClass {
    double duration = 0.0;
    double beside = 0.0;
    InterferenceCharge most;
    Interference lost;
  };
  // A post on one of the stage's own channels that has not been waited for.
  struct Pending {
    ChannelNumber channel = 0;
    std::int32_t carried = -1;  // its place among what was under way at the leg's beginning
    double finish = 0.0;
    double duration = 0.0;
    double compute_before = 0.0;
    Interference lost;
  };
  // What was under way where a leg began and had something to do with it.
  struct Found {
    std::size_t place = 0;  // among all that was under way
    double duration = 0.0;
    double beside = 0.0;  // compute since it was posted, as far as it makes a difference
    double finish = 0.0;  // from the leg's beginning, as far as it matters
    double latest = 0.0;  // until when it might have been under way with the same result
    double lost = 0.0;    // of its speed, beside kernels
    bool touched = false;
    bool awaited = false;
  };
  struct Exposed {
    ChannelNumber channel = 0;
    double seconds = 0.0;
  };
  // A leg as it was walked.
  struct Passage {
    double seconds = 0.0;
    double compute = 0.0;
    std::int64_t count = 0;
    bool in_time = true;                  // nothing that was under way held it up
    std::uint64_t before = 0, after = 0;  // the channels of what was under way, as one number
    std::vector<Found> found;
    std::vector<Pending> left;  // times from the leg's end, but for what was carried
    std::vector<Exposed> exposed;
  };
  // Of a leg: whether it begins and ends with nothing under way, and then all there is to know.
  struct LegTimes {
    double seconds = 0.0;
    double compute = 0.0;
    std::int64_t passed = 0;  // times that are counted with a passage
    bool simple = false;
    std::int32_t first = -1;  // passage with nothing under way before it
    std::vector<std::int32_t> others;
  };
  struct StageClock {
    double now = 0.0;
    double compute = 0.0;
    LegTimes* legs = nullptr;
    const OfClass* classes = nullptr;  // by collective class; -1 is none
    std::int32_t first_body = 0;
    std::size_t kind = 0;
    std::uint64_t channels = 0;    // of what is pending, as one number
    std::vector<Pending> pending;  // in the order of their posts
  };
  struct Range {
    std::int32_t first = 0;
    std::int32_t last = 0;
  };

  void begin(const Pipeline& pipeline, const TimedBodies& bodies);
  void divide(const TimedBodies& bodies);
  OfClass of_class(const TimedCollective& collective) const;
  void pass(StageClock& stage, const Leg& leg, LegTimes& times);
  bool holds(const Passage& passage, const StageClock& stage) const;
  double ahead_of(const Pending& pending, double now) const;
  double beside_of(const Pending& pending, double compute) const;
  std::int32_t walk(const StageClock& stage, const Leg& leg);
  void step(const TimedStep& step, Passage& passage);
  void wait(const TimedStep& step, Passage& passage);
  static void touch(const Pending& pending, double finish, Passage& passage);
  void apply(Passage& passage, StageClock& stage);
  Outcome outcome(const Pipeline& pipeline, const TimedBodies& bodies) const;

  const TimedProgram* program_ = nullptr;
  std::vector<std::int32_t> first_part_;  // by body of the program
  std::vector<Range> parts_;              // of its steps
  std::vector<LegTimes> legs_;            // kind after kind
  std::vector<std::size_t> first_leg_;    // by kind
  std::vector<Passage> passages_;
  std::size_t used_ = 0;  // of the passages
  std::vector<StageClock> stages_;
  std::vector<OfClass> classes_;          // kind after kind, none before the first of each
  std::vector<std::size_t> first_class_;  // by kind
  std::vector<double> posted_, finish_;   // by number: when the last so far posted, and the end
  std::vector<double> compute_mark_;      // by own post
  std::vector<double> exposed_;           // by channel, of meetings
  double bubble_ = 0.0;
  std::vector<Pending> next_pending_;  // scratch
  std::int64_t walked_ = 0;
};

}  // namespace fourfold::inline sim::inline estimate
