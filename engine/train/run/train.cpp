// Puts a run together: data, kernels, communicators, weights; see train.hpp.
#include "engine/train/run/train.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/cpu/fma_peak.hpp"
#include "engine/cpu/openblas_core.hpp"
#include "engine/cpu/tune.hpp"
#include "engine/cpu/tuned_backend.hpp"
#include "engine/mpi/session.hpp"
#include "engine/train/checkpoint/carried_files.hpp"
#include "engine/train/checkpoint/checkpoint_folder.hpp"
#include "engine/train/checkpoint/checkpoint_layout.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/checkpoint/choices_json.hpp"
#include "engine/train/checkpoint/resume.hpp"
#include "engine/train/data/repeated_files.hpp"
#include "engine/train/flags/idle_options.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/train/run/disk_room.hpp"
#include "engine/train/run/heartbeats.hpp"
#include "engine/train/run/memory.hpp"
#include "engine/train/run/passes.hpp"
#include "engine/train/run/run_folder.hpp"
#include "engine/train/run/same_data.hpp"
#include "engine/train/run/traced_step.hpp"
#include "engine/train/run/trained_before.hpp"
#include "engine/train/run/transport_table.hpp"
#include "engine/train/sample/sample.hpp"
#include "schedule/order/step.hpp"
#include "support/json_object.hpp"
#include "support/own_file.hpp"
#include "support/owned_folder.hpp"

