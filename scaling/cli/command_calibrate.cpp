// fourfold calibrate: makes a platform file of this machine, or a library's constants of the logs
// of another.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "scaling/bars/deviations.hpp"
#include "scaling/calibrate/calibration.hpp"
#include "scaling/calibrate/collective_errors.hpp"
#include "scaling/calibrate/library_fit.hpp"
#include "scaling/calibrate/plateaus.hpp"
#include "scaling/calibrate/toml_edit.hpp"
#include "scaling/cli/commands.hpp"
#include "scaling/find/machine_change.hpp"
#include "scaling/words/output.hpp"
#include "scaling/words/text_table.hpp"
#include "support/exit_status.hpp"
#include "support/flag_checks.hpp"
#include "support/own_file.hpp"
#include "support/prose.hpp"
#include "support/text_file.hpp"
#include "support/toml_text.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

struct Typed {
  CalibrationOrder order;
  std::vector<std::string> logs;
  LogRanks ranks;
  std::string base;     // a platform whose library is replaced; empty: none
  std::string library;  // empty: that of the platform, or NCCL
  bool accept = false;
};

// What the machine was, beside what it is with the text: numbers, and one question. Throws
// std::runtime_error if the text is no platform.
std::string changes_text(const std::string& before, const std::string& path,
                         const std::string& text) {
  const Draft unforeseen(path);  // whose name the draft has, with the ending of a platform file
  const std::string draft = unforeseen.path() + ".toml";
  write_own_file(draft, text);
  std::string why, said;
  try {
    const Platform now = read_platform(draft), old = read_platform(before);
    TextTable table;
    table.columns = {{"number", "", Align::left}, {"before", ""}, {"now", ""}, {"times", ""}};
    for (const auto& [key, was, is] : changed_numbers(old, now)) {
      const auto cell = [](const std::optional<double>& value) {
        return value ? fmt::format("{:.4g}", *value) : "-";
      };
      table.rows.push_back({key, cell(was), cell(is),
                            was && is && *was != 0.0 ? fmt::format("{:.3g}", *is / *was) : "-"});
    }
    if (!table.rows.empty()) {
      said = fmt::format("Numbers of {} before and now:\n{}", old.name, format(table));
    }
    if (const auto change = changed_answer(before, draft)) {
      said += wrapped(fmt::format(
                  "What that does to {}: {:.4g} s on grid {} before, {:.4g} s on grid {} now, "
                  "{:+.1f} %, estimated.",
                  change->question, change->before.value, change->grid_before, change->after.value,
                  change->grid_after, 100.0 * (change->after / change->before - 1.0))) +
              '\n';
    }
  } catch (const std::exception& error) {
    why = error.what();
  }
  std::filesystem::remove(draft);
  if (why.empty()) return said;
  if (const std::size_t at = why.find(draft); at != std::string::npos) {
    why.replace(at, draft.size(), path);
  }
  throw std::runtime_error(
      fmt::format("{} was not written: with the library of the logs, {}", path, why));
}

void refuse_twice(const std::vector<std::string>& logs) {
  std::set<std::string> seen;
  for (const std::string& log : logs) {
    if (seen.insert(std::filesystem::weakly_canonical(log).string()).second) continue;
    throw std::runtime_error(fmt::format("the log {} is given twice; give each log once", log));
  }
}

std::string line_of(const LogRun& run, const std::string& log) {
  std::string text = fmt::format("{}:{}: {}: ", log, run.line, run.title);
  if (!run.left_out.empty()) return text + "left out, as it " + run.left_out + "\n";
  for (const LinkSample& link : run.links) {
    text += fmt::format("{} {:.4g} GB/s{}\n", link.what, link.rate.value / 1e9,
                        link.pairs > 1 ? fmt::format(" by {} pairs at once", link.pairs) : "");
  }
  if (run.samples.empty()) return text;
  const auto size = [](const CollectiveSample& one) { return one.buffer.value; };
  const CollectiveSample& most = *std::ranges::max_element(run.samples, {}, size);
  return text + fmt::format(
                    "{} on {} x {} ranks{}, {:.0f} to {:.0f} bytes, {:.4g} GB/s bus at the "
                    "largest\n",
                    name(most.kind), most.nodes, most.in_each,
                    most.at_once > 1 ? fmt::format(", {} groups at once", most.at_once) : "",
                    size(*std::ranges::min_element(run.samples, {}, size)), size(most),
                    bus_bandwidth(most) / 1e9);
}

