// Turns are stretches of runs; all of the stream is one segment. See queue_stream.hpp.
#include "sim/replay/queue_stream.hpp"

#include <stdexcept>

namespace fourfold::inline sim::inline replay {

QueueStream::QueueStream(const TimedProgram& program, const ProcessGrid& grid, std::int64_t stage)
    : program_(program),
      queue_(program.queues[static_cast<std::size_t>(stage)]),
      cycles_(program.stages[static_cast<std::size_t>(stage)]),
      writer_(program, grid),
      turns_(queue_.limit, queue_.micro_batches,
             {stage, static_cast<std::int64_t>(program.stages.size())}) {
  for (std::int32_t c = cycles_.first; c < queue_.first; ++c) write(program_.cycles[c]);
}

void QueueStream::take(StepPart part) {
  write(queue_.turn(part, next(part)));
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
  for (std::int32_t c = queue_.last; c < cycles_.last; ++c) write(program_.cycles[c]);
  writer_.close({});
  ended_ = true;
  return true;
}

void QueueStream::write(const RunCycle& cycle) {
  each_run(program_, cycle, [this](const StepRun& run) {
    for (std::int32_t s = run.first; s < run.last; ++s) writer_.write(program_.steps[s]);
  });
}

}  // namespace fourfold::inline sim::inline replay
