// Names of channels to channels; see channel_json.hpp.
#include "sim/question/channel_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "sim/cost/timed_program.hpp"

namespace fourfold::inline sim::inline question {
namespace {

// What stages of a pipeline say to each other.
std::vector<Channel> between_stages() {
  std::vector<Channel> channels{{Axis::pipe, "ends", Group::ends}};
  for (const std::int64_t stage : {0, 1, 2}) {
    channels.push_back(forward_from(stage, 3));
    channels.push_back(backward_from(stage));
  }
  return channels;
}

Channel channel_named(const std::string& word) {
  for (const Channel& channel : between_stages()) {
    if (name(channel) == word) return channel;
  }
  const std::size_t end = std::min(word.find('_'), word.size());
  const std::string purpose = end < word.size() ? word.substr(end + 1) : "";
  for (Axis axis : every_axis) {
    const Channel channel{axis, purpose};
    if (name(channel) == word) return channel;
  }
  throw std::runtime_error("'" + word +
                           "' is no channel: its name begins with x, y, z, data or pipe");
}

}  // namespace

std::vector<Channel> channels_in(const nlohmann::json& object) {
  if (!object.is_object()) throw std::runtime_error("numbers by channels are no JSON object");
  std::vector<Channel> channels;
  for (const auto& item : object.items()) channels.push_back(channel_named(item.key()));
  std::ranges::sort(channels, in_order);
  return channels;
}

}  // namespace fourfold::inline sim::inline question
