// Finds a platform file, reads its sections and checks that they and the scales fit together.
#include "platforms/platform.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "platforms/file/check.hpp"
#include "platforms/file/check_keys.hpp"
#include "platforms/file/fact_table.hpp"
#include "platforms/file/scale_groups.hpp"
#include "platforms/file/sections.hpp"
#include "support/meant_name.hpp"
#include "support/nearest_name.hpp"

namespace fourfold::inline platforms {
namespace {

std::filesystem::path platforms_folder() {
  if (const char* folder = std::getenv("FOURFOLD_PLATFORMS"); folder != nullptr && *folder != 0) {
    return folder;
  }
  return std::filesystem::path(FOURFOLD_SOURCE_DIR) / "platforms" / "machines";
}

// "; such devices are on polaris and selene": the machines whose titles have the word.
std::string with_such_devices(const std::string& word, const std::vector<std::string>& known) {
  std::vector<std::string> machines;
  for (const std::string& name : known) {
    try {
      const toml::table& file = parse_toml((platforms_folder() / (name + ".toml")).string());
      if (has_parts_of(file["title"].value_or(std::string()), word)) machines.push_back(name);
    } catch (const std::runtime_error&) {
      continue;  // that file is not asked about
    }
  }
  if (machines.empty()) return "";
  return fmt::format("; such devices are on {}", fmt::join(machines, ", "));
}

std::filesystem::path libraries_folder() {
  return std::filesystem::path(FOURFOLD_SOURCE_DIR) / "platforms" / "libraries";
}

std::string find_file(const std::string& name_or_path) {
  if (name_or_path.ends_with(".toml")) {
    if (!std::filesystem::exists(name_or_path)) {
      throw std::runtime_error(fmt::format("there is no platform file \"{}\"", name_or_path));
    }
    return name_or_path;
  }
  const std::vector<std::string> known = known_platforms();
  if (std::find(known.begin(), known.end(), name_or_path) == known.end()) {
    std::string hint = did_you_mean(name_or_path, known);
    if (meant_name(name_or_path, known).empty()) {
      const std::string titled = with_such_devices(name_or_path, known);
      if (!titled.empty()) hint = titled;
    }
    if (std::error_code missing; std::filesystem::exists(name_or_path, missing)) {
      hint = "; the name of a platform's file ends with .toml";
    }
    throw std::runtime_error(fmt::format("unknown platform \"{}\"{}", name_or_path, hint));
  }
  return (platforms_folder() / (name_or_path + ".toml")).string();
}

// "frontier+pccl": a machine and a library that was measured on it.
struct MachineAndLibrary {
  std::string machine, library;
};

MachineAndLibrary split(const std::string& name) {
  const std::size_t plus = name.rfind('+');
  if (plus == std::string::npos || name.ends_with(".toml")) return {name, ""};
  return {name.substr(0, plus), name.substr(plus + 1)};
}

// Of `machine`, sorted.
std::vector<std::string> libraries_of(const std::string& machine) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(libraries_folder())) {
    const MachineAndLibrary known = split(entry.path().stem().string());
    if (known.machine == machine) names.push_back(known.library);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string find_library(const MachineAndLibrary& wanted) {
  const std::vector<std::string> known = libraries_of(wanted.machine);
  if (std::find(known.begin(), known.end(), wanted.library) == known.end()) {
    throw std::runtime_error(
        fmt::format("no library \"{}\" was measured on {}: {}", wanted.library, wanted.machine,
                    known.empty() ? "nobody measured another than its own"
                                  : fmt::format("there are {}", fmt::join(known, ", "))));
  }
  return (libraries_folder() / (wanted.machine + '+' + wanted.library + ".toml")).string();
}

// What the name of a table leaves out, or a name like it.
std::string meant_by(const std::string& key, const std::vector<std::string>& known) {
  constexpr std::size_t few = 4;
  std::set<std::string> below;
  for (const std::string& one : known) {
    if (one.starts_with(key + '.') && without_label(one) == one) below.insert('"' + one + '"');
  }
  if (below.empty() || below.size() > few) return did_you_mean(key, known);
  return fmt::format("; did you mean {}?", fmt::join(below, " or "));
}

void check_scales(const Platform& platform) {
  std::vector<std::string> known = names_of_scale_groups();
  known.emplace_back(global_bandwidth_scale);
  for (const Fact& fact : platform.facts) {
    known.push_back(fact.key);
    known.push_back(without_label(fact.key));
  }
  for (const auto& [key, factor] : platform.scales) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw std::runtime_error(fmt::format("platform {} has no number \"{}\" to scale{}",
                                           platform.name, key, meant_by(key, known)));
    }
    if (!(factor > 0.0) || !std::isfinite(factor)) {
      throw std::runtime_error(
          fmt::format("the scale of {} is {}, but it must be greater than 0", key, factor));
    }
    const auto group = std::ranges::find(scale_groups(), key, &ScaleGroup::name);
    if (group != scale_groups().end() && words_of_group(*group, platform).empty()) {
      throw std::runtime_error(
          fmt::format("platform {} has no numbers of its {} to scale", platform.name, key));
    }
    if (key == global_bandwidth_scale && !has_global_links(platform.network)) {
      throw std::runtime_error(fmt::format("platform {} is a {} and has no global links to scale",
                                           platform.name, kind_in_words(platform.network)));
    }
  }
}

}  // namespace

bool CollectiveLibrary::measured_in_node() const {
  return std::any_of(measured.begin(), measured.end(),
                     [](const MeasuredCollectives& table) { return !table.over_nodes(); });
}

std::vector<std::string> known_platforms() {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(platforms_folder(), missing)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  if (missing) {
    throw std::runtime_error(fmt::format("the platforms folder \"{}\" cannot be read: {}",
                                         platforms_folder().string(), missing.message()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Platform read_platform(const std::string& name_or_path, const Scales& scales,
                       const std::string& software) {
  Platform platform;
  const MachineAndLibrary wanted = split(name_or_path);
  platform.path = find_file(wanted.machine);
  platform.name = std::filesystem::path(platform.path).stem().string();
  platform.scales = scales;
  const toml::table& file = parse_toml(platform.path);
  check_keys(platform.path, file);
  FactSheet sheet{platform.path, scales, {}, file["network"]["kind"].value_or(std::string())};
  const FactTable root(sheet, file, "");

  platform.title = root.text("title");
  platform.nodes = root.count("nodes", Range::positive);
  platform.processor = read_processor(root);
  platform.node = read_node(root);
  platform.network = read_network(root);
  platform.library = read_library(root);
  if (!wanted.library.empty()) {
    platform.name += '+' + wanted.library;
    replace_library(find_library(wanted), sheet, platform.library);
  }
  follow_plateaus(platform.library, scales, sheet.network);
  platform.library.sharing_a_node = platform.node.devices;
  read_operation(root);
  platform.default_software = root.has("software") ? root.text("software") : "fused";
  if (platform.default_software.ends_with(".toml")) {
    const auto beside = std::filesystem::path(platform.path).parent_path();
    platform.default_software = (beside / platform.default_software).string();
  }
  platform.software = read_software(software.empty() ? platform.default_software : software, sheet);
  platform.facts = std::move(sheet.facts);

  check_scales(platform);
  check(platform);
  return platform;
}

}  // namespace fourfold::inline platforms
