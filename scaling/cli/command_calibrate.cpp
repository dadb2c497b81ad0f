// fourfold calibrate: makes a platform file of this machine, or a library's constants of the logs
// of another.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "scaling/calibrate/calibration.hpp"
#include "scaling/calibrate/collective_errors.hpp"
#include "scaling/calibrate/library_fit.hpp"
#include "scaling/cli/commands.hpp"
#include "scaling/words/output.hpp"
#include "support/flag_checks.hpp"
#include "support/own_file.hpp"
#include "support/text_file.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

struct Typed {
  CalibrationOrder order;
  std::vector<std::string> logs;
  LogRanks ranks;
  std::string base;  // a platform whose library is replaced; empty: none
  std::string library = "NCCL";
};

// The old file stays unless the new one reads as a platform.
void write_platform(const std::string& path, const std::string& text) {
  const Draft unforeseen(path);  // whose name the draft has, with the ending of a platform file
  const std::string draft = unforeseen.path() + ".toml";
  write_own_file(draft, text);
  std::string why;
  try {
    read_platform(draft);
  } catch (const std::exception& error) {
    why = error.what();
  }
  std::filesystem::remove(draft);
  if (!why.empty()) {
    if (const std::size_t at = why.find(draft); at != std::string::npos) {
      why.replace(at, draft.size(), path);
    }
    throw std::runtime_error(
        fmt::format("{} was not written: with the library of the logs, {}", path, why));
  }
  write_whole_file(path, text);
}

void refuse_twice(const std::vector<std::string>& logs) {
  std::set<std::string> seen;
  for (const std::string& log : logs) {
    if (seen.insert(std::filesystem::weakly_canonical(log).string()).second) continue;
    throw std::runtime_error(fmt::format("the log {} is given twice; give each log once", log));
  }
}

int fit_logs(const Typed& typed) {
  refuse_twice(typed.logs);
  refuse_unwritable(typed.order.out);
  std::string text;
  LibraryBase base = nccl_on_perlmutter();
  if (!typed.base.empty()) {
    const Platform machine = read_platform(typed.base);
    text = read_text_file(machine.path);
    base = {machine.library, fmt::format("as {} has it", machine.name)};
  }
  std::vector<CollectiveSample> samples;
  for (const std::string& log : typed.logs) {
    const std::vector<CollectiveSample> of = read_collective_log(log, typed.ranks);
    samples.insert(samples.end(), of.begin(), of.end());
  }
  const LibraryFit fit = fit_library(samples, base);
  const std::string source =
      fmt::format("fourfold calibrate: fit to {} sizes in {} log{}", samples.size(),
                  typed.logs.size(), typed.logs.size() == 1 ? "" : "s");
  const std::string library = library_toml(fit, typed.library, source);
  if (text.empty()) {
    write_whole_file(typed.order.out, library);
  } else {
    write_platform(typed.order.out, with_library(text, library));
  }
  print(collective_errors_text(collective_errors(fit.library, samples)));
  print(
      fmt::format("Chosen: {}. Everything else is {}, marked unconfirmed.\n"
                  "{} has {}.\n",
                  fmt::join(fit.chosen, ", "), fit.whose, typed.order.out,
                  text.empty() ? "the [library] tables, for a platform file"
                               : "the machine with this library"));
  return 0;
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
      "rccl-tests or OSU's micro-benchmarks instead, with the errors that are left.\n\n"
      "Examples:\n"
      "  fourfold calibrate --out here.toml\n"
      "  fourfold calibrate --from-nccl-tests all_gather_*.txt all_reduce_*.txt \\\n"
      "      --platform my.toml --out mine.toml\n"
      "Then the platform by its path, and its predictions beside training on this machine:\n"
      "    fourfold project --platform ./here.toml --model gpt2-mini --devices 2 \\\n"
      "        --batch-tokens 4096\n"
      "    fourfold validate --set here --platform here.toml");
  verb->add_option("--out", typed->order.out, "FILE: the platform file")->required();
  verb->add_option("--transport", typed->order.transport,
                   "who moves the bytes in training: ring, library, window, or auto: for each\n"
                   "collective and size the fastest, chosen as training chooses")
      ->capture_default_str()
      ->check(CLI::IsMember({"ring", "library", "window", "auto"}));
  verb->add_flag("--again", typed->order.again, "forget what was measured before");
  CLI::Option* logs = verb->add_option("--from-nccl-tests", typed->logs,
                                       "FILE ...: what nccl-tests, rccl-tests or OSU printed");
  verb->add_option("--nodes", typed->ranks.nodes, "of logs that do not say it")
      ->needs(logs)
      ->check(whole_number(1));
  verb->add_option("--devices-per-node", typed->ranks.in_each, "of logs that do not say it")
      ->needs(logs)
      ->check(whole_number(1));
  verb->add_option("--platform", typed->base,
                   "a name or a TOML file: write this machine with the library of the logs")
      ->needs(logs);
  verb->add_option("--library", typed->library, "name of the library of the logs")
      ->needs(logs)
      ->capture_default_str();
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