namespace fourfold::inline engine::inline train::inline run {

namespace {

// "Open MPI v4.1.4"
std::string mpi_text() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  check_mpi(MPI_Get_library_version(version.data(), &length), "MPI_Get_library_version");
  const std::string text(version.data(), static_cast<std::size_t>(length));
  return text.substr(0, text.find(','));
}

// Leaves everything as it is: what is refused later leaves no folder behind.
void refuse_unwritable_outputs(const TrainSettings& settings) {
  refuse_unmakeable(settings.folder);
  refuse_links(settings.folder);
  refuse_unwritable_files(settings);
  refuse_own_files(settings);
}

// Folder, files and room on the disk.
void refuse_outputs(const TrainSettings& settings, std::int64_t steps_before) {
  refuse_unwritable_outputs(settings);
  refuse_earlier_run(settings);
  const DiskNeed need = counted_disk(settings, steps_before);
  expect_allowed(settings.folder + "/checkpoints", need.checkpoint_bytes);
  refuse_without_disk(settings, need, free_room(settings));
}

// The first that a run writes, when nothing is left that could refuse it but another run that has
// begun since. From here on the folder is this run's, by its first rank.
RunLog opened_log(const TrainSettings& settings, std::optional<OwnedFolder>& owned) {
  RunLog log;
  on_first_rank([&] {
    std::filesystem::create_directories(settings.folder);
    owned.emplace(settings.folder);
    refuse_earlier_run(settings);
    if (settings.log.empty()) ::close(open_own_file(log_path(settings), O_WRONLY | O_CREAT));
    log.open(log_path(settings), settings.screen);
  });
  return log;
}

std::vector<CountedProduct> products_of(const TrainSettings& settings, const Program& program) {
  return products(program, settings.grid,
                  settings.batch * settings.model.sequence / settings.options.micro_batches);
}

// Of all stages: those of the whole model as one.
std::vector<CountedProduct> products_of_all(const TrainSettings& settings) {
  StepOptions options = options_in_effect(settings);
  options.order = PipelineOrder::one_f_one_b;
  options.chunks = 1;
  return products_of(settings, record_step(settings.model, options));
}

// Rank 0's, on all ranks; those of the checkpoint where they are for the same products, so that a
// resumed run goes on bit by bit.
KernelChoices choices_for(const TrainSettings& settings, const nlohmann::json& saved,
                          const World& world) {
  const std::vector<CountedProduct> needed = products_of_all(settings);
  if (saved.is_array()) {
    KernelChoices choices = read_kernel_choices(saved);
    if (covers(choices, needed)) return choices;
  }
  if (!settings.tune_kernels) return {};
  const KernelChoices own = tuned(needed);  // on all ranks at once, as they compute later
  const std::string first = world.from_first(json_of(own).dump());
  if (world.rank() == 0) return own;  // which has the timings, to print
  return read_kernel_choices(parse_json(first, "the kernel choices"));
}

std::string kernels_text(const KernelChoices& choices, double peak) {
  if (choices.choices.empty()) return "oneDNN for every matrix product (--tune-kernels times them)";
  if (choices.choices.front().timings.empty()) return "as chosen before, from the checkpoint";
  return "rank 0's choices, in % of its FMA peak\n" + table(choices, peak);
}

std::string transports_text(const std::vector<TransportChoice>& choices) {
  if (choices.empty()) return "";
  if (choices.front().timings.empty()) return ", as chosen before, from the checkpoint";
  std::string text = ", rank 0's choices, in GB/s of bus bandwidth\n" + table(choices);
  text.pop_back();  // the last line's end
  return text;
}

// What came with an imported model stands beside the checkpoints of every run that has its weights.
void carry_along(const TrainSettings& settings) {
  const std::string& from = settings.resume.empty() ? settings.start_from : settings.resume;
  const std::string checkpoints = settings.folder + "/checkpoints";
  std::error_code missing;
  if (from.empty() || std::filesystem::equivalent(folder_of(from), checkpoints, missing)) return;
  const CarriedFiles carried = kept_files(folder_of(from));
  if (!carried.empty()) keep_files(checkpoints, carried).is_whole();
}

FlopsPerSecond peak_of(const std::vector<double>& ranks) {
  FlopsPerSecond sum;
  for (double peak : ranks) sum += {peak};
  return sum;
}

// Records that the search for the newest checkpoint passed over.
void say_left_out(const std::string& resumed, const RunLog& log) {
  if (resumed.empty() || !std::filesystem::is_directory(resumed)) return;
  for (const auto& [path, why] : left_out_checkpoints(resumed)) {
    log.say(fmt::format("left out    {}: {}", path, why));
  }
}

// Where a run goes on from a checkpoint, its words are of one kind: bytes or tokens.
void refuse_other_words(const TrainSettings& settings, const TrainingState& before,
                        const Data& data) {
  if (!before.trainer.contains("words")) return;
  const TokenFile& first = data.training_words().files().front();
  const std::string were = word_name(words_of(before)), are = word_name(first.format());
  if (were == are) return;
  throw std::runtime_error(
      fmt::format("the words of {} are {}s, and those of {} are {}s; give --data FILE.{}",
                  settings.resume.empty() ? settings.start_from : settings.resume, were,
                  first.path(), are, were == "byte" ? "txt" : "bin"));
}

// Where a run is resumed, its data are those that it read, unless others are asked for. Checkpoints
// of older versions do not say what was read.
void refuse_other_data(const TrainSettings& settings, const TrainingState& before,
                       const std::string& digest) {
  const auto were = before.trainer.find("data");
  if (were == before.trainer.end() || were->at("digest") == digest) return;
  if (asks_for_other_data(settings.changes)) return;
  throw std::runtime_error(fmt::format(
      "the data has changed since {} was trained on it (then {}); put it back, name other files "
      "with --data, or start a new run from these weights with --start-from",
      settings.resume, were->at("is").get<std::string>()));
}

// Where other data are trained on than the resumed run read, from their beginning.
void begin_other_data(TrainingState& state, const std::string& digest, RunFacts& facts) {
  const auto were = state.trainer.find("data");
  if (state.position == 0 || were == state.trainer.end()) return;
  if (Data::same_training(were->at("digest"), digest)) return;
  facts.data_remarks.push_back(fmt::format(
      "other data than the resumed run trained on (then {}): read from their beginning, not from "
      "sequence {} on",
      were->at("is").get<std::string>(), state.position));
  state.position = 0;
}

std::vector<std::string> remarks_on(const Data& data) {
  std::vector<std::string> remarks = repeated_files(data);
  const Windows read = data.held_out();
  const std::int64_t held_out = data.validation_words().words();
  if (read.targets() < held_out - 1) {
    remarks.push_back(fmt::format("of what is held out the first {} are read each time",
                                  amount(read.targets(), word_name(data.format()))));
  }
  return remarks;
}

void refuse_step_without_room(const TrainSettings& settings, std::int64_t neighbours) {
  together([&] {
    const MemoryUse counted = counted_memory(settings);
    refuse_without_room(counted.peak + counted.on_host, neighbours, available_bytes(),
                        settings.options.offload_bucket);
  });
}

// Of what comes after a step, such as samples: more than the step needs.
void refuse_passes_without_room(const TrainSettings& settings, const World& world,
                                std::int64_t neighbours) {
  Bytes own;
  together([&] { own = memory_of_later_passes(settings, stage_of(settings.grid, world.rank())); });
  const Bytes later = {std::ranges::max(world.all(own.value))};
  together([&] {
    refuse_later_without_room(counted_memory(settings).peak, later, neighbours, available_bytes());
  });
}

// Of the checkpoint that a run goes on from, without its weights; else of step 0.
TrainingState state_before(const TrainSettings& settings) {
  if (!settings.resume.empty()) return read_training_state(settings.resume);
  TrainingState state;
  state.model = settings.model;
  state.seed = settings.seed;
  state.trainer = nlohmann::json::object();
  return state;
}

// What the header says that is known before the weights are there.
RunFacts facts_of(const TrainSettings& settings, const Data& data, const KernelChoices& choices,
                  const std::vector<double>& peaks) {
  RunFacts facts;
  facts.cpu = cpu_text();
  facts.libraries = mpi_text() + "; " + blas_report();
  facts.openblas_core = openblas_core();
  facts.kernels = kernels_text(choices, peaks.front());
  facts.data = data.description();
  facts.word = word_name(data.format());
  on_first_rank([&] {
    facts.data_remarks = remarks_on(data);
    facts.idle = idle_options(settings);
  });
  facts.unigram_nats = unigram_entropy(data.validation_words(), settings.model.vocabulary);
  facts.work = counted_work(settings);
  facts.work.peak = peak_of(peaks);
  facts.counted = counted_memory(settings);
  return facts;
}

// The slowest rank's.
double seconds_to_prepare(TunedBackend& backend, const std::vector<CountedProduct>& products,
                          const World& world) {
  const auto began = std::chrono::steady_clock::now();
  backend.prepare(products);
  const std::chrono::duration<double> prepared = std::chrono::steady_clock::now() - began;
  return std::ranges::max(world.all(prepared.count()));
}

// With a checkpoint's weights, to go on from or to start from, or with random ones.
void fill(Weights& weights, const TrainSettings& settings, const std::string& digest,
          TrainingState& state, RunFacts& facts) {
  if (!settings.resume.empty()) {
    state = read_checkpoint(settings.resume, settings.model, weights);
    begin_other_data(state, digest, facts);
    on_first_rank([&] { sweep_checkpoints(folder_of(settings.resume)); });
  } else if (!settings.start_from.empty()) {
    const TrainingState before = read_weights(settings.start_from, settings.model, weights);
    if (before.trainer.contains("imported")) {
      state.trainer["imported"] = before.trainer.at("imported");
    }
    state.trainer["started_from"] = {{"checkpoint", settings.start_from}, {"step", before.step}};
  } else {
    weights.initialise(settings.model, settings.seed);
  }
}

void log_header(const TrainSettings& settings, const RunFacts& facts, RunLog& log) {
  log.say_lines(header_text(settings, facts));
  const std::string squeezed = squeezed_decay(settings.learning_rate, settings.length);
  if (!squeezed.empty()) log.say(squeezed);
  on_first_rank([&] { say_left_out(settings.resume, log); });
  log.record(header_json(settings, facts));
  together([&] { log.expect_whole(); });
}

}  // namespace

