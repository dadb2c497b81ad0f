// Unrolls a program along a device's log; see timeline.hpp.
#include "sim/explain/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fourfold::inline sim::inline explain {

namespace {

bool sampled(std::int64_t repetition, std::int64_t repeats) {
  return repetition < 2 || repetition == repeats / 2 || repetition + 2 >= repeats;
}

class Unrolling {
 public:
  Unrolling(const DeviceLog& log, const ProgramDetail& detail, const LoggedRepetitions& logged,
            Repeated repeated, std::int64_t stage, double pace)
      : log_(log),
        detail_(detail),
        p_(detail.program()),
        logged_(logged),
        repeated_(repeated),
        stage_(p_.by_stage().at(static_cast<std::size_t>(stage))),
        stage_number_(static_cast<std::size_t>(stage)),
        pace_(pace),
        posts_(p_.channels.size()),
        waited_(p_.channels.size(), 0),
        section_(detail.first_section(stage)) {}

  std::vector<Span> run() {
    if (log_.turns.empty()) {
      for (std::int32_t c = stage_.first; c < stage_.last; ++c) cycle(static_cast<std::size_t>(c));
    } else {
      chosen_turns();
    }
    compute_until(log_.end);
    end_skip();
    return std::move(spans_);
  }

  // After run(): at what pace kernels would fill what this one's charges have left of the log.
  double pace() const { return kernels_ > 0.0 ? (filled_ - charges_) / kernels_ : 1.0; }

 private:
  // What a ready-queue did, turn by turn, and what comes before and behind it.
  void chosen_turns() {
    const TimedQueue& queue = p_.queues.at(stage_number_);
    std::vector<std::int32_t> first_section(p_.runs.size());
    std::int32_t next = section_;
    for (std::int32_t c = stage_.first; c < stage_.last; ++c) {
      const auto number = static_cast<std::size_t>(c);
      const RunCycle& cycle = p_.cycles[number];
      std::int32_t of_run = next;
      for (auto run = static_cast<std::size_t>(cycle.first);
           run < static_cast<std::size_t>(cycle.last); ++run) {
        first_section[run] = of_run;
        of_run += static_cast<std::int32_t>(p_.runs[run].repeats);
      }
      next += (of_run - next) * rounds_said(number);
    }
    for (std::int32_t c = stage_.first; c < queue.first; ++c) cycle(static_cast<std::size_t>(c));
    std::int64_t forwards = 0;
    std::int64_t backwards = 0;
    for (turn_ = 0; turn_ < log_.turns.size(); ++turn_) {
      const bool forward = log_.turns[turn_] == StepPart::forward;
      const std::int64_t number = forward ? forwards++ : backwards++;
      cycle_written_ = repeated_ == Repeated::all || sampled(number, queue.micro_batches);
      const RunCycle turn = queue.turn(log_.turns[turn_], number);
      for (std::int32_t r = turn.first; r < turn.last; ++r) {
        section_ = first_section[static_cast<std::size_t>(r)];
        here_.micro_batch =
            number - detail_.sections().at(static_cast<std::size_t>(section_)).micro_batch;
        run_of(static_cast<std::size_t>(r));
      }
    }
    cycle_written_ = true;
    const auto behind = static_cast<std::size_t>(queue.last);
    for (std::int32_t c = queue.last; c < stage_.last; ++c) {
      if (c == queue.last) {
        section_ = first_section[static_cast<std::size_t>(p_.cycles[behind].first)];
      }
      cycle(static_cast<std::size_t>(c));
    }
  }

  void choose() {
    const double arrive = log_.arrive.at(operation_);
    compute_until(arrive);
    if (log_.leave.at(operation_) > arrive) {
      const ChannelNumber channel =
          p_.queues.at(stage_number_).message_of(log_.turns.at(turn_ + 1));
      const auto c = static_cast<std::size_t>(channel);
      add({SpanKind::wait,
           channel,
           -1,
           section_,
           -1,
           posts_[c].at(waited_[c]).collective,
           {arrive},
           {log_.leave[operation_]}});
    }
    now_ = log_.leave.at(operation_++);
  }

  std::int32_t sections_of_round(std::size_t cycle) const {
    std::int64_t sections = 0;
    for (std::int32_t r = p_.cycles[cycle].first; r < p_.cycles[cycle].last; ++r) {
      sections += p_.runs[static_cast<std::size_t>(r)].repeats;
    }
    return static_cast<std::int32_t>(sections);
  }

