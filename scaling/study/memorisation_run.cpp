// Training runs side by side, then their models' completions; long because all go on from one
// folder. See memorisation_run.hpp.
#include "scaling/study/memorisation_run.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "scaling/jobs/interrupt.hpp"
#include "scaling/jobs/launch.hpp"
#include "scaling/jobs/progress.hpp"
#include "scaling/records/provenance.hpp"
#include "scaling/study/memorisation_record.hpp"
#include "scaling/study/memorisation_store.hpp"
#include "scaling/study/plot.hpp"
#include "scaling/words/output.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/parameter_count.hpp"
#include "support/json_object.hpp"
#include "support/own_file.hpp"
#include "support/owned_folder.hpp"
#include "support/prose.hpp"
#include "support/scratch_folder.hpp"
#include "support/standard_streams.hpp"
#include "support/text_file.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

namespace files = std::filesystem;

// A model to be continued with one seed's buckets.
struct Run {
  SizedModel model;
  std::size_t seed = 0;  // its place in the study
  bool goldfish = false;
  std::string key;
  std::string name;  // of its folder
};

double cpu_seconds_of_children() {
  struct rusage use {};
  ::getrusage(RUSAGE_CHILDREN, &use);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

class Desk {
 public:
  Desk(const MemorisationStudy& study, std::string folder)
      : study_(study), folder_(std::move(folder)) {
    for (const SizedModel& model : study_.models) {
      write_own_file(
          model_file(model),
          fmt::format("# Of a study of memorisation.\nlayers = {}\nhidden = {}\nheads = {}\n"
                      "sequence_tokens = {}\nvocabulary = 256\n",
                      model.layers, model.hidden, model.heads, study_.document_tokens));
      models_[model.name] = read_model(model_file(model));
    }
  }

  const Model& model(const std::string& name) const { return models_.at(name); }
  // Of one step, in what a parameter and a byte cost.
  double work_of(const SizedModel& size, const TrainingPhase& phase, std::int64_t steps) const {
    return parameter_count(model(size.name)) *
           static_cast<double>(phase.batch * steps * study_.document_tokens);
  }

  // What a run's record depends on: the study, the text and the run.
  std::vector<Run> runs(const std::string& definition) const {
    std::vector<Run> all;
    for (const SizedModel& model : study_.models) {
      for (std::size_t seed = 0; seed < study_.seeds.size(); ++seed) {
        for (const bool goldfish : {false, true}) {
          const std::string name =
              fmt::format("{}-{}{}", model.name, study_.seeds[seed], goldfish ? "-goldfish" : "");
          all.push_back({model, seed, goldfish, digest(definition + name), name});
        }
      }
    }
    return all;
  }

  std::string base_of(const SizedModel& model) const { return folder_ + "/base-" + model.name; }

  // Models that are to be continued, pre-trained on the background alone.
  void pretrain(const std::vector<SizedModel>& models) const {
    std::vector<Job> jobs;
    for (const SizedModel& model : models) {
      make_scratch_folder(base_of(model));
      std::vector<std::string> command = training(base_of(model), folder_ + "/background.txt",
                                                  study_.pretraining, study_.pretraining_steps);
      add(command, {"--model=" + model_file(model)});
      jobs.push_back({command, ""});
    }
    do_all(jobs);
  }

  // Runs of any models, continued side by side, and what they then complete.
  std::vector<MemorisationRecord> carry_out(const std::vector<Run>& runs,
                                            const Corpus& corpus) const {
    const double before = cpu_seconds_of_children();
    std::vector<Job> training_jobs, completing_jobs;
    for (const Run& run : runs) {
      const std::string folder = folder_ + "/" + run.name;
      make_scratch_folder(folder);
      write_own_file(folder + "/read.txt", curriculum(study_, corpus, run.seed));
      write_own_file(folder + "/documents.jsonl", documents(corpus.buckets[run.seed]));
      std::vector<std::string> command =
          training(folder, folder + "/read.txt", study_.continued, study_.continued_steps());
      add(command, {"--data-order=sequential", "--start-from=" + base_of(run.model)});
      if (run.goldfish) {
        add(command, {"--goldfish-k", std::to_string(study_.goldfish_k), "--goldfish-h",
                      std::to_string(study_.goldfish_h)});
      }
      training_jobs.push_back({command, ""});
      completing_jobs.push_back({{engine_, "sample", "--ranks=1", "--checkpoint=" + folder,
                                  "--complete=" + folder + "/documents.jsonl", "--json"},
                                 ""});
    }
    do_all(training_jobs);
    const std::vector<JobResult> completed = do_all(completing_jobs);
    const double cpu = cpu_seconds_of_children() - before;
    std::vector<MemorisationRecord> records;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      records.push_back(
          record_of(runs[i], parse_json(completed[i].output, "the answer of fourfold-engine")));
      records.back().cpu_seconds = cpu / static_cast<double>(runs.size());
      remove_scratch_folder(folder_ + "/" + runs[i].name);  // some ten times a model each
    }
    return records;
  }

 private:
  static void add(std::vector<std::string>& command, std::vector<std::string> words) {
    command.insert(command.end(), words.begin(), words.end());
  }

  std::string model_file(const SizedModel& model) const {
    return folder_ + "/" + model.name + ".toml";
  }

  std::vector<std::string> training(const std::string& folder, const std::string& data,
                                    const TrainingPhase& phase, std::int64_t steps) const {
    return {engine_,
            "train",
            "--ranks=1",
            "--tokens=0",
            "--folder=" + folder,
            "--data=" + data,
            "--validation-data=" + folder_ + "/held-out.txt",
            "--validate-every=0",
            fmt::format("--steps={}", steps),
            fmt::format("--batch={}", phase.batch),
            fmt::format("--warm-up={}", phase.warm_up),
            fmt::format("--learning-rate={}", phase.learning_rate),
            fmt::format("--last-learning-rate={}", phase.last_learning_rate)};
  }

  // One after the other where there are more than cores.
  static std::vector<JobResult> do_all(const std::vector<Job>& jobs) {
    const std::vector<JobResult> results = run_side_by_side(jobs);
    for (const JobResult& result : results) {
      if (result.status != 0) {
        throw std::runtime_error(
            fmt::format("a run of the study {}: {}", ending_text(result), result.complaint));
      }
    }
    return results;
  }

  std::string documents(const std::vector<std::vector<std::string>>& buckets) const {
    std::string lines;
    const auto prompt = static_cast<std::size_t>(study_.document_tokens - study_.ending_tokens);
    for (const std::vector<std::string>& bucket : buckets) {
      for (const std::string& document : bucket) {
        const nlohmann::ordered_json line{{"prompt", document.substr(0, prompt)},
                                          {"completion", document.substr(prompt)}};
        lines += line.dump() + "\n";
      }
    }
    return lines;
  }

  MemorisationRecord record_of(const Run& run, const nlohmann::json& completed) const {
    MemorisationRecord record;
    record.key = run.key;
    record.model = run.model.name;
    record.parameters = parameter_count(model(run.model.name));
    record.seed = study_.seeds[run.seed];
    record.goldfish = run.goldfish;
    record.words_per_second = completed.at("words_per_s");
    const auto equal = completed.at("equal_words").get<std::vector<std::int64_t>>();
    std::size_t next = 0;
    for (std::size_t b = 0; b < study_.repetitions.size(); ++b) {
      std::int64_t matches = 0, words = 0;
      for (std::int64_t i = 0; i < study_.documents; ++i, ++next) {
        matches += equal.at(next) == study_.ending_tokens ? 1 : 0;
        words += equal.at(next);
      }
      record.matches.push_back(matches);
      record.equal_words.push_back(static_cast<double>(words) /
                                   static_cast<double>(study_.documents));
    }
    const std::string log = folder_ + "/" + run.name + "/log.jsonl";
    for (const TextLine& line : read_lines(log, "the log")) {
      const nlohmann::json entry = parse_json(line.text, log);
      if (entry.at("kind") == "validation") record.validation_loss = entry.at("loss");
    }
    return record;
  }

  const MemorisationStudy& study_;
  std::string folder_;
  std::string engine_ = beside_this_executable("fourfold-engine");
  std::map<std::string, Model> models_;
};

