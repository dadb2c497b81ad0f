// fourfold platforms and fourfold models: what the other verbs work with.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "platforms/file/template.hpp"
#include "platforms/show/show.hpp"
#include "platforms/show/simgrid_xml.hpp"
#include "scaling/calibrate/seen_node.hpp"
#include "scaling/calibrate/seen_simgrid.hpp"
#include "scaling/cli/commands.hpp"
#include "scaling/cli/shown.hpp"
#include "scaling/words/output.hpp"
#include "scaling/words/text_table.hpp"
#include "schedule/models/model.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_template.hpp"
#include "schedule/models/parameter_count.hpp"
#include "support/field_json.hpp"
#include "support/flag_checks.hpp"
#include "support/text_file.hpp"
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

// A file that a program wrote of a machine, and what it gives a template.
struct SeenBy {
  const char* flag;
  const char* help;
  std::string (*text)(const std::string& seen, const std::string& path, const TemplateShape& shape);
};

std::string said_and_written(const SeenNode& node, const TemplateShape& shape) {
  const std::string taken = taken_for_granted(node);
  if (!taken.empty()) say_once("note: " + taken + ".");
  return template_of_node(node, shape);
}

const std::vector<SeenBy>& seen_by() {
  static const std::vector<SeenBy> all{
      {"--from-nvidia-smi-topo",
       "FILE: devices, links and NICs of a node as `nvidia-smi topo -m` prints them",
       [](const std::string& seen, const std::string& path, const TemplateShape& shape) {
         return said_and_written(node_of_nvidia_smi(seen, path), shape);
       }},
      {"--from-hwloc", "FILE: the same as `lstopo FILE.xml` writes them",
       [](const std::string& seen, const std::string& path, const TemplateShape& shape) {
         return said_and_written(node_of_hwloc(seen, path), shape);
       }},
      {"--from-simgrid-xml",
       "FILE: node, NICs and network of a SimGrid platform whose links and routes are written "
       "out, as `platforms export` writes them",
       template_of_simgrid}};
  return all;
}

void add_template_verb(CLI::App& platforms, Action& action) {
  struct Typed {
    TemplateShape shape;
    std::vector<std::string> files = std::vector<std::string>(seen_by().size());
  };
  const auto typed = std::make_shared<Typed>();
  TemplateShape& shape = typed->shape;
  CLI::App* verb = platforms.add_subcommand("template", "Print a file for a machine of your own");
  verb->footer(
      "A complete file with typical numbers; every key says what it means, how to measure it and\n"
      "what it moves. docs/platforms.md has the same as tables. What a file says is drawn by\n"
      "`fourfold platforms show my.toml`; other verbs take it as `--platform my.toml`.\n\n"
      "Example:\n"
      "  fourfold platforms template --topology dragonfly > my.toml\n"
      "  fourfold platforms template --devices-per-node 4 --nics 4 --nodes 256 > my.toml\n"
      "  nvidia-smi topo -m > topo.txt\n"
      "  fourfold platforms template --from-nvidia-smi-topo topo.txt > my.toml\n"
      "  fourfold platforms template --from-simgrid-xml machine.xml > my.toml");
  CLI::Option* const topology =
      verb->add_option("--topology", shape.network,
                       "of the network: crossbar, dragonfly, dragonfly-plus, fat-tree or torus")
          ->capture_default_str();
  CLI::Option* const devices =
      verb->add_option("--devices-per-node", shape.devices, "those that a switch joins")
          ->capture_default_str()
          ->check(whole_number(1, Node::most_devices));
  CLI::Option* const nics =
      verb->add_option("--nics", shape.nics, "network adapters of a node; one a device if absent")
          ->check(whole_number(1, Node::most_devices));
  verb->add_option("--nodes", shape.nodes, "that a job can have at most")
      ->capture_default_str()
      ->check(whole_number(1, 1'000'000));
  std::vector<CLI::Option*> before;
  for (std::size_t i = 0; i < seen_by().size(); ++i) {
    const SeenBy& one = seen_by()[i];
    CLI::Option* const file =
        verb->add_option(one.flag, typed->files[i], one.help)->check(some_word());
    for (CLI::Option* said : {devices, nics}) file->excludes(said);
    for (CLI::Option* other : before) file->excludes(other);
    before.push_back(file);
  }
  before.back()->excludes(topology);  // the file says it
  verb->callback([typed, &action] {
    action = [typed] {
      for (std::size_t i = 0; i < typed->files.size(); ++i) {
        const std::string& path = typed->files[i];
        if (path.empty()) continue;
        print(seen_by()[i].text(read_text_file(path, "the topology"), path, typed->shape));
        return 0;
      }
      print(platform_template(typed->shape));
      return 0;
    };
  });
}