// Why what the logs say of a link is not used: the machine has no number of it, or one in a table
// or by a key that is no statement of its own.
std::string unused_link(const std::string& text, const TomlPath& path) {
  const toml::table machine = toml::parse(text);
  if (!machine[path[0]][path[1]]) {
    return fmt::format("The machine has no {}: what the logs say of it is not used.\n",
                       fmt::join(path, "."));
  }
  return fmt::format(
      "What the logs say of {} is not used: to be replaced, it stands below [{}] as "
      "{} = {{ value = ..., source = \"...\" }}.\n",
      fmt::join(path, "."), path[0], path[1]);
}

// What a machine's file says of a link that a log measured, replaced. Of links between ranks it has
// no number of its own.
std::string with_links(std::string text, const std::vector<LogRun>& runs,
                       std::vector<std::string>& changed, std::string& said) {
  const std::pair<const char*, TomlPath> keys[]{{"host to device", {"processor", "host_link_GBps"}},
                                                {"device to device", {"node", "switch_port_GBps"}}};
  for (const auto& [what, path] : keys) {
    std::vector<double> rates;
    for (const LogRun& run : runs) {
      for (const LinkSample& link : run.links) {
        if (link.what == what) rates.push_back(link.rate.value / 1e9);
      }
    }
    if (rates.empty()) continue;
    const std::string value =
        fmt::format("{{ value = {:.4g}, source = \"fourfold calibrate: median of nvbandwidth\" }}",
                    quantile(rates, 0.5));
    if (auto edited = with_value(text, path, value)) {
      text = std::move(*edited);
      changed.push_back(fmt::format("{}", fmt::join(path, ".")));
    } else {
      said += unused_link(text, path);
    }
  }
  return text;
}

// What makes a fit no answer.
std::vector<std::string> faults_of(const LibraryFit& fit,
                                   const std::vector<CollectiveErrors>& errors) {
  constexpr double most = 0.25;
  std::vector<std::string> faults;
  for (const auto& [key, rising] : fit.rising) {
    if (rising.alone) faults.push_back(rising.words);
  }
  for (const CollectiveErrors& one : errors) {
    if (one.mean_absolute <= most) continue;
    faults.push_back(fmt::format("{}s {} are modelled {:.0f} % off on average, more than {:.0f} %",
                                 one.kind, sizes_in_words(one), 100 * one.mean_absolute,
                                 100 * most));
  }
  return faults;
}

// What is written, and what is said of it.
struct FittedFile {
  std::string text, said;
  std::vector<std::string> chosen, faults;  // numbers that the logs decide; why to doubt them
};

// A machine names its software file from its own folder, and the new one may stand in another.
std::string with_software_from(const std::string& text, const std::string& old_file,
                               const std::string& new_file) {
  const auto software = toml::parse(text)["software"].value<std::string>();
  if (!software || !software->ends_with(".toml")) return text;
  const auto folder_of = [](const std::string& file) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(file).parent_path());
  };
  const std::filesystem::path old_folder = folder_of(old_file), new_folder = folder_of(new_file);
  if (std::filesystem::path(*software).is_absolute() || old_folder == new_folder) return text;
  const std::string path = std::filesystem::relative(old_folder / *software, new_folder).string();
  if (auto edited = with_value(text, {"software"}, toml_string(path))) return *edited;
  throw std::logic_error("a software file that no statement names");
}

