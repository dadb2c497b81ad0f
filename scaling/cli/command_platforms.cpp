// fourfold platforms and fourfold models: what the other verbs work with.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "platforms/file/template.hpp"
#include "platforms/show/show.hpp"
#include "platforms/show/simgrid_xml.hpp"
#include "scaling/cli/commands.hpp"
#include "scaling/words/output.hpp"
#include "scaling/words/text_table.hpp"
#include "schedule/models/model.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_template.hpp"
#include "support/exit_status.hpp"
#include "support/field_json.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

// "80.0 billion", "0.83 million".
std::string parameters_text(double count) {
  return count < 1e9 ? fmt::format("{:.2f} million", count / 1e6)
                     : fmt::format("{:.1f} billion", count / 1e9);
}

std::string models_text() {
  TextTable table;
  table.columns = {{"model", "", Align::left},
                   {"layers", ""},
                   {"hidden", ""},
                   {"heads", ""},
                   {"sequence", ""},
                   {"vocabulary", ""},
                   {"parameters", ""},
                   {"block, where it is not GPT-2's", "", Align::left}};
  std::vector<Model> models;
  for (const std::string& name : known_models()) models.push_back(read_model(name));
  std::stable_sort(models.begin(), models.end(), [](const Model& a, const Model& b) {
    return parameter_count(a) < parameter_count(b);
  });
  for (const Model& model : models) {
    table.rows.push_back({model.name, fmt::to_string(model.layers), fmt::to_string(model.hidden),
                          fmt::to_string(model.heads), fmt::to_string(model.sequence),
                          fmt::to_string(model.vocabulary), parameters_text(parameter_count(model)),
                          block_shape(model)});
  }
  return format(table);
}

void add_export_verb(CLI::App& platforms, Action& action) {
  struct Typed {
    std::string platform, output;
    bool simgrid_xml = false;
    std::int64_t devices = 64;
  };
  const auto typed = std::make_shared<Typed>();
  CLI::App* verb = platforms.add_subcommand("export", "Write a machine for other programs");
  verb->footer("Example:\n  fourfold platforms export frontier --simgrid-xml --devices 64");
  verb->add_option("NAME", typed->platform, "a name or a TOML file")->required();
  verb->add_flag("--simgrid-xml", typed->simgrid_xml, "as a SimGrid platform file, version 4.1")
      ->required();
  verb->add_option("--devices", typed->devices, "how many, filling nodes one by one; at most 256")
      ->capture_default_str();
  verb->add_option("--output", typed->output, "FILE; default: standard output");
  verb->callback([typed, &action] {
    action = [typed] {
      const std::string xml = simgrid_xml(read_platform(typed->platform), typed->devices);
      if (typed->output.empty()) {
        print(xml);
      } else {
        write_whole_file(typed->output, xml);
      }
      return 0;
    };
  });
}

void add_template_verb(CLI::App& platforms, Action& action) {
  const auto topology = std::make_shared<std::string>("fat-tree");
  CLI::App* verb = platforms.add_subcommand("template", "Print a file for a machine of your own");
  verb->footer(
      "A complete file with typical numbers; every key says what it means, how to measure it and\n"
      "what it moves. docs/platforms.md has the same as tables.\n\n"
      "Example:\n"
      "  fourfold platforms template --topology dragonfly > my.toml\n"
      "  fourfold platforms show my.toml\n"
      "  fourfold project --platform my.toml --model gpt-20b --devices 512");
  verb->add_option("--topology", *topology,
                   "of the network: crossbar, dragonfly, dragonfly-plus, fat-tree or torus")
      ->capture_default_str();
  verb->callback([topology, &action] {
    action = [topology] {
      print(platform_template(*topology));
      return 0;
    };
  });
}

std::string models_json() {
  nlohmann::json models = nlohmann::json::array();
  for (const std::string& name : known_models()) {
    const Model model = read_model(name);
    nlohmann::json described = json_of_values(model_fields().values(model));
    described["name"] = model.name;
    described["block"] = block_shape(model);
    described["parameters"] = std::llround(parameter_count(model));
    models.push_back(std::move(described));
  }
  return models.dump() + '\n';
}

std::string platforms_json() {
  nlohmann::json platforms = nlohmann::json::array();
  for (const std::string& name : known_platforms()) {
    const Platform platform = read_platform(name);
    const Processor& processor = platform.processor;
    platforms.push_back({{"name", platform.name},
                         {"title", platform.title},
                         {"nodes", platform.nodes},
                         {"devices", platform.devices()},
                         {"network", kind_in_words(platform.network)},
                         {"advertised_peak_flop_per_s_per_device", processor.advertised_peak.value},
                         {"empirical_peak_flop_per_s_per_device", processor.empirical_peak.value},
                         {"memory_B_per_device", processor.memory.value}});
  }
  return platforms.dump() + '\n';
}

}  // namespace

void add_platforms_verb(CLI::App& app, Action& action) {
  struct Typed {
    std::string platform;
    bool json = false;  // of show
    bool list_json = false;
  };
  const auto typed = std::make_shared<Typed>();
  CLI::App* verb =
      app.add_subcommand("platforms", "List the machines; show, export or describe one");
  verb->footer(
      "Examples:\n"
      "  fourfold platforms\n"
      "  fourfold platforms show frontier\n"
      "  fourfold platforms export frontier --simgrid-xml --devices 64");
  const auto list = [typed] {
    print(typed->list_json ? platforms_json() : list_platforms());
    return 0;
  };
  CLI::App* list_verb = verb->add_subcommand("list", "List the machines, as without a verb");
  list_verb->footer("Example:\n  fourfold platforms list --json");
  for (CLI::App* one : {verb, list_verb}) {
    one->add_flag("--json", typed->list_json, "print one line of JSON");
  }
  list_verb->callback([list, &action] { action = list; });
  verb->callback([verb, list, &action] {
    if (verb->get_subcommands().empty()) action = list;
  });
  CLI::App* show = verb->add_subcommand("show", "Draw node and network of a machine");
  show->footer("Example:\n  fourfold platforms show frontier");
  show->add_option("NAME", typed->platform, "a name or a TOML file")->required();
  show->add_flag("--json", typed->json, "print numbers and sources as JSON");
  show->callback([typed, &action] {
    action = [typed] {
      const Platform platform = read_platform(typed->platform);
      const bool json = typed->json || typed->list_json;
      print(json ? show_platform_json(platform) : show_platform(platform));
      return 0;
    };
  });
  add_export_verb(*verb, action);
  add_template_verb(*verb, action);
}

void add_models_verb(CLI::App& app, Action& action) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand("models", "List the models, or print a file of one");
  verb->footer(
      "Examples:\n"
      "  fourfold models --json\n"
      "  fourfold models template > my-model.toml");
  verb->add_flag("--json", *json, "print one line of JSON");
  CLI::App* own = verb->add_subcommand("template", "Print a file for a model of your own");
  own->footer(
      "Every key says what it means.\n\n"
      "Example:\n"
      "  fourfold models template > my-model.toml");
  own->callback([&action] {
    action = [] {
      print(model_template());
      return status_done;
    };
  });
  verb->callback([verb, json, &action] {
    if (!verb->get_subcommands().empty()) return;
    action = [json] {
      print(*json ? models_json() : models_text());
      return 0;
    };
  });
}

}  // namespace fourfold::inline scaling::inline cli
