// Products of lists and patches; see sweep.hpp.
#include "scaling/study/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "schedule/models/parameter_count.hpp"
#include "support/json_object.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

using nlohmann::json;

const json& filled_list(const json& value, const std::string& key) {
  if (!value.is_array() || value.empty()) {
    throw std::runtime_error("'" + key + "' must be a list with at least one entry");
  }
  return value;
}

// "options.overlap.all_reduce" as tables in one another; a scale's key has dots of its own.
json patch_of(const std::string& key, const json& value) {
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) return {{key, value}};
  const std::string first = key.substr(0, dot), rest = key.substr(dot + 1);
  if (first == "scales") return {{first, {{rest, value}}}};
  return {{first, patch_of(rest, value)}};
}

std::string word_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

SweptPoint value_of_key(const std::string& key, const json& value) {
  SweptPoint point{patch_of(key, value), "", {}};
  const std::string name = key.substr(key.rfind('.') + 1);
  point.label = fmt::format("{} = {}", name, word_of(value));
  point.line = value.is_number() ? name : point.label;
  if (value.is_number()) point.value = value.get<double>();
  return point;
}

SweptPoint entry_of_list(const json& value) {
  JsonObject object(value, "an entry of 'list'");
  SweptPoint point{value, object.text("label"), {}};
  point.line = point.label;
  if (object.has("value")) point.value = object.number("value");
  point.entry.erase("label");
  point.entry.erase("value");
  return point;
}

// Points on one line of a figure share a label, and a value says which of them it is.
void refuse_same_labels(const std::vector<SweptPoint>& variants) {
  std::set<std::pair<std::string, std::optional<double>>> seen;
  for (const SweptPoint& variant : variants) {
    if (seen.emplace(variant.label, variant.value).second) continue;
    throw std::runtime_error("two points of a sweep have the label '" + variant.label + "'" +
                             (variant.value ? " and the same value" : "") +
                             "; give each a label or a value of its own");
  }
}

std::vector<SweptPoint> variants_of(const json& sweep) {
  JsonObject object(sweep, "a sweep");
  object.allow_only({"key", "values", "list"});
  if (object.has("list") == object.has("key")) {
    object.fail("either 'key' with 'values', or 'list', is needed");
  }
  std::vector<SweptPoint> variants;
  if (object.has("list")) {
    for (const json& value : filled_list(object.get("list"), "list")) {
      variants.push_back(entry_of_list(value));
    }
    refuse_same_labels(variants);
    return variants;
  }
  const std::string key = object.text("key");
  for (const json& value : filled_list(object.get("values"), "values")) {
    variants.push_back(value_of_key(key, value));
  }
  refuse_same_labels(variants);
  return variants;
}

// A point with what a sweep sets.
void patch_point(json& point, const json& patch) {
  const auto has_what_ifs = [](const json& entry) {
    return entry.is_object() && entry.contains("what_if");
  };
  if (!has_what_ifs(point) || !has_what_ifs(patch)) return point.merge_patch(patch);
  json what_ifs = point.at("what_if");
  add_what_ifs(what_ifs, patch.at("what_if"));
  point.merge_patch(patch);
  point["what_if"] = std::move(what_ifs);
}

// Every point with every patch, the patch changing fastest.
std::vector<SweptPoint> product(const std::vector<SweptPoint>& points,
                                const std::vector<SweptPoint>& patches) {
  std::vector<SweptPoint> all;
  for (const SweptPoint& point : points) {
    for (const SweptPoint& patch : patches) {
      SweptPoint both = point;
      patch_point(both.entry, patch.entry);
      // A value that an earlier sweep gave is a word of the line.
      both.line = joined(patch.value ? point.label : point.line, patch.line);
      both.rest = patch.value ? point.label : joined(point.rest, patch.label);
      both.label = joined(point.label, patch.label);
      if (patch.value) both.value = patch.value;
      all.push_back(std::move(both));
    }
  }
  return all;
}

// "grid = 2x1x8x1, micro_batches = 2"
std::string stated_of(const json& point) {
  std::string text;
  for (const char* key : {"grid", "micro_batches"}) {
    if (point.contains(key))
      text = joined(text, fmt::format("{} = {}", key, word_of(point.at(key))));
  }
  return text;
}

