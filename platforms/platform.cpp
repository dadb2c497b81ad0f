// Finds a platform file, reads its sections and checks that they and the scales fit together.
#include "platforms/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "platforms/file/check.hpp"
#include "platforms/file/check_keys.hpp"
#include "platforms/file/fact_table.hpp"
#include "platforms/file/sections.hpp"
#include "support/nearest_name.hpp"

namespace fourfold::inline platforms {
namespace {

std::filesystem::path platforms_folder() {
  if (const char* folder = std::getenv("FOURFOLD_PLATFORMS"); folder != nullptr && *folder != 0) {
    return folder;
  }
  return std::filesystem::path(FOURFOLD_SOURCE_DIR) / "platforms" / "machines";
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
    throw std::runtime_error(
        fmt::format("unknown platform \"{}\"{}", name_or_path, did_you_mean(name_or_path, known)));
  }
  return (platforms_folder() / (name_or_path + ".toml")).string();
}

void check_scales(const Platform& platform) {
  std::vector<std::string> known = {global_bandwidth_scale};
  for (const Fact& fact : platform.facts) {
    known.push_back(fact.key);
    known.push_back(without_label(fact.key));
  }
  for (const auto& [key, factor] : platform.scales) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw std::runtime_error(fmt::format("platform {} has no number \"{}\" to scale{}",
                                           platform.name, key, did_you_mean(key, known)));
    }
    if (!(factor > 0.0) || !std::isfinite(factor)) {
      throw std::runtime_error(
          fmt::format("the scale of {} is {}, but it must be greater than 0", key, factor));
    }
    if (key == global_bandwidth_scale && !has_global_links(platform.network)) {
      throw std::runtime_error(fmt::format("platform {} is a {} and has no global links to scale",
                                           platform.name, kind_in_words(platform.network)));
    }
  }
}

}  // namespace

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
  platform.path = find_file(name_or_path);
  platform.name = std::filesystem::path(platform.path).stem().string();
  platform.scales = scales;
  const toml::table& file = parse_toml(platform.path);
  check_keys(platform.path, file);
  FactSheet sheet{platform.path, scales, {}};
  const FactTable root(sheet, file, "");

  platform.title = root.text("title");
  platform.nodes = root.count("nodes", Range::positive);
  platform.processor = read_processor(root);
  platform.node = read_node(root);
  platform.network = read_network(root);
  platform.library = read_library(root);
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
