// Walks the timed program of a pipeline beside its schedules, section by section; see
// order_chart.hpp.
#include "sim/explain/order_chart.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "schedule/models/fit.hpp"
#include "schedule/order/step.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "sim/estimate/estimate.hpp"

namespace fourfold::inline sim::inline explain {

namespace {

bool of_micro_batch(const Turn& turn) {
  return turn.micro_batch >= 0;
}

// The schedules of all stages with every micro-batch, and the timed program made of them: its runs
// stand for the schedules' sections one after the other.
struct Recorded {
  std::vector<Schedule> schedules;
  TimedProgram program;
};

Recorded recorded(const Point& point, const Platform& platform) {
  Recorded result;
  const std::int64_t stages = point.grid.extent(Axis::pipe);
  const StepOptions options = in_effect(point.options, point.grid);
  std::vector<Folded> folded;
  for (std::int64_t i = 0; i < stages; ++i) {
    result.schedules.push_back(issue(record_step(point.model, options, Stage{i, stages}), options));
    folded.push_back(fold_schedule(result.schedules.back()));
  }
  result.program = lower(point, platform, folded);
  return result;
}

// Calls `visit` with every run of a stage and the section of the schedule that it stands for.
template <typename Visit>
void each_section(const Recorded& recorded, std::size_t stage, const Visit& visit) {
  const TimedProgram& program = recorded.program;
  const Schedule& schedule = recorded.schedules[stage];
  const StageCycles cycles = program.by_stage()[stage];
  std::size_t next = 0;
  for (std::int32_t c = cycles.first; c < cycles.last; ++c) {
    each_run(program, program.cycles[static_cast<std::size_t>(c)], [&](const StepRun& run) {
      const auto section = static_cast<std::size_t>(schedule.sections.at(next++).section);
      visit(run, schedule.program.sections[section]);
    });
  }
}

const Turn& turn_of(const Schedule& schedule, const Section& section) {
  return schedule.program.order.turns[static_cast<std::size_t>(section.turn)];
}

Seconds time_of(const TurnTimes& times, StepPart part) {
  switch (part) {
    case StepPart::forward:
      return times.forward;
    case StepPart::backward:
      return times.input_gradient + times.weight_gradient;
    case StepPart::input_gradient:
      return times.input_gradient;
    case StepPart::weight_gradient:
      return times.weight_gradient;
    default:
      return {};
  }
}

// Layers take the turn's time, everything else none.
void set_times(Recorded& recorded, const TurnTimes& times) {
  TimedProgram& program = recorded.program;
  for (TimedStep& step : program.steps) step.duration = {};
  for (TimedCollective& collective : program.collectives) {
    collective.uncontended = {};
    collective.cost = {};
  }
  for (std::size_t stage = 0; stage < recorded.schedules.size(); ++stage) {
    each_section(recorded, stage, [&](const StepRun& run, const Section& section) {
      const Turn& turn = turn_of(recorded.schedules[stage], section);
      if (section.layer < 0 || !of_micro_batch(turn)) return;
      for (std::int32_t s = run.last - 1; s >= run.first; --s) {
        TimedStep& step = program.steps[static_cast<std::size_t>(s)];
        if (step.kind != StepKind::compute) continue;
        step.duration = time_of(times, turn.part);
        return;
      }
    });
  }
}

// From the first step of a turn that takes time to its last; waits at its ends are not its, and one
// for another stage inside it (of a backward pass that repeats its forward pass first) parts it.
class TurnWalk {
 public:
  TurnWalk(const Recorded& recorded, std::size_t stage)
      : recorded_(recorded),
        stage_(stage),
        log_(estimated_log(recorded.program, static_cast<std::int64_t>(stage))) {}

  std::vector<ChartedTurn> run() {
    std::vector<std::pair<const StepRun*, const Section*>> visits;
    each_section(recorded_, stage_, [&](const StepRun& run, const Section& section) {
      visits.emplace_back(&run, &section);
    });
    const std::vector<std::int64_t> places = places_of_turns();
    std::ranges::stable_sort(visits, {}, [&](const auto& visit) {
      return places[static_cast<std::size_t>(visit.second->turn)];
    });
    for (const auto& [run, section] : visits) {
      const Turn& turn = turn_of(recorded_.schedules[stage_], *section);
      for (std::int32_t s = run->first; s < run->last; ++s) {
        step(recorded_.program.steps[static_cast<std::size_t>(s)], section->turn, turn);
      }
    }
    return std::move(turns_);
  }

