// Numbers of channels as a JSON object by the channels' names, {"x": 0.1, "z_gather": 0.2}, and
// back.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "schedule/program/channel.hpp"
#include "support/json_object.hpp"

namespace fourfold::inline sim::inline question {

template <typename Quantity>
nlohmann::json json_by_channel(const std::vector<Channel>& channels,
                               const std::vector<Quantity>& values) {
  nlohmann::json object = nlohmann::json::object();
  for (std::size_t c = 0; c < channels.size(); ++c) object[name(channels[c])] = values.at(c).value;
  return object;
}

// Throws std::runtime_error with a sentence on a channel that is missing or unknown.
template <typename Quantity>
std::vector<Quantity> read_by_channel(JsonObject object, const std::vector<Channel>& channels) {
  std::vector<Quantity> values;
  for (const Channel& channel : channels) values.push_back({object.number(name(channel))});
  object.finish();
  return values;
}

// The channels that an object speaks of, in order. Throws std::runtime_error with a sentence on a
// name that no channel can have.
std::vector<Channel> channels_in(const nlohmann::json& object);

}  // namespace fourfold::inline sim::inline question