  // Rounds with sections of their own.
  std::int32_t rounds_said(std::size_t cycle) const {
    const bool once = detail_.micro_batches(cycle) > 0;
    return once ? 1 : static_cast<std::int32_t>(p_.cycles[cycle].repeats);
  }

  void cycle(std::size_t number) {
    const RunCycle& cycle = p_.cycles[number];
    const std::int64_t walked = logged_.cycles[number];
    const std::int32_t first_section = section_;
    const std::int32_t sections = sections_of_round(number);
    const std::int32_t said = rounds_said(number);
    double before = 0.0;
    for (std::int64_t i = 0; i < walked; ++i) {
      before = now_ + offset_;
      cycle_written_ = repeated_ == Repeated::all || sampled(i, cycle.repeats);
      here_.micro_batch = i * detail_.micro_batches(number);
      section_ = first_section + sections * static_cast<std::int32_t>(i % said);
      for (std::int32_t r = cycle.first; r < cycle.last; ++r) run_of(static_cast<std::size_t>(r));
    }
    cycle_written_ = true;
    section_ = first_section + sections * said;
    leave_out(cycle.repeats - walked, now_ + offset_ - before);
  }

  void run_of(std::size_t number) {
    const StepRun& run = p_.runs[number];
    const std::int64_t walked = logged_.runs[number];
    double before = 0.0;
    for (std::int64_t i = 0; i < walked; ++i) {
      before = now_;
      here_.written = cycle_written_ && (repeated_ == Repeated::all || sampled(i, run.repeats));
      for (std::int32_t s = run.first; s < run.last; ++s) step(s);
      if (walked < run.repeats || i + 1 == walked) mark();
      ++section_;
    }
    section_ += static_cast<std::int32_t>(run.repeats - walked);
    leave_out(run.repeats - walked, now_ - before);
  }

  void step(std::int32_t number) {
    const TimedStep& step = p_.steps[static_cast<std::size_t>(number)];
    const auto channel = static_cast<std::size_t>(step.channel);
    if (step.kind == StepKind::compute) {
      for (const ProgramDetail::Kernel& kernel : detail_.kernels(number)) {
        pending_.push_back({kernel, section_, here_});
      }
      nominal_ += step.duration.value * pace_;
      return;
    }
    if (step.kind == StepKind::choose) return choose();
    if (step.kind == StepKind::post) {
      compute_until(log_.arrive.at(operation_));
      const DeviceLog::Flight& flight = log_.flights[channel].at(posts_[channel].size());
      posts_[channel].push_back({step.collective, nominal_});
      add({SpanKind::collective,
           step.channel,
           detail_.post_name(number),
           section_,
           -1,
           step.collective,
           {flight.start},
           {flight.finish}});
    } else {
      const std::size_t awaited_number =
          step.back == oldest_post
              ? waited_[channel]
              : posts_[channel].size() - 1 - static_cast<std::size_t>(step.back);
      const Post& post = posts_[channel].at(awaited_number);
      waited_[channel] = std::max(waited_[channel], awaited_number + 1);
      const TimedCollective& awaited = p_.collectives[static_cast<std::size_t>(post.collective)];
      charge_ =
          interference_charge(awaited.lost, awaited.uncontended, {nominal_ - post.compute_before})
              .compute.value;
      nominal_ += charge_;
      const double arrive = log_.arrive.at(operation_);
      compute_until(arrive);
      if (log_.leave.at(operation_) > arrive) {
        add({SpanKind::wait,
             step.channel,
             -1,
             section_,
             -1,
             post.collective,
             {arrive},
             {log_.leave[operation_]}});
      }
    }
    now_ = log_.leave.at(operation_++);
  }

  // Kernels and the charge fill the time up to `end` in proportion: repetitions vary.
  void compute_until(double end) {
    double kernels = 0.0;
    for (const Pending& pending : pending_) kernels += pending.kernel.time.value;
    const double work = kernels * pace_ + charge_;
    const double factor = work > 0.0 ? (end - now_) / work : 0.0;
    kernels_ += kernels;
    charges_ += charge_;
    if (work > 0.0) filled_ += end - now_;
    for (const Pending& pending : pending_) {
      const double until = now_ + pending.kernel.time.value * pace_ * factor;
      const Repetition here = std::exchange(here_, pending.here);
      add({SpanKind::kernel, {}, pending.kernel.name, pending.section, -1, -1, {now_}, {until}});
      here_ = here;
      now_ = until;
    }
    if (charge_ > 0.0 && end > now_) {
      add({SpanKind::interference, {}, -1, section_, -1, -1, {now_}, {end}});
    }
    pending_.clear();
    charge_ = 0.0;
    now_ = end;
  }