std::string joined(const std::vector<std::string>& documents) {
  std::string text;
  for (const std::string& document : documents) text += document;
  return text + "\n";
}

// Everything that a record depends on, as text.
std::string definition_of(const MemorisationStudy& study, const std::string& text) {
  const auto phase = [](const TrainingPhase& p) {
    return fmt::format("{} {} {} {};", p.batch, p.warm_up, p.learning_rate, p.last_learning_rate);
  };
  std::string words = fmt::format("{} {} {} {} {} {} {} ", study.document_tokens,
                                  study.ending_tokens, study.documents, study.goldfish_k,
                                  study.goldfish_h, study.pretraining_steps, study.injected);
  words += phase(study.pretraining) + phase(study.continued);
  for (const std::int64_t times : study.repetitions) words += fmt::format("{} ", times);
  for (const std::int64_t seed : study.seeds) words += fmt::format("s{} ", seed);
  for (const SizedModel& model : study.models) {
    words += fmt::format("{} {} {} {};", model.name, model.layers, model.hidden, model.heads);
  }
  return words + digest(text);
}

void write_results(const MemorisationStudy& study, const std::vector<MemorisationRecord>& records,
                   const std::string& folder, const CampaignOrder& order) {
  const std::vector<MemorisationSeries> series = series_of(study, records);
  std::string text = memorisation_table(study, series), lines;
  double cpu = 0.0;
  for (const MemorisationRecord& record : records) {
    cpu += record.cpu_seconds;
    lines += to_json(record) + "\n";
  }
  text += fmt::format("{:.1f} CPU minutes of continued training and completion\n", cpu / 60.0);
  print(order.answers == Answers::tables ? text : lines);
  write_own_file(folder + "/table.txt", text);
  write_own_file(folder + "/memorisation.csv", memorisation_csv(study, series));
  say_line(draw_memorisation(folder, study.title, order.width_in));
}