nlohmann::json model_json(const Model& model) {
  nlohmann::json described = json_of_values(model_fields().values(model));
  described["name"] = model.name;
  described["block"] = block_shape(model);
  described["parameters"] = std::llround(parameter_count(model));
  return described;
}

std::string models_json() {
  nlohmann::json models = nlohmann::json::array();
  for (const std::string& name : known_models()) models.push_back(model_json(read_model(name)));
  return models.dump() + '\n';
}

// "8030261248" as "8,030,261,248".
std::string grouped(std::int64_t number) {
  std::string text = fmt::to_string(number);
  for (std::ptrdiff_t at = std::ssize(text) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return text;
}

// A file that --model reads, with what it comes to above it.
std::string model_text(const ForeignModel& foreign) {
  const Model& model = foreign.model;
  const std::int64_t parameters = parameter_count(foreign);
  const std::int64_t counted = std::llround(parameter_count(model));
  const std::string rest = not_said_sentence("its file", foreign.not_said);
  std::string text = described(model) + "\n" + grouped(parameters) + " parameters";
  if (parameters >= 1'000'000) {
    text += " (" + parameters_text(static_cast<double>(parameters)) + ")";
  }
  if (!rest.empty()) text += "\n" + rest;
  if (counted != parameters) text += "; without it " + grouped(counted) + " parameters";
  return in_comment(text) + model_file_text(model);
}

std::string foreign_json(const ForeignModel& foreign) {
  nlohmann::json json = model_json(foreign.model);
  json["parameters_of_block"] = json["parameters"];
  json["parameters"] = parameter_count(foreign);
  json["not_said"] = nlohmann::json::array();
  for (const auto& [what, taken, parameters] : foreign.not_said) {
    json["not_said"].push_back({{"what", what}, {"taken", taken}, {"parameters", parameters}});
  }
  return json.dump() + '\n';
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
  Catalogue platforms;
  platforms.verb = "platforms";
  platforms.meaning = "List the machines; show, export or describe one";
  platforms.footer =
      "Examples:\n"
      "  fourfold platforms\n"
      "  fourfold platforms show frontier\n"
      "  fourfold platforms export frontier --simgrid-xml --devices 64";
  platforms.one = "node, network and sources of a machine";
  platforms.example = "frontier";
  platforms.all = [](Shown shown) {
    return shown == Shown::json ? platforms_json() : list_platforms();
  };
  platforms.show = [](const std::string& name, Shown shown) {
    const Platform platform = read_platform(name);
    return shown == Shown::json ? show_platform_json(platform) : show_platform(platform);
  };
  CLI::App* verb = add_catalogue(app, action, platforms);
  add_export_verb(*verb, action);
  add_template_verb(*verb, action);
}

void add_models_verb(CLI::App& app, Action& action) {
  Catalogue models;
  models.verb = "models";
  models.meaning = "List the models, show one, or print a file of one";
  models.footer =
      "A config.json (Hugging Face), its folder, a .yml of GPT-NeoX or arguments of Megatron-LM "
      "are\n"
      "read as far as a block here can say them; what it cannot is named.\n\n"
      "Examples:\n"
      "  fourfold models --json\n"
      "  fourfold models show llama3.1-8b\n"
      "  fourfold models show path/to/config.json > my-model.toml\n"
      "  fourfold models template > my-model.toml";
  models.one = "a model as a file, and its parameters";
  models.example = "llama3.1-8b";
  models.all = [](Shown shown) { return shown == Shown::json ? models_json() : models_text(); };
  models.show = [](const std::string& name, Shown shown) {
    const ForeignModel foreign = read_foreign_model(name);
    return shown == Shown::json ? foreign_json(foreign) : model_text(foreign);
  };
  add_template(*add_catalogue(app, action, models), "a model", action, model_template);
}

}  // namespace fourfold::inline scaling::inline cli