// A point by itself, with its own lists.
std::vector<SweptPoint> listed(const json& point) {
  std::vector<SweptPoint> points{{point, "", {}}};
  if (!point.is_object()) return points;
  points.front().stated = stated_of(point);
  if (point.contains("label")) {
    points.front().label = JsonObject(point, "a point").text("label");
    points.front().line = points.front().rest = points.front().label;
    points.front().entry.erase("label");
  }
  for (const char* key : {"model", "system", "batch_tokens", "devices"}) {
    if (!point.contains(key) || !point.at(key).is_array()) continue;
    std::vector<SweptPoint> patches;
    for (const json& value : filled_list(point.at(key), key)) {
      // Tables have a column for each of the others.
      const bool is_batch = std::string(key) == "batch_tokens";
      patches.push_back(is_batch ? value_of_key(key, value) : SweptPoint{{{key, value}}, "", {}});
    }
    points = product(points, patches);
  }
  return points;
}

std::vector<SweptPoint> with_sweeps(std::vector<SweptPoint> points, const json& sweeps) {
  if (sweeps.is_null()) return points;
  for (const json& sweep : filled_list(sweeps, "sweep")) {
    points = product(points, variants_of(sweep));
  }
  return points;
}

}  // namespace

std::string joined(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : ", ") + second;
}

namespace {

// Of "nic:17.2=0.5" and "global=30%" what comes before the last =.
json named_in(const json& word) {
  if (!word.is_string()) return word;
  const auto text = word.get<std::string>();
  return text.substr(0, text.rfind('='));
}

}  // namespace

void add_what_ifs(json& what_ifs, const json& more) {
  json both = more;
  for (auto& [key, list] : both.items()) {
    const bool adds = list.is_array() && !list.empty() && what_ifs.is_object() &&
                      what_ifs.contains(key) && what_ifs.at(key).is_array();
    if (!adds) continue;
    json words = json::array();
    for (const json& word : what_ifs.at(key)) {
      const auto is_same = [&](const json& own) { return named_in(own) == named_in(word); };
      if (std::ranges::none_of(list, is_same)) words.push_back(word);
    }
    words.insert(words.end(), list.begin(), list.end());
    list = std::move(words);
  }
  what_ifs.merge_patch(both);
}

std::vector<SweptPoint> swept(const json& point, const json& sweeps, const json& batches) {
  const std::vector<SweptPoint> bases = listed(point);
  if (!point.is_object()) return bases;
  if (batches.is_null()) return with_sweeps(bases, sweeps);
  const std::vector<SweptPoint> patches =
      variants_of({{"key", "batch_tokens"}, {"values", batches}});
  std::vector<SweptPoint> all;
  for (const SweptPoint& base : bases) {
    const std::vector<SweptPoint> own = with_sweeps({base}, sweeps);
    const std::vector<SweptPoint> several = with_sweeps(product({base}, patches), sweeps);
    for (std::size_t i = 0; i < several.size(); ++i) {
      const SweptPoint& alone = own[i % own.size()];
      const bool has_batch =
          alone.entry.contains("batch_tokens") || alone.entry.contains("batch_tokens_per_device");
      if (has_batch && i >= own.size()) continue;
      all.push_back(has_batch ? alone : several[i]);
    }
  }
  return all;
}

namespace {

std::int64_t rounded(double value) {
  if (!(value >= 0.5) || value > 1e9) {
    throw std::runtime_error("a model that grows so would have no layers, or too many");
  }
  return std::llround(value);
}

}  // namespace

Model grown(const Model& base, double factor, Growth growth) {
  Model model = base;
  const double parameters = factor * parameter_count(base);
  if (growth == Growth::layers) {
    // Parameters are linear in layers: embeddings stay.
    Model empty = base;
    empty.layers = 0;
    const double rest = parameter_count(empty);
    model.layers = rounded(static_cast<double>(base.layers) * (parameters - rest) /
                           (parameter_count(base) - rest));
  } else {
    const std::int64_t head = base.hidden / base.heads;
    model.heads = 1;
    // Beyond the limit, where excess() will refuse it, but not so far that parameters overflow.
    constexpr std::int64_t beyond = 2 * most_hidden;
    for (std::int64_t step = beyond; step > 0; step /= 2) {
      Model wider = base;
      wider.heads = model.heads + step;
      wider.hidden = head * wider.heads;
      if (wider.hidden > beyond) continue;
      if (parameter_count(wider) <= parameters) model.heads = wider.heads;
    }
    model.hidden = head * model.heads;
    Model wider = model;
    ++wider.heads;
    wider.hidden += head;
    if (parameter_count(wider) - parameters < parameters - parameter_count(model)) model = wider;
  }
  if (model.layers == base.layers && model.hidden == base.hidden) return model;
  if (const std::string why = excess(model); !why.empty()) throw std::runtime_error(why);
  model.name = fmt::format("{}-x{:g}", base.name, factor);
  return model;
}

}  // namespace fourfold::inline scaling::inline study