// As many of them at once as there are cores, all of one model, so that they end together.
template <typename Entry, typename Same>
std::vector<std::vector<Entry>> side_by_side(const std::vector<Entry>& all, const Same& same) {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::vector<Entry>> groups;
  for (const Entry& entry : all) {
    if (groups.empty() || groups.back().size() == cores || !same(groups.back().front(), entry)) {
      groups.emplace_back();
    }
    groups.back().push_back(entry);
  }
  return groups;
}

// What a study has not done yet.
struct OpenWork {
  std::vector<SizedModel> bases;  // to be pre-trained
  std::string stamp;              // the name of a file beside a base that is done
  std::vector<Run> runs;
};

OpenWork open_work(const MemorisationStudy& study, const Desk& desk, const std::vector<Run>& runs,
                   const MemorisationStore& store, const std::string& stamp) {
  OpenWork open{{}, stamp, {}};
  for (const Run& run : runs) {
    if (store.with_key(run.key) == nullptr) open.runs.push_back(run);
  }
  for (const SizedModel& model : study.models) {
    const bool needed = std::ranges::any_of(
        open.runs, [&](const Run& run) { return run.model.name == model.name; });
    if (needed && !files::exists(desk.base_of(model) + "/" + stamp)) open.bases.push_back(model);
  }
  return open;
}