std::string log_path(const TrainSettings& settings) {
  return settings.log.empty() ? settings.folder + "/log.jsonl" : settings.log;
}

void refuse(const TrainSettings& settings, const TrainingState& before) {
  const Data data(settings.data, settings.model);
  refuse_other_words(settings, before, data);
  refuse_passes(settings, data.format());
  data.training_words().expect_within(settings.model.vocabulary, words_looked_at);
  data.validation_words().expect_within(settings.model.vocabulary, words_looked_at);
  if (!settings.resume.empty()) refuse_other_data(settings, before, data.digest());
  refuse_outputs(settings, settings.resume.empty() ? 0 : before.step);
}

void refuse_resume(const TrainSettings& settings, const TrainingState& state) {
  expect_same_model(state.model, settings.model);
  if (state.step == 0 && state.trainer.contains("imported")) {
    throw FailedTogether(settings.resume +
                         " was imported and has no optimizer's state to go on with; train its "
                         "weights with --start-from instead of --resume");
  }
  try {
    const nlohmann::json none = nlohmann::json::array();
    read_kernel_choices(state.trainer.value("kernels", none));
    read_transport_choices(state.trainer.value("transports", none));
  } catch (const std::runtime_error& error) {
    throw FailedTogether(settings.resume + ": " + error.what());
  }
  const double seconds = state.trainer.value("trained_seconds", 0.0);
  if (settings.length.done({.steps_before = state.step, .seconds_before = seconds}) < 1.0) return;
  throw FailedTogether(
      fmt::format("nothing is left to train after step {} and {:.3g} minutes; give more --steps or "
                  "--minutes in all",
                  state.step, seconds / 60.0));
}

