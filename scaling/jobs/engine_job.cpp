// A question to the engine, then mpirun; see engine_job.hpp.
#include "scaling/jobs/engine_job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "scaling/jobs/attached.hpp"
#include "scaling/jobs/launch.hpp"
#include "scaling/jobs/mpirun_words.hpp"
#include "scaling/jobs/process.hpp"
#include "scaling/jobs/silent_ranks.hpp"
#include "support/complaint.hpp"
#include "support/exit_status.hpp"
#include "support/json_object.hpp"
#include "support/on_path.hpp"
#include "support/owned_folder.hpp"
#include "support/ranks_started.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline scaling::inline jobs {
namespace {

using Words = std::vector<std::string>;

Words mpirun_words(std::int64_t ranks) {
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  Words words{"mpirun", "-n", std::to_string(ranks), "--oversubscribe"};
  const auto add = [&](std::initializer_list<const char*> more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (geteuid() == 0) add({"--allow-run-as-root"});
  words.insert(words.end(), {"-x", fmt::format("{}=1", asks_for_start)});
  // Binding is left to the system: two runs side by side would be bound to the same cores.
  add({"--bind-to", "none"});
  if (!may_read_other_memory()) add({"--mca", "btl_vader_single_copy_mechanism", "none"});
  if (ranks > cores) {
    add({"--mca", "mpi_yield_when_idle", "1"});
    remark(fmt::format("{} ranks share {} core{}: right results, but slower than one rank a core",
                       ranks, cores, cores == 1 ? "" : "s"));
  }
  return words;
}

struct EngineResult {
  AttachedResult job;
  std::optional<RankDeath> death;
  bool silent = false;           // mpirun failed without a word
  std::string unsaid;            // why some of its output could not be passed on
  std::string not_started = {};  // what mpirun said of ranks that it could not start
};

// What mpirun opens on a node, measured with Open MPI 4.1: 28 files, and four for each rank. With
// fewer it waits for ever. Ranks on other nodes are not its own, and limits of a thousand do.
void allow_files_of(std::int64_t ranks) {
  constexpr std::int64_t own = 64, of_a_rank = 6, enough = 1024;
  allow_open_files(std::min(own + of_a_rank * ranks, enough),
                   fmt::format("mpirun with {} ranks", ranks));
}

// Open MPI asks these in this order; without room there mpirun waits for ever or says a page.
void expect_session_folder() {
  if (std::getenv("OMPI_MCA_orte_tmpdir_base") != nullptr) return;
  const char* name = "TMPDIR";
  for (const char* one : {"TMP", "TEMP", "TMPDIR"}) {
    if (std::getenv(one) != nullptr) name = one;
  }
  const char* const set = std::getenv(name);
  const std::string folder = set == nullptr || *set == '\0' ? "/tmp" : set;
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error(fmt::format(
        "{} {}, where mpirun keeps its files; set TMPDIR to a folder that may be written to",
        set == nullptr ? folder : fmt::format("{} names {}, which", name, folder), why));
  };
  std::error_code failed;
  const auto kind = std::filesystem::status(folder, failed).type();
  if (kind == std::filesystem::file_type::not_found) return;  // which mpirun makes
  if (kind != std::filesystem::file_type::directory) refuse("is no folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0) refuse("may not be written to");
  constexpr std::uintmax_t room = 10'000'000;  // measured: some 8 MB, whatever the ranks
  if (std::filesystem::space(folder, failed).available < room && !failed) {
    refuse("has less than 10 MB of room");
  }
}

// Variables of a Slurm job make mpirun start ranks by srun. Where there is none they are left over
// from elsewhere, and ranks start here.
void forget_a_scheduler_that_is_gone() {
  if (std::getenv("SLURM_JOB_ID") == nullptr && std::getenv("SLURM_JOBID") == nullptr) return;
  if (on_path("srun")) return;
  for (const char* framework : {"OMPI_MCA_plm", "OMPI_MCA_ras"}) setenv(framework, "^slurm", 0);
}

// What in the environment steers mpirun, and may be what is wrong.
std::string steering_variables() {
  std::vector<std::string> names;
  for (char** one = environ; *one != nullptr && names.size() < 5; ++one) {
    const std::string name(*one, std::strcspn(*one, "="));
    if (name.starts_with("OMPI_MCA_") || name == "SLURM_JOB_ID") names.push_back(name);
  }
  if (names.empty()) return "";
  return fmt::format("; the environment sets {}: unset what is not meant", fmt::join(names, ", "));
}

// Looks once a second. Time in which we were stopped ourselves does not count.
Watching watching_for(SilentRanks& silent) {
  using Clock = std::chrono::steady_clock;
  return [&silent, looked = Clock::now()](bool asked_to_stop) mutable -> std::string {
    constexpr std::chrono::duration<double> interval{1.0};
    const std::chrono::duration<double> passed = Clock::now() - looked;
    if (passed < interval) return "";
    looked = Clock::now();
    SilentRanks::View view = silent.look(std::min(passed, 2.0 * interval).count(), asked_to_stop);
    if (view.end.empty() && !view.sentence.empty()) remark(view.sentence);
    return view.end;
  };
}

EngineResult run_engine(const Words& engine, const nlohmann::json& plan) {
  const auto ranks = plan.at("ranks").get<std::int64_t>();
  SilentRanks silent(plan.value("heartbeats", nlohmann::json()));
  const Watching watching = watching_for(silent);
  if (ranks == 1) return {run_attached(engine, {}, {}, watching), std::nullopt, false, ""};
  // Wherever it stands, mpirun begins a further program behind this word.
  if (std::ranges::find(engine, ":") != engine.end()) {
    throw std::runtime_error("the word : is one of mpirun's own; write a path of this name as ./:");
  }
  allow_files_of(ranks);
  expect_session_folder();
  forget_a_scheduler_that_is_gone();
  Words command = mpirun_words(ranks);
  command.insert(command.end(), engine.begin(), engine.end());
  MpirunWords words;
  EngineResult result;
  // By us: mpirun says nothing of a full disk, and dies of a reader that left early.
  const auto pass_on = [&result](std::string_view output) {
    try {
      if (result.unsaid.empty()) print(std::string(output));
    } catch (const std::runtime_error& error) {
      result.unsaid = error.what();
    }
  };
  const auto complain = [&words](std::string_view said) {
    say(words.own(said));
    if (const std::string warning = words.warning(); !warning.empty()) {
      remark("mpirun warns: " + warning);
    }
  };
  try {
    result.job =
        run_attached(command, {pass_on, complain}, {[&] { return words.started(); }}, watching);
  } catch (const NothingStarted& nothing) {
    say(words.rest());
    throw std::runtime_error(fmt::format("mpirun {}", nothing.what()));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(
        fmt::format("{}; install openmpi-bin, or use one rank (--ranks 1)", error.what()));
  }
  say(words.rest());
  result.not_started = words.not_started();
  result.death = words.death();
  result.silent = !words.mpirun_spoke();
  return result;
}

// Of the rank, or of mpirun; 0 if none killed them.
int killing_signal(const EngineResult& result) {
  return result.death ? result.death->signal : result.job.signal;
}

std::string killed_text(const EngineResult& result) {
  const int signal = killing_signal(result);
  if (signal == 0) return "";
  const std::string who = result.death ? fmt::format("rank {}", result.death->rank) : "the job";
  return fmt::format("{} {}", who, death_text(signal));
}

// Whether somebody has asked the job to stop: us, a rank, which then ends all with that status or
// dies of it, or a launcher of its own.
bool was_stopped(const EngineResult& result) {
  constexpr std::array asks{SIGINT, SIGTERM, SIGHUP, SIGUSR1};
  const bool died_of_it = std::ranges::count(asks, killing_signal(result)) > 0;
  return result.job.interrupted || result.job.status == status_stopped || died_of_it;
}

// Those that the plan has made for the job, which go again where that leaves them empty.
class MadeFolders {
 public:
  explicit MadeFolders(const nlohmann::json& plan)
      : folders_(plan.value("made", std::vector<std::string>())) {}
  ~MadeFolders() { remove_empty(folders_); }
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;

 private:
  std::vector<std::string> folders_;
};

}  // namespace

bool may_read_other_memory() {
  char from = 1, to = 0;
  const iovec source{&from, 1}, target{&to, 1};
  return process_vm_readv(getpid(), &target, 1, &source, 1, 0) == 1;
}

bool one_of_several_ranks() {
  // Open MPI's own, those of PMI (MPICH, Cray), and Slurm's of a step, which a batch script lacks.
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* const ranks = std::getenv(variable);
    const bool in_batch_script = std::getenv("SLURM_STEP_ID") == nullptr;
    if (std::string_view(variable) == "SLURM_STEP_NUM_TASKS" && in_batch_script) continue;
    if (ranks != nullptr && std::strtol(ranks, nullptr, 10) > 1) return true;
  }
  return false;
}