 private:
  // Which turn of the order is done as the how-manieth: a ready-queue's as they were chosen.
  std::vector<std::int64_t> places_of_turns() const {
    const Order& order = recorded_.schedules[stage_].program.order;
    std::vector<std::int64_t> places(order.turns.size());
    std::iota(places.begin(), places.end(), std::int64_t{0});
    std::map<std::pair<StepPart, std::int64_t>, std::int64_t> chosen;  // by part, micro-batch
    std::map<StepPart, std::int64_t> done;
    for (const StepPart part : log_.turns) {
      const auto place = order.ready.first + static_cast<std::int64_t>(chosen.size());
      chosen[{part, done[part]++}] = place;
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto found = chosen.find({order.turns[i].part, order.turns[i].micro_batch});
      if (found != chosen.end()) places[i] = found->second;
    }
    return places;
  }

  void step(const TimedStep& step, std::int64_t number, const Turn& turn) {
    if (step.kind == StepKind::compute) return work_until(now_ + step.duration.value, number, turn);
    work_until(log_.arrive.at(operation_), number, turn);
    now_ = log_.leave.at(operation_++);
    const Axis axis = recorded_.program.channels[static_cast<std::size_t>(step.channel)].axis;
    const bool waited = now_ > log_.arrive[operation_ - 1];
    if (step.kind == StepKind::wait && axis == Axis::pipe && waited) parted_ = true;
  }

  void work_until(double end, std::int64_t number, const Turn& turn) {
    if (of_micro_batch(turn) && end > now_) {
      if (turns_.empty() || number_ != number || parted_) {
        if (number_ == number) turns_.back().goes_on = true;
        turns_.push_back({turn.part, turn.micro_batch, turn.chunk, {now_}, {}});
        parted_ = false;
      }
      turns_.back().end = {end};
      number_ = number;
    }
    now_ = end;
  }

  const Recorded& recorded_;
  std::size_t stage_;
  DeviceLog log_;
  std::vector<ChartedTurn> turns_;
  std::int64_t number_ = -1;  // in the order, of the last of them
  bool parted_ = false;       // by a wait since then
  std::size_t operation_ = 0;
  double now_ = 0.0;
};

OrderChart chart_of(const Recorded& recorded) {
  OrderChart chart;
  for (std::size_t stage = 0; stage < recorded.schedules.size(); ++stage) {
    chart.stages.push_back(TurnWalk(recorded, stage).run());
    if (chart.stages.back().empty()) continue;
    chart.end = std::max(chart.end, chart.stages.back().back().end);
  }
  return chart;
}

}  // namespace

double OrderChart::idle_share() const {
  double work = 0.0;
  for (const std::vector<ChartedTurn>& turns : stages) {
    for (const ChartedTurn& turn : turns) work += (turn.end - turn.start).value;
  }
  return work > 0.0 ? end.value * static_cast<double>(stages.size()) / work - 1.0 : 0.0;
}

OrderChart chart_of(const StepOptions& options, std::int64_t stages, const TurnTimes& times) {
  if (const std::string why = order_misfit(options, stages); !why.empty()) {
    throw std::runtime_error(why);
  }
  Point point;
  point.platform = "crossbar";
  point.model = {"even", stages * options.chunks, 48, 12, 8, 96};
  point.grid = ProcessGrid(1, 1, 1, 1, stages);
  point.options = options;
  point.global_batch = options.micro_batches;
  Recorded all = recorded(point, read_platform(point.platform, point.scales, point.software));
  set_times(all, times);
  return chart_of(all);
}

OrderChart chart_of(const Point& point, const Platform& platform) {
  const std::string why = misfit(point.model, point.grid, point.global_batch, point.options);
  if (!why.empty()) throw std::runtime_error(why);
  return chart_of(recorded(point, platform));
}

}  // namespace fourfold::inline sim::inline explain
