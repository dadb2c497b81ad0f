// Lists and sweeps of a campaign, multiplied out: one entry a point.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "schedule/models/model.hpp"

namespace fourfold::inline scaling::inline study {

// Labels with a comma between them.
std::string joined(const std::string& first, const std::string& second);

// What-ifs of a machine, a point or a sweep added to those above it. Of their lists (links that are
// degraded) an entry goes before one above it that names the same; an empty one takes away all.
void add_what_ifs(nlohmann::json& what_ifs, const nlohmann::json& more);

struct SweptPoint {
  nlohmann::json entry;         // keys of a point, without lists
  std::string label;            // of its sweeps, between commas; empty: none
  std::optional<double> value;  // that the last sweep over numbers gave it
  std::string line = {};        // the label without that value
  std::string rest = {};        // the label without that sweep
  std::string stated = {};      // grid and micro-batches that the point has without sweeps
};

// `label` of a point begins the labels of what it becomes. `devices`, `model`, `batch_tokens` and
// `system` of a point may be lists, of which every combination is a point, and each sweep
// multiplies them: { key = "options.zero", values = [0, 1] } sets one key, { list = [{ label =
// "...", ... }] } several at once. `batches`, a list or null, is a sweep before the others of what
// then has no batch of its own. Throws std::runtime_error.
std::vector<SweptPoint> swept(const nlohmann::json& point, const nlohmann::json& sweeps,
                              const nlohmann::json& batches = nullptr);

// Which dimension of a model grows with the devices.
enum class Growth : std::uint8_t { layers, width };

// The model whose parameters are to those of `base` as `factor` to 1, as near as whole layers, or
// whole heads of the same size, come. Throws std::runtime_error if nothing would be left of it.
Model grown(const Model& base, double factor, Growth growth);

}  // namespace fourfold::inline scaling::inline study