// Of the machine whose library is replaced, whose text `file` then has.
LibraryBase base_of(const std::string& named, const std::string& out, FittedFile& file) {
  if (named.empty()) return nccl_on_perlmutter();
  const Platform machine = read_platform(named);
  file.text = with_software_from(read_text_file(machine.path), machine.path, out);
  if (machine.name != std::filesystem::path(machine.path).stem()) {
    throw std::runtime_error(fmt::format(
        "--platform {}: the library of the logs takes the place of the machine's own; give {}",
        named, std::filesystem::path(machine.path).stem().string()));
  }
  return {machine.library, fmt::format("as {} has it", machine.name)};
}

std::vector<LogRun> read_logs(const Typed& typed, std::string& said) {
  std::vector<LogRun> runs;
  for (const std::string& log : typed.logs) {
    for (LogRun& run : read_collective_log(log, typed.ranks)) {
      said += line_of(run, log);
      for (const std::string& doubt : run.doubts) said += doubt + "\n";
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

void take_library(const std::vector<CollectiveSample>& samples, const LibraryBase& base,
                  const Typed& typed, FittedFile& file) {
  const LibraryFit fit = [&] {
    try {
      return fit_library(samples, base);
    } catch (const std::invalid_argument&) {
      print(file.said);  // what was read tells what is missing
      throw;
    }
  }();
  const std::string source =
      fmt::format("fourfold calibrate: fit to {} sizes in {} log{}", samples.size(),
                  typed.logs.size(), typed.logs.size() == 1 ? "" : "s");
  const std::string own = base.library.name.empty() ? "NCCL" : base.library.name;
  const std::string library =
      library_toml(fit, typed.library.empty() ? own : typed.library, source);
  if (file.text.empty()) {
    file.text = library;
  } else {
    const KeptMeasurements kept = kept_measurements(file.text, samples);
    if (!kept.said.empty()) file.said += kept.said + "\n";
    file.text = with_library(file.text, library, kept);
  }
  const std::vector<CollectiveErrors> errors = collective_errors(fit.library, samples);
  file.faults = faults_of(fit, errors);
  for (const auto& [key, rising] : fit.rising) {
    if (!rising.alone) file.said += rising.words + "\n";
  }
  file.said += collective_errors_text(errors);
  file.chosen.insert(file.chosen.begin(), fit.chosen.begin(), fit.chosen.end());
}

int fit_logs(const Typed& typed) {
  refuse_twice(typed.logs);
  refuse_unwritable(typed.order.out);
  FittedFile file;
  const LibraryBase base = base_of(typed.base, typed.order.out, file);
  const std::vector<LogRun> runs = read_logs(typed, file.said);
  const std::vector<CollectiveSample> samples = samples_of(runs);
  if ((typed.ranks.nodes > 0 || typed.ranks.in_each > 0) && !samples.empty() &&
      std::ranges::none_of(runs, &LogRun::placed_by_user)) {
    file.said +=
        "The logs say where their ranks were: --nodes and --devices-per-node are not used.\n";
  }
  if (!file.text.empty()) {
    file.text = with_links(std::move(file.text), runs, file.chosen, file.said);
  }
  if (samples.empty() && file.chosen.empty()) {
    print(file.said);
    throw std::runtime_error(
        "the logs have no collective, and of links nothing that the platform has a number for; "
        "give logs of all-reduce, all-gather or reduce-scatter, or --platform with host_link_GBps");
  }
  if (!samples.empty()) take_library(samples, base, typed, file);
  if (!typed.base.empty()) file.said += changes_text(typed.base, typed.order.out, file.text);
  for (const std::string& fault : file.faults) print_line("Doubtful: " + fault + ".");
  print(file.said);
  if (!file.faults.empty() && !typed.accept) {
    print_line(
        fmt::format("{} was not written; --accept writes it all the same.", typed.order.out));
    return status_no;
  }
  write_whole_file(typed.order.out, file.text);
  print(wrapped(fmt::format("Chosen: {}. Everything else is {}{}.", fmt::join(file.chosen, ", "),
                            base.whose, samples.empty() ? "" : ", marked unconfirmed")) +
        fmt::format("\n{} has {}.\n", typed.order.out,
                    typed.base.empty()
                        ? "the [library] tables, for a platform file; with --platform a machine's "
                          "numbers stand beside them"
                        : "the machine with this library"));
  return status_done;
}

}  // namespace

void add_calibrate_verb(CLI::App& app, Action& action) {
  const auto typed = std::make_shared<Typed>();
  CLI::App* verb =
      app.add_subcommand("calibrate", "Measure this machine and write a platform file of it");
  verb->footer(
      "Times single operations of the training engine: products by shape, every other kernel,\n"
      "attention, collectives and messages by size, and what they lose to each other; on one rank\n"
      "a core, on two a core, and on one. What is measured is kept beside the output, in\n"
      "FILE.measured.jsonl: a run that was stopped goes on, and --again starts anew. A software\n"
      "file stands beside the platform. Measure while the machine has nothing else to do.\n\n"
      "With --from-nccl-tests, the constants of a collective library from the output of "
      "nccl-tests,\n"
      "rccl-tests, OSU's micro-benchmarks or IMB-MPI1 instead, with the errors that are left; "
      "links\n"
      "from nvbandwidth. Each table of a log is a run of its own, with its kind and ranks, "
      "whatever\n"
      "stands between and before its lines. A fit without a plateau, or more than 25 % off, ends\n"
      "with status 1 and is written with --accept only.\n\n"
      "Examples:\n"
      "  fourfold calibrate --out here.toml\n"
      "  fourfold calibrate --from-nccl-tests all_gather_*.txt all_reduce_*.txt \\\n"
      "      --platform my.toml --out mine.toml\n"
      "Then the platform by its path, and its predictions beside training on this machine:\n"
      "    fourfold project --platform ./here.toml --model gpt2-mini --devices 2 \\\n"
      "        --batch-tokens 4096\n"
      "    fourfold validate --set here --platform here.toml");
  verb->add_option("--out", typed->order.out, "FILE: the platform file")->required();
  CLI::Option* transport =
      verb->add_option("--transport", typed->order.transport,
                       "who moves the bytes in training: ring, library, window, or auto: for each\n"
                       "collective and size the fastest, chosen as training chooses")
          ->capture_default_str()
          ->check(CLI::IsMember({"ring", "library", "window", "auto"}));
  CLI::Option* again =
      verb->add_flag("--again", typed->order.again, "forget what was measured before");
  CLI::Option* logs =
      verb->add_option("--from-nccl-tests", typed->logs,
                       "FILE ...: what nccl-tests, rccl-tests, OSU, IMB-MPI1 or nvbandwidth\n"
                       "printed, as text or JSON")
          ->excludes(transport)
          ->excludes(again);
  verb->add_option("--nodes", typed->ranks.nodes, "of logs that do not say it, as OSU's")
      ->needs(logs)
      ->check(whole_number(1));
  verb->add_option("--devices-per-node", typed->ranks.in_each,
                   "of logs that do not say it, as OSU's and IMB's")
      ->needs(logs)
      ->check(whole_number(1));
  verb->add_option("--platform", typed->base,
                   "a name or a TOML file: write this machine with the library of the logs")
      ->needs(logs);
  verb->add_option("--library", typed->library,
                   "name of the library of the logs; that of --platform if absent, or NCCL")
      ->needs(logs);
  verb->add_flag("--accept", typed->accept, "write a doubtful fit, too")->needs(logs);
  verb->callback([typed, &action] {
    action = [typed] {
      if (!typed->order.out.ends_with(".toml")) {
        throw std::runtime_error("--out " + typed->order.out + ": a platform file ends in .toml");
      }
      return typed->logs.empty() ? calibrate_machine(typed->order) : fit_logs(*typed);
    };
  });
}

}  // namespace fourfold::inline scaling::inline cli