void carry_out(const OpenWork& open, const MemorisationStudy& study, const Desk& desk,
               const Corpus& corpus, MemorisationStore& store) {
  const auto base_groups =
      side_by_side(open.bases, [](const SizedModel&, const SizedModel&) { return true; });
  const auto run_groups = side_by_side(
      open.runs, [](const Run& a, const Run& b) { return a.model.name == b.model.name; });
  const auto work_of_bases = [&](const std::vector<SizedModel>& group) {
    double work = 0.0;
    for (const SizedModel& model : group) {
      work = std::max(work, desk.work_of(model, study.pretraining, study.pretraining_steps));
    }
    return work;
  };
  const auto work_of_runs = [&](const std::vector<Run>& group) {
    return desk.work_of(group.front().model, study.continued, study.continued_steps());
  };
  double work = 0.0;
  for (const auto& group : base_groups) work += work_of_bases(group);
  for (const auto& group : run_groups) work += work_of_runs(group);
  Progress progress(std::ssize(base_groups) + std::ssize(run_groups), work);
  for (const auto& group : base_groups) {
    progress.begin("pre-training of " + group.front().name, work_of_bases(group));
    desk.pretrain(group);
    for (const SizedModel& model : group) {
      write_own_file(desk.base_of(model) + "/" + open.stamp, "");
    }
    progress.finish(counted(std::ssize(group), "model"));
  }
  for (const auto& group : run_groups) {
    progress.begin(group.front().name, work_of_runs(group));
    std::string result;
    for (const MemorisationRecord& record : desk.carry_out(group, corpus)) {
      store.append(record);
      result += fmt::format("{}{} of {} at {} repetitions{}", result.empty() ? "" : "; ",
                            record.matches.back(), study.documents, study.repetitions.back(),
                            record.goldfish ? " with Goldfish loss" : "");
    }
    progress.finish(result);
  }
}

// What is for points of other campaigns. Retries that are typed as they are anyway do not show.
void refuse_idle_flags(const CampaignOrder& order) {
  for (const auto& [flag, typed] : {std::pair("--fidelity", order.fidelity.has_value()),
                                    {"--grids-by", !order.grids_by.empty()},
                                    {"--slice", order.slice.has_value()},
                                    {"--devices", order.devices.has_value()},
                                    {"--launch", !order.launch.empty()},
                                    {"--retries", order.retries != CampaignOrder{}.retries}}) {
    if (!typed) continue;
    throw std::runtime_error(
        fmt::format("a memorisation study is measured as a whole, on the cores of this machine; {} "
                    "has no effect on it",
                    flag));
  }
}

}  // namespace

int run_memorisation(const MemorisationStudy& study, const CampaignOrder& order) {
  refuse_idle_flags(order);
  const std::string folder = order.output.empty() ? "results/" + study.name : order.output;
  const std::string text = text_of_folder(study.text_folder);
  const Corpus corpus = make_corpus(study, text);
  files::create_directories(folder);
  const OwnedFolder owned(folder, "records.jsonl");
  if (!owned.remark().empty()) say_line(owned.remark());
  const Desk desk(study, folder);
  write_own_file(folder + "/background.txt", joined(corpus.background));
  write_own_file(folder + "/held-out.txt", joined(corpus.held_out));
  MemorisationStore store(folder + "/records.jsonl", order.opening);
  const std::string definition = definition_of(study, text);
  const std::vector<Run> runs = desk.runs(definition);
  const OpenWork open = open_work(study, desk, runs, store, digest(definition));
  say_line(fmt::format("{}: {}, {} kept, {} to run; {} to be pre-trained", study.title,
                       counted(std::ssize(runs), "run"), runs.size() - open.runs.size(),
                       open.runs.size(), counted(std::ssize(open.bases), "model")));
  try {
    carry_out(open, study, desk, corpus, store);
  } catch (const Interrupted&) {
    say_line("interrupted: finished runs are kept in " + folder +
             "/records.jsonl; the same command goes on from there");
    throw;
  }
  std::vector<MemorisationRecord> records;
  for (const Run& run : runs) records.push_back(*store.with_key(run.key));
  write_results(study, records, folder, order);
  return 0;
}

}  // namespace fourfold::inline scaling::inline study
