// SIGINT, SIGTERM and SIGUSR1 (which mpirun hands on to its ranks): a request to stop after the
// step, so that a checkpoint can be written.
#pragma once

namespace fourfold {

// From here on the first of these signals only leaves a note; a second one ends the process. To be
// called by the thread that computes, whose stack the handler must not use.
void watch_for_stop();

bool stop_asked();

}  // namespace fourfold
