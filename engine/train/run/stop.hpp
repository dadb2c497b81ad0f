// SIGINT, SIGTERM, SIGHUP and SIGUSR1 (which mpirun hands on to its ranks): a request to stop after
// the step, so that a checkpoint can be written. For training alone: all else dies of a signal.
#pragma once

namespace fourfold::inline engine::inline train::inline run {

// From here on these signals only leave a note (SIGHUP unless it is ignored, as under nohup). A
// SIGINT or SIGTERM half a second after the first of them ends the process: one event may send
// several, say a queue that signals mpirun and its ranks. To be called by the thread that computes,
// whose stack the handler must not use.
void watch_for_stop();

bool stop_asked();

}  // namespace fourfold::inline engine::inline train::inline run
