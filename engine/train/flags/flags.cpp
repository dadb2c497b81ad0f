// The flags of training, group by group; see flags.hpp.
#include "engine/train/flags/flags.hpp"

#include <CLI/App.hpp>

#include "engine/train/flags/flag_group.hpp"
#include "support/field_flags.hpp"

namespace fourfold::inline engine::inline train::inline flags {

namespace {

constexpr double most_minutes = 5'256'000.0;  // ten years

// Below the flags: rules, signals, the keys of the log, examples.
const char* const train_help =
    R"(A batch is cut by whole sequences: micro-batches x Z x DATA must divide it. X cuts heads and
columns, Y the hidden size, PIPE the layers; X x Y x Z x DATA x PIPE is the number of ranks.

A line of a step: loss (nats a word), norm of the gradient before clipping, ms of the slowest rank,
tokens/s, the flop/s that the schedule executes in % of the FMA peak measured at the start, and how
many ms a rank stood still for communication (mean over ranks). The log has more.

The log has one JSON object a line, by "kind":
  run         what was asked for and found out: model, grid, options, data, cpu, libraries,
              openblas_core, kernels, peak_flop_per_s (all ranks), flop of a step by both
              conventions, counted_memory_B
  memory      grown_B: growth of VmHWM in the first step on the largest rank; counted_B
  step        step, loss (nats a word), gradient_norm, learning_rate, seconds (slowest rank),
              tokens_per_s, executed_flop_per_s, model_flop_per_s, part_of_peak (0 to 1),
              kernels_s (of products, attention, the update and all other kernels, mean over
              ranks, with what they moved on of collectives beside them),
              exposed_s (stood still, by communicator, mean over ranks), done (0 to 1),
              epochs (how often the data has been read), reference_s with --time-reference,
              targets (that count, where prompts or Goldfish loss leave some out; the loss is null
              where none does), bad (what became of a bad step)
  rewind      step, path (of the checkpoint that a bad step made the run go back to), why
  validation  step, loss (nats a word), words (that it is the mean over), trained_s (before a
              resume included)
  checkpoint  step, path
  text        text
  end         step, steps_here, bad_steps, seconds_here, asked_to_stop, diverged

A resumed run goes on with the flags of the run that wrote the checkpoint, but for those typed
anew. Steps and minutes count on, and the learning rate follows their end: with a later end it
rises again.

No step is lost: checkpoints are written by the clock and at the end, if there is room on the disk,
which is looked at first. Damaged data or a full log end the run behind its last whole step, which
is saved; weights whose numbers are unsound are not.

Ctrl-C, SIGTERM, or SIGHUP of a terminal that goes (not under nohup), sent to this command, to
mpirun or to a rank: the step is finished, a checkpoint written, and the status is 130; a second one
stops at once. A terminal that is lost otherwise stops nothing: the log has all lines.

Examples:
  fourfold train                                    # Debian's text, two ranks, 1.5 minutes
  fourfold train --data book.txt --steps 2000 --prompt 'It was'
  fourfold train --model gpt2-mini --data 'shards/train_*.bin' --ranks 4 --grid 2x1x2x1 \
      --batch 8 --steps 500 --precision bf16 --tune-kernels
  fourfold train --grid data=2,pipe=2 --order 1f1b --micro-batches 4 --steps 500
  fourfold train --start-from results/train/RUN --data mine.txt --steps 300 --warm-up 30
  fourfold train --resume results/train/RUN/checkpoints --ranks 4 --grid 2x1x1x2 --steps 4000
`fourfold sample --checkpoint results/train/RUN` draws text from what was trained.)";

constexpr const char* output_group =
    "What is written, and how often (in steps; 0: only at the end)";

void add_what(CLI::App& verb, TrainFlags& flags) {
  constexpr const char* what_group = "What is trained, on what";
  FlagGroup group(verb, what_group);
  DataOptions& data = flags.settings.data;
  group.add("--model", flags.model, "a name (`fourfold models` lists them) or a .toml file");
  group.add(
      "--data", data.files,
      "files or 'patterns': plain text (a byte is a word), .jsonl documents whose prompts are left "
      "out of the loss (lines {\"prompt\": \"...\", \"completion\": \"...\"}), or .bin shards of "
      "tokens, as nanoGPT and llm.c write them; without it, text that Debian ships");
  add_token_bits_flag(verb, data.token_bits)->group(what_group);
  group.add("--validation-data", data.validation_files,
            "files to validate on, instead of the end of each training file");
  group.add("--held-out", data.held_out,
            "the part of each file that is kept for validation, between 0 and 1");
  group.add("--data-order", flags.data_order, "of the training sequences: shuffled or sequential");
  group
      .add("--goldfish-k", data.goldfish.k,
           "Goldfish loss: one target of so many is left out of the loss, always the same of a "
           "passage, so that it is not learnt word by word; 0: none")
      ->check(number(0));
  group
      .add("--goldfish-h", data.goldfish.h,
           "whether a target is left out depends on so many words before it")
      ->check(number(1));
  group.add("--seed", flags.settings.seed, "of the first weights and the order of the data");
  group.add(
      "--resume", flags.settings.resume,
      "a checkpoint, or a run's folder, which means its newest; any grid reads what any other "
      "wrote");
  group.add("--start-from", flags.settings.start_from,
            "the same, but its weights alone, and its model: a new run, with its own data, steps, "
            "warm-up and decay");
}

void add_core_flag(FlagGroup& group, std::string& openblas_core) {
  group
      .add("--openblas-core", openblas_core,
           "auto: where OpenBLAS takes slower kernels than this processor can run, also by "
           "OPENBLAS_CORETYPE, start anew with the right ones; keep: leave them, and warn")
      ->check([](const std::string& word) {
        return word == "auto" || word == "keep" ? "" : "must be auto or keep, not '" + word + "'";
      });
}

void add_where(CLI::App& verb, TrainFlags& flags) {
  FlagGroup group(verb, "Ranks, and how they share the work");
  group.add("--ranks", flags.ranks, "MPI processes; 0: those of the grid, or two")
      ->check(whole_number(0));
  group.add("--grid", flags.grid,
            "XxYxZxDATA, such as 2x1x2x1, or by name, such as x=2,data=2,pipe=2; without it all "
            "ranks lie along data");
  group.add("--transport", flags.transport,
            "who moves the bytes: ring (our own), library (Open MPI's collectives), window (memory "
            "shared within a node), or auto: for each collective the fastest, timed in the first "
            "step, of those that give the ring's bits");
  group.add("--progress", flags.progress,
            "when collectives advance beside compute: tiles (between tiles of kernels), thread or "
            "none (only in waits)");
  verb.add_flag("--tune-kernels", flags.settings.tune_kernels,
                "time every matrix product over libraries and layouts in the first step")
      ->group("Ranks, and how they share the work");
  verb.add_flag("--time-reference", flags.settings.time_reference,
                "time a small product after each step, so that the log tells a slow machine from a "
                "slow step")
      ->group("Ranks, and how they share the work");
  group
      .add("--hang-timeout", flags.settings.hang_timeout,
           "seconds until the job is ended because a rank hangs: one that is stopped, whose node "
           "does not answer, or that does not move on in a step while others wait; it is named "
           "within a minute; 0: named, and waited for")
      ->check(number(0, 1e6));
  add_core_flag(group, flags.openblas_core);
}

void add_options(CLI::App& verb, TrainFlags& flags) {
  add_field_flags(verb, "Options of the training step", step_fields().facts(), usual_options(),
                  flags.options);
  for (const ProjectedOnly& projected : projected_only) {
    CLI::Option* const option = verb.get_option(projected.flag);
    option->description(option->get_description() + "; only " + option->get_default_str() +
                        " is trained");
  }
}

void add_how(CLI::App& verb, TrainFlags& flags) {
  FlagGroup group(verb, "Optimizer: AdamW with decoupled decay, a warm-up and a falling rate");
  TrainSettings& s = flags.settings;
  group.add("--batch", s.batch, "sequences a step, on all ranks")->check(whole_number(1));
  group
      .add("--steps", s.length.steps,
           "train so many steps, those before a resume included; 0: no limit")
      ->check(whole_number(0));
  group
      .add("--minutes", s.length.minutes,
           "train so long; the learning rate then follows the clock. Without either: 1.5 minutes")
      ->check(number(0, most_minutes));
  group.add("--learning-rate", s.learning_rate.peak, "at the peak")->check(number(1e-12));
  group.add("--last-learning-rate", s.learning_rate.last_part, "at the end, as a part of the peak")
      ->check(number(0, 1));
  group
      .add("--warm-up", s.learning_rate.warm_up_steps,
           "steps from 0 to the peak; the decay begins behind them")
      ->check(whole_number(0));
  group.add("--learning-rate-decay", flags.rate_decay,
            "cosine or linear, from the warm-up on; wsd: only in the last part of the run, in a "
            "straight line; constant: none");
  group
      .add("--decay-part", s.learning_rate.decay_part,
           "of the run, at its end, in which wsd lets the rate fall")
      ->check(number(1e-6, 1));
  group.add("--weight-decay", s.optimizer.weight_decay, "of matrices; biases and norms have none")
      ->check(number(0));
  group.add("--beta1", s.optimizer.beta1, "of the first moment")->check(number(0, 0.99999));
  group.add("--beta2", s.optimizer.beta2, "of the second moment")->check(number(0, 0.99999));
  group.add("--epsilon", s.optimizer.epsilon, "added to the root of the second moment")
      ->check(number(1e-30, 1));
  group
      .add("--clip", s.optimizer.clip_norm,
           "the norm that gradients are scaled down to where theirs is larger; 0: none")
      ->check(number(0));
  group.add("--bad-steps", flags.bad_steps,
            "a step whose loss or gradient is no number: stop; skip: leave its gradient out; "
            "rewind: go back to the newest checkpoint, and read on behind the step's data; ten in "
            "a row end the run");
  group
      .add("--bad-norm", flags.bad_norm,
           "a step whose gradient has a larger norm is a bad one, too; 0: no norm is too large")
      ->check(number(0));
}

void add_output(CLI::App& verb, TrainFlags& flags) {
  FlagGroup group(verb, output_group);
  TrainSettings& s = flags.settings;
  group.add("--folder", s.folder,
            "of log, checkpoints and plots; without it that of the run whose newest checkpoint is "
            "resumed, else results/train/MODEL-TIME, where you are");
  group.add("--log", s.log, "the log as JSON lines; without it log.jsonl in the folder");
  group
      .add("--print-every", s.print_every,
           "steps that share one line on the screen; 0: a line a second (the log has every step)")
      ->check(whole_number(0));
  group
      .add("--validate-every", s.validate_every,
           "steps between looks at the loss on words kept apart")
      ->check(whole_number(0));
  group
      .add("--validation-words", s.data.validation_words,
           "of those kept apart so many are read each time, from the first on; 0: all")
      ->check(whole_number(0));
  group
      .add("--checkpoint-every", s.checkpoint_every,
           "steps between checkpoints: all that a run needs to go on")
      ->check(whole_number(0));
  group
      .add("--checkpoint-minutes", s.checkpoint_minutes,
           "minutes from one checkpoint to the next at most; 0: no matter how long")
      ->check(number(0, most_minutes));
  group.add("--keep-checkpoints", s.keep_checkpoints, "how many of the newest stay")
      ->check(whole_number(1));
  verb.add_flag_callback(
          "--json", [&s] { s.screen = Screen::json; },
          "JSON lines on standard output, those of the log, instead of text")
      ->group(output_group);
  group.add("--trace", s.trace, "a file for a Chrome/Perfetto trace of one step, rank by rank");
  group
      .add("--trace-step", s.trace_step,
           "the step that is traced, counted in this run; 0: the fifth, or the last if there are "
           "fewer")
      ->check(whole_number(0));
}

}  // namespace

