// fourfold collectives: what every algorithm costs a group of devices, by size.
#include <CLI/App.hpp>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "scaling/calibrate/collective_errors.hpp"
#include "scaling/cli/commands.hpp"
#include "scaling/find/strategy_words.hpp"
#include "scaling/text/collective_table.hpp"
#include "scaling/words/output.hpp"
#include "support/flag_checks.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

std::map<std::string, std::string> cells_of(const std::vector<std::string>& typed) {
  std::map<std::string, std::string> cells;
  for (const std::string& one : typed) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos) {
      throw std::runtime_error("--only " + one + ": COLUMN=VALUE is expected");
    }
    cells[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return cells;
}

// What all send to each member; empty where nothing was typed.
std::vector<double> parts_in(const std::string& typed) {
  std::vector<double> parts;
  if (typed.empty()) return parts;
  for (std::string word : listed("--parts", typed)) {
    const std::string wrong = number(0.0)(word);
    if (!wrong.empty()) throw std::runtime_error("--parts '" + typed + "': " + wrong);
    parts.push_back(std::stod(word));
  }
  return parts;
}

}  // namespace

void add_collectives_verb(CLI::App& app, Action& action) {
  struct Typed {
    std::string platform, library, parts;
    std::int64_t devices = 2;
    std::int64_t stride = 1;
    bool json = false;
    std::string measured;
    std::vector<std::string> only;
  };
  const auto typed = std::make_shared<Typed>();
  CLI::App* verb = app.add_subcommand("collectives", "Time collectives by size and algorithm");
  verb->footer(
      "Microseconds and bus bandwidth of all-gather, reduce-scatter, all-reduce, all-to-all,\n"
      "broadcast and an exchange with neighbours in one group of devices, while the groups\n"
      "between its members do the same. With --parts, of an all-to-all of unequal parts, too.\n\n"
      "Example, the groups of eight that lie in eight nodes of Frontier:\n"
      "  fourfold collectives --platform frontier --devices 8 --stride 8\n\n"
      "With --measured, how far the model is from measurements instead: a CSV with the columns "
      "op,\n"
      "nodes, gpus_per_node, bytes and time_us as nccl-tests print them, and concurrent_groups "
      "where\n"
      "several groups of a node ran at once.");
  verb->add_option("--platform", typed->platform, "a name or a TOML file")->required();
  verb->add_option("--library", typed->library,
                   "another library that was measured on it: pccl or cray-mpich on frontier");
  CLI::Option* devices =
      verb->add_option("--devices", typed->devices, "members of the group")->check(whole_number(1));
  verb->add_option("--stride", typed->stride, "distance between neighbours, in devices")
      ->capture_default_str()
      ->check(whole_number(1));
  CLI::Option* parts = verb->add_option(
      "--parts", typed->parts, "LIST: how much all send to each member, as 4,1,1,2; of any unit");
  CLI::Option* json = verb->add_flag("--json", typed->json, "print one line of JSON");
  CLI::Option* measured =
      verb->add_option("--measured", typed->measured, "FILE: a CSV of measurements")
          ->excludes(devices)
          ->excludes(json)
          ->excludes(parts);
  verb->add_option("--only", typed->only, "COLUMN=VALUE: rows of --measured that have it")
      ->needs(measured);
  verb->callback([typed, devices, measured, &action] {
    if (devices->count() + measured->count() == 0) throw CLI::RequiredError("--devices");
    action = [typed] {
      const std::string with = typed->library.empty() ? "" : '+' + typed->library;
      const Platform platform = read_platform(typed->platform + with);
      print_notices(platform);
      if (!typed->measured.empty()) {
        print(collective_errors_text(
            collective_errors(platform, typed->measured, cells_of(typed->only))));
        return 0;
      }
      const CollectiveTable table =
          collective_table(platform, typed->devices, typed->stride, parts_in(typed->parts));
      print(typed->json ? collective_json(table) : collective_text(table));
      return 0;
    };
  });
}

}  // namespace fourfold::inline scaling::inline cli