TrainOutcome train_model(const TrainSettings& settings, World& world) {
  const std::int64_t neighbours = world.ranks_on_this_node();
  refuse_step_without_room(settings, neighbours);
  TrainingState state = state_before(settings);
  on_first_rank([&] { refuse_outputs(settings, state.step); });
  std::optional<Data> opened;
  together([&] {
    opened.emplace(settings.data, settings.model);
    refuse_passes(settings, opened->format());
  });
  const Data& data = *opened;
  const std::string digest = digest_of_all(data, world);
  refuse_passes_without_room(settings, world, neighbours);
  const Program program = record_step(settings.model, options_in_effect(settings),
                                      stage_of(settings.grid, world.rank()));
  TunedBackend backend;
  Channels channels(settings.grid, program.channels, settings.transport, settings.progress,
                    backend.memory());
  world.barrier();
  const std::vector<double> peaks = world.all(fma_peak_flops_per_second());

  if (!settings.resume.empty()) {
    together([&] {
      refuse_resume(settings, state);
      refuse_other_words(settings, state, data);
      refuse_other_data(settings, state, digest);
    });
  }
  together([&] { traced_step(settings, state.step); });
  const KernelChoices choices =
      choices_for(settings, state.trainer.value("kernels", nlohmann::json()), world);
  backend.set_choices(choices);
  RunFacts facts = facts_of(settings, data, choices, peaks);
  give_back_free_memory();
  facts.prepare_seconds = seconds_to_prepare(backend, products_of(settings, program), world);
  const MemoryGrowth growth;
  Weights weights(program, settings.grid, world.rank(), backend.memory());
  fill(weights, settings, digest, state, facts);
  together([&] { const CheckpointLayout can_be_saved(weights, saved_matrices(settings.model)); });
  state.trainer["typed"] = settings.typed;
  state.trainer["kernels"] = json_of(choices);
  channels.remember(
      read_transport_choices(state.trainer.value("transports", nlohmann::json::array())));
  state.trainer["words"] = name(data.format());
  state.trainer["data"] = {{"is", data.description()}, {"digest", digest}};

  facts.step = state.step;
  const Trained before = trained_before(settings.learning_rate, state);
  facts.trained_seconds = before.seconds_before;
  facts.warm_up_seconds = before.seconds_of_warm_up;
  std::optional<OwnedFolder> owned;
  RunLog log = opened_log(settings, owned);
  if (owned && !owned->remark().empty()) log.say(owned->remark());
  on_first_rank([&] { carry_along(settings); });
  const std::unique_ptr<Heartbeats> heartbeats = watched(settings, world, channels);
  Trainer trainer(settings, {world, channels, backend}, data, weights, log);
  give_back_free_memory();  // of the trials of transports
  facts.transports = transports_text(channels.choices());
  state.trainer["transports"] = json_of(channels.choices());
  log_header(settings, facts, log);
  TrainOutcome outcome = trainer.run(state, facts, growth);
  together([&] { log.expect_all_said(); });
  return outcome;
}

}  // namespace fourfold::inline engine::inline train::inline run
