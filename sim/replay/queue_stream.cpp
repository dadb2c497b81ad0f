// Turns are stretches of runs; all of the stream is one segment. See queue_stream.hpp.
#include "sim/replay/queue_stream.hpp"

#include <stdexcept>

namespace fourfold {

QueueStream::QueueStream(const TimedProgram& program, const ProcessGrid& grid, std::int64_t stage)
    : program_(program),
      queue_(program.queues[static_cast<std::size_t>(stage)]),
      cycles_(program.stages[static_cast<std::size_t>(stage)]),
      writer_(program, grid),
      turns_(queue_.limit, queue_.micro_batches,
             {stage, static_cast<std::int64_t>(program.stages.size())}) {
  for (std::int32_t c = cycles_.first; c < queue_.first; ++c) write_cycle(c);
}

void QueueStream::take(StepPart part) {
  const bool forward = part == StepPart::forward;
  std::int64_t number = forward ? turns_.forwards() : turns_.backwards();
  for (const TimedTurn& turn : forward ? queue_.forwards : queue_.backwards) {
    if (number < turn.repeats) {
      for (std::int32_t r = turn.first; r < turn.last; ++r) write_run(r);
      break;
    }
    number -= turn.repeats;
  }
  turns_.take(part);
  taken_.push_back(part);
}

bool QueueStream::go_on() {
  if (ended_) return false;
  if (!turns_.over()) {
    if (turns_.open()) throw std::logic_error("The replay goes on before a turn was chosen.");
    take(turns_.only());
    return true;
  }
  for (std::int32_t c = queue_.last; c < cycles_.last; ++c) write_cycle(c);
  writer_.close({});
  ended_ = true;
  return true;
}

void QueueStream::write_cycle(std::int32_t number) {
  const RunCycle& cycle = program_.cycles[static_cast<std::size_t>(number)];
  for (std::int64_t i = 0; i < cycle.repeats; ++i) {
    for (std::int32_t r = cycle.first; r < cycle.last; ++r) write_run(r);
  }
}

void QueueStream::write_run(std::int32_t number) {
  const StepRun& run = program_.runs[static_cast<std::size_t>(number)];
  for (std::int64_t i = 0; i < run.repeats; ++i) {
    for (std::int32_t s = run.first; s < run.last; ++s) {
      writer_.write(program_.steps[static_cast<std::size_t>(s)]);
    }
  }
}

}  // namespace fourfold