void become(const EngineVerb& what, const Words& typed) {
  Words words{beside_this_executable(what.executable), what.verb};
  words.insert(words.end(), typed.begin(), typed.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  throw std::runtime_error(fmt::format("cannot start {}: {}", words[0], std::strerror(errno)));
}

EngineJob run_engine_verb(const EngineVerb& what, const Words& typed) {
  const std::string engine = beside_this_executable(what.executable);
  Words question{engine, what.verb};
  question.insert(question.end(), typed.begin(), typed.end());
  for (const std::string& word : typed) {
    if (word == "--help" || word == "-h") return {run_attached(question).status, nullptr, ""};
  }
  // Ranks compute with one; threads that start as a library loads may wait for memory for ever.
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  constexpr std::int64_t of_one_rank = 40;  // below some 30 MPI fails, and says so in 41 lines
  allow_open_files(of_one_rank, "a rank of MPI");
  constexpr std::int64_t of_its_memory = 8'388'608;  // its shared pieces have half of that
  expect_file_size(of_its_memory, "a rank of MPI");
  constexpr std::int64_t of_its_libraries = 716'800'000;  // with 300 MB mpirun says a page
  expect_addresses(of_its_libraries, "a rank of MPI");
  question.push_back("--plan");
  const JobResult answer = run_side_by_side({{question, ""}}).front();
  if (answer.signal > 0) {
    throw std::runtime_error(fmt::format("{} {}", engine, ending_text(answer)));
  }
  if (answer.status != 0) {
    say(answer.complaint);
    return {answer.status, nullptr, ""};
  }
  const nlohmann::json plan = parse_json(answer.output, "the plan of fourfold-engine");
  const MadeFolders made(plan);
  Words command{engine};
  for (const nlohmann::json& word : plan.at("arguments")) command.push_back(word);
  const EngineResult result = run_engine(command, plan);
  if (result.job.interrupted) return {status_stopped, plan, result.job.given_up};
  if (!result.job.given_up.empty()) return {status_could_not, plan, result.job.given_up};
  const bool stopped = was_stopped(result);
  // Only what measures may say no, or that it could not judge; a job that ends so otherwise has
  // failed.
  const bool measured = what.executable == "fourfold-bench" &&
                        (result.job.status == status_no || result.job.status == status_not_judged);
  const bool answers = result.job.status == status_done || measured;
  if (answers && !stopped && !result.unsaid.empty()) throw std::runtime_error(result.unsaid);
  if (!stopped && !answers && !result.not_started.empty()) {
    throw std::runtime_error(fmt::format("mpirun could not start the ranks: {}{}",
                                         result.not_started, steering_variables()));
  }
  const int status = stopped ? status_stopped : answers ? result.job.status : status_could_not;
  std::string killed = killed_text(result);
  if (status == status_could_not && result.silent && killed.empty()) {
    killed = fmt::format("mpirun ended with status {} and has not said why", result.job.status);
  }
  return {status, plan, killed};
}

}  // namespace fourfold::inline scaling::inline jobs