CLI::Option* add_token_bits_flag(CLI::App& verb, std::int64_t& token_bits) {
  return verb
      .add_option("--token-bits", token_bits,
                  "of .bin shards that say it nowhere: 16, 32 (a vocabulary above 65,536 words) or "
                  "64; 0: 16. llm.c's headers and Megatron-LM's .idx say their own")
      ->capture_default_str()
      ->check([](const std::string& word) {
        return word == "0" || word == "16" || word == "32" || word == "64"
                   ? ""
                   : "must be 0, 16, 32 or 64, not '" + word + "'";
      });
}

CoreWish core_wish(const std::string& openblas_core) {
  return openblas_core == "keep" ? CoreWish::keep : CoreWish::repair;
}

void add_sampling_flags(CLI::App& verb, SamplingSettings& sampling) {
  FlagGroup group(verb, sampling_group);
  group.add("--prompt", sampling.prompt, "how it begins: text, or for token shards numbers");
  group.add("--texts", sampling.texts, "drawn side by side")->check(whole_number(1));
  group.add("--tokens", sampling.tokens, "of each, beyond the prompt; 0: none")
      ->check(whole_number(0));
  group
      .add("--temperature", sampling.temperature,
           "0: always the likeliest word; 1: as the model says")
      ->check(number(0));
  group
      .add("--top-k", sampling.top_k,
           "draw among the K likeliest words only; 0: among all of the vocabulary")
      ->check(whole_number(0));
  group
      .add("--top-p", sampling.top_p,
           "and of these among the fewest that are this likely together, such as 0.9; 1: among all")
      ->check(number(1e-9, 1.0));
}

void add_train_flags(CLI::App& verb, TrainFlags& flags) {
  add_what(verb, flags);
  add_where(verb, flags);
  add_options(verb, flags);
  add_how(verb, flags);
  add_output(verb, flags);
  SamplingSettings& sampling = flags.settings.sampling;
  add_sampling_flags(verb, sampling);
  FlagGroup texts(verb, sampling_group);
  texts.add("--sample-seed", sampling.seed, "another seed, another text");
  texts.add("--sample-every", sampling.every, "in steps; 0: only at the end")
      ->check(whole_number(0));
  verb.footer(train_help);
}

}  // namespace fourfold::inline engine::inline train::inline flags
