// Unrolls loops, and refuses programs that cannot be walked.
#include "sim/replay/issue_stream.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "sim/replay/stream_writer.hpp"

namespace fourfold::inline sim::inline replay {

namespace {

void require(bool holds, const std::string& sentence) {
  if (!holds) throw std::invalid_argument(sentence);
}

class Unroller {
 public:
  Unroller(const TimedProgram& program, const ProcessGrid& grid)
      : program_(program), writer_(program, grid) {}

  IssueStream unroll(const StageCycles& stage, const Repetitions& repetitions) {
    for (std::int32_t c = stage.first; c < stage.last; ++c) {
      const RunCycle& cycle = program_.cycles[c];
      for (std::int64_t i = 0; i < repetitions.cycles[c]; ++i) {
        const bool last = i + 1 == repetitions.cycles[c];
        const double weight =
            last ? 1.0 + static_cast<double>(cycle.repeats - repetitions.cycles[c]) : 1.0;
        Segment segment;
        segment.cycle = c;
        segment.cycle_repetition = i;
        segment.weight = weight;
        for (std::int32_t r = cycle.first; r < cycle.last; ++r) {
          segment.run = r;
          walk_run(segment, repetitions.runs[r]);
        }
      }
    }
    return std::move(writer_.stream);
  }

 private:
  void walk_run(Segment segment, std::int64_t walked) {
    const StepRun& run = program_.runs[segment.run];
    const double cycle_weight = segment.weight;
    const bool cut = walked < run.repeats;
    for (std::int64_t i = 0; i < walked; ++i) {
      for (std::int32_t s = run.first; s < run.last; ++s) writer_.write(program_.steps[s]);
      const bool last = i + 1 == walked;
      if (!cut && !last) continue;
      segment.run_repetition = i;
      segment.run_weight = last ? 1.0 + static_cast<double>(run.repeats - walked) : 1.0;
      segment.weight = cycle_weight * segment.run_weight;
      writer_.close(segment);
    }
  }

  const TimedProgram& program_;
  StreamWriter writer_;
};

void check_post(const TimedProgram& program, const TimedStep& step) {
  require(step.collective >= 0 &&
              step.collective < static_cast<std::int64_t>(program.collectives.size()),
          "The program posts a collective that it does not describe.");
  const TimedCollective& collective = program.collectives[step.collective];
  require(collective.channel == step.channel,
          "The program posts a collective on a channel that is not its own.");
  require(collective.cost.delay.value >= 0.0 && collective.cost.work.value >= 0.0 &&
              collective.cost.rate_cap.value > 0.0,
          "The program posts a collective with a negative cost, or with a rate cap of zero.");
}

void check_step(const TimedProgram& program, const ProcessGrid& grid, const TimedStep& step) {
  if (step.kind == StepKind::choose) return;
  if (step.kind == StepKind::compute) {
    require(std::isfinite(step.duration.value) && step.duration.value >= 0.0,
            "The program has a compute step whose duration is not a number of seconds.");
    return;
  }
  require(step.channel >= 0 && step.channel < static_cast<ChannelNumber>(program.channels.size()),
          "The program posts on a channel that it does not declare.");
  if (members(program.channels[step.channel], grid) == 1) return;
  if (step.kind == StepKind::wait) {
    require(step.back >= 0 || step.back == oldest_post,
            "The program waits for a collective of the future.");
  } else {
    check_post(program, step);
  }
}

}  // namespace

void refuse_unsound(const TimedProgram& program, const ProcessGrid& grid) {
  const auto steps = static_cast<std::int64_t>(program.steps.size());
  const auto runs = static_cast<std::int64_t>(program.runs.size());
  for (const TimedStep& step : program.steps) check_step(program, grid, step);
  for (const StepRun& run : program.runs) {
    require(0 <= run.first && run.first <= run.last && run.last <= steps && run.repeats >= 1,
            "A run of the program names steps that do not exist, or has no repetition.");
  }
  for (const RunCycle& cycle : program.cycles) {
    require(
        0 <= cycle.first && cycle.first <= cycle.last && cycle.last <= runs && cycle.repeats >= 1,
        "A cycle of the program names runs that do not exist, or has no repetition.");
  }
  const auto cycles = static_cast<std::int32_t>(program.cycles.size());
  const std::vector<StageCycles> stages = program.by_stage();
  std::int32_t next = 0;
  for (const StageCycles& stage : stages) {
    require(stage.first == next && stage.first <= stage.last && stage.last <= cycles,
            "A stage of the program names cycles that do not exist, or that are another stage's.");
    next = stage.last;
  }
  require(static_cast<std::int64_t>(stages.size()) == grid.extent(Axis::pipe),
          "The program has " + std::to_string(stages.size()) + " stages, but the grid " +
              grid.str() + " has " + std::to_string(grid.extent(Axis::pipe)) + ".");
}

Repetitions Repetitions::full(const TimedProgram& program) {
  Repetitions repetitions;
  for (const StepRun& run : program.runs) repetitions.runs.push_back(run.repeats);
  for (const RunCycle& cycle : program.cycles) repetitions.cycles.push_back(cycle.repeats);
  return repetitions;
}

namespace {

bool alike(const CollectiveCost& a, const CollectiveCost& b) {
  return a.delay.value == b.delay.value && a.work.value == b.work.value &&
         a.rate_cap.value == b.rate_cap.value;
}

// What joins stages is posted by all members alike, message by message.
void refuse_unmatched(const TimedProgram& program, const std::vector<IssueStream>& streams) {
  const auto stages = static_cast<std::int64_t>(streams.size());
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    const Channel& channel = program.channels[c];
    if (channel.axis != Axis::pipe || stages == 1) continue;
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      const std::vector<ChannelPost>& own = streams[static_cast<std::size_t>(stage)].posts[c];
      const std::vector<std::int64_t> members = group(channel, stages, stage);
      const std::int64_t first = members.empty() ? stage : members.front();
      const std::vector<ChannelPost>& others = streams[static_cast<std::size_t>(first)].posts[c];
      require(own.empty() || !members.empty(), "Stage " + std::to_string(stage) + " posts on " +
                                                   name(channel) + ", where it has no partner.");
      bool agree = own.size() == others.size();
      for (std::size_t i = 0; agree && i < own.size(); ++i) {
        agree = alike(program.collectives[own[i].collective].cost,
                      program.collectives[others[i].collective].cost);
      }
      require(agree, "Stages " + std::to_string(first) + " and " + std::to_string(stage) +
                         " do not post the same on channel " + name(channel) +
                         ": what one sends the other one must receive.");
    }
  }
}

}  // namespace

std::vector<IssueStream> unroll(const TimedProgram& program, const ProcessGrid& grid,
                                const Repetitions& repetitions) {
  refuse_unsound(program, grid);
  std::vector<IssueStream> streams;
  for (const StageCycles& stage : program.by_stage()) {
    streams.push_back(Unroller(program, grid).unroll(stage, repetitions));
  }
  refuse_unmatched(program, streams);
  return streams;
}

}  // namespace fourfold::inline sim::inline replay