  void mark() {
    if (!log_.marks.empty() && log_.turns.empty()) compute_until(log_.marks.at(marks_++));
  }

  // `count` more repetitions of `duration` that the log has not.
  void leave_out(std::int64_t count, double duration) {
    if (count == 0) return;
    const double gap = static_cast<double>(count) * duration;
    const bool written = std::exchange(here_.written, false);
    add({SpanKind::skipped, {}, -1, section_ - 1, -1, -1, {now_}, {now_ + gap}});
    here_.written = written;
    offset_ += gap;
  }

  void add(Span span) {
    span.start.value += offset_;
    span.end.value += offset_;
    if (!here_.written) {
      if (span.kind == SpanKind::collective) return;
      if (skip_.end.value <= 0.0)
        skip_ = {SpanKind::skipped, {}, -1, span.section, -1, -1, span.start, {}};
      skip_.end = span.end;
      return;
    }
    end_skip();
    const NamedSection& section = detail_.sections().at(static_cast<std::size_t>(span.section));
    const bool of_one = section.micro_batch >= 0;
    span.micro_batch = of_one ? section.micro_batch + here_.micro_batch : -1;
    spans_.push_back(span);
  }

  void end_skip() {
    if (skip_.end.value > 0.0) spans_.push_back(skip_);
    skip_ = {};
  }

  // Of the loops that a step stands in.
  struct Repetition {
    std::int64_t micro_batch = 0;  // since the one that the section is said for
    bool written = true;
  };
  struct Post {
    std::int32_t collective = 0;
    double compute_before = 0.0;
  };
  struct Pending {
    ProgramDetail::Kernel kernel;
    std::int32_t section = 0;
    Repetition here;
  };

  const DeviceLog& log_;
  const ProgramDetail& detail_;
  const TimedProgram& p_;
  const LoggedRepetitions& logged_;
  Repeated repeated_;
  StageCycles stage_;
  std::size_t stage_number_;
  double pace_;           // seconds of the device's kernels over those of the program
  std::size_t turn_ = 0;  // of those that were chosen
  std::vector<Span> spans_;
  std::vector<Pending> pending_;
  std::vector<std::vector<Post>> posts_;  // by channel
  std::vector<std::size_t> waited_;       // by channel: for its oldest posts
  double charge_ = 0.0;
  double nominal_ = 0.0;  // compute so far at the pace, with charges
  double kernels_ = 0.0;  // of the program, so far
  double charges_ = 0.0;
  double filled_ = 0.0;  // by both in the log
  double now_ = 0.0;     // by the log's clock
  double offset_ = 0.0;  // of what the log left out
  std::size_t operation_ = 0;
  std::size_t marks_ = 0;
  std::int32_t section_ = 0;
  bool cycle_written_ = true;
  Repetition here_;
  Span skip_;
};

}  // namespace

const char* name(SpanKind kind) {
  constexpr const char* names[]{"kernel", "interference", "wait", "collective", "not written"};
  return names[static_cast<int>(kind)];
}

LoggedRepetitions LoggedRepetitions::all(const TimedProgram& program) {
  LoggedRepetitions logged;
  for (const StepRun& run : program.runs) logged.runs.push_back(run.repeats);
  for (const RunCycle& cycle : program.cycles) logged.cycles.push_back(cycle.repeats);
  return logged;
}

std::vector<Span> timeline(const DeviceLog& log, const ProgramDetail& detail,
                           const LoggedRepetitions& logged, Repeated repeated, std::int64_t stage) {
  // A slow device's kernels are longer, and so is what runs beside collectives: what these charge
  // is at most a sixth of it, so that the pace settles within a few rounds.
  constexpr int most_rounds = 12;
  constexpr double settled = 1e-9;
  double pace = 1.0;
  for (int round = 1;; ++round) {
    Unrolling unrolling(log, detail, logged, repeated, stage, pace);
    std::vector<Span> spans = unrolling.run();
    const double found = unrolling.pace();
    if (round == most_rounds || std::abs(found - pace) <= settled * pace) return spans;
    pace = found;
  }
}

}  // namespace fourfold::inline sim::inline explain
