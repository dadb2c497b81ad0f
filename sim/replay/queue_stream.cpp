// Turns are stretches of runs; all of the stream is one segment. See queue_stream.hpp.
#include "sim/replay/queue_stream.hpp"

#include <stdexcept>

namespace fourfold::inline sim::inline replay {

QueueStream::QueueStream(const std::vector<TimedProgram>& paces, const ProcessGrid& grid,
                         std::int64_t stage)
    : paces_(paces),
      queue_(paces.front().queues[static_cast<std::size_t>(stage)]),
      cycles_(paces.front().stages[static_cast<std::size_t>(stage)]),
      turns_(queue_.limit, queue_.micro_batches,
             {stage, static_cast<std::int64_t>(paces.front().stages.size())}) {
  for (const TimedProgram& program : paces) writers_.emplace_back(program, grid);
  for (std::int32_t c = cycles_.first; c < queue_.first; ++c) write(paces.front().cycles[c]);
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
  for (std::int32_t c = queue_.last; c < cycles_.last; ++c) write(paces_.front().cycles[c]);
  for (StreamWriter& writer : writers_) writer.close({});
  ended_ = true;
  return true;
}

void QueueStream::write(const RunCycle& cycle) {
  for (std::size_t pace = 0; pace < paces_.size(); ++pace) {
    each_run(paces_[pace], cycle, [&](const StepRun& run) {
      for (std::int32_t s = run.first; s < run.last; ++s) {
        writers_[pace].write(paces_[pace].steps[s]);
      }
    });
  }
}

}  // namespace fourfold::inline sim::inline replay
