// The text itself; see train_help.hpp.
#include "engine/train/train_help.hpp"

namespace fourfold {

const char* const train_help =
    R"(A batch is cut by whole sequences: micro-batches x Z x DATA must divide it. X cuts heads and
columns, Y the hidden size; X x Y x Z x DATA is the number of ranks.

A line of a step: loss (nats a word), norm of the gradient before clipping, learning rate, ms of
the slowest rank, tokens/s, flop/s that the schedule executes and their % of the FMA peak measured
at the start, and how many ms a rank stood still for communication (mean over ranks).

The log has one JSON object a line, by "kind":
  run         what was asked for and found out: model, grid, options, data, cpu, libraries,
              openblas_core, kernels, peak_flop_per_s (all ranks), flop of a step by both
              conventions, counted_memory_B
  memory      grown_B: growth of VmHWM in the first step on the largest rank; counted_B
  step        step, loss (nats a word), gradient_norm, learning_rate, seconds (slowest rank),
              tokens_per_s, executed_flop_per_s, model_flop_per_s, part_of_peak (0 to 1),
              exposed_s (stood still, by communicator, mean over ranks), done (0 to 1)
  validation  step, loss (nats a word), trained_s (before a resume included)
  checkpoint  step, path
  text        text

A resumed run goes on with the flags of the run that wrote the checkpoint, but for those typed
anew. Steps and minutes count on, and the learning rate follows their end: with a later end it
rises again.

Ctrl-C or SIGTERM: the step is finished, a checkpoint written, and the status is 130; a second
one stops at once. Status 2: the command line is wrong; 1: everything else.

Examples:
  fourfold train                                    # Debian's text, two ranks, 1.5 minutes
  fourfold train --data book.txt --steps 2000 --prompt 'It was'
  fourfold train --model gpt2-mini --data 'shards/train_*.bin' --ranks 4 --grid 2x1x2x1 \
      --batch 8 --steps 500 --precision bf16 --tune-kernels
  fourfold train --resume build/train/RUN/checkpoints --ranks 4 --grid 2x1x1x2 --steps 4000
`fourfold sample --checkpoint build/train/RUN` draws text from what was trained.)";

}  // namespace fourfold
