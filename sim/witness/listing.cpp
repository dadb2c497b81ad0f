// Reads a listing line by line; the grammar stands in sim/replay/listing.hpp.
#include "sim/witness/listing.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace fourfold::inline sim::inline witness {
namespace {

// A channel is known from its first ring on.
int channel_named(Listing& listing, const std::string& name) {
  auto& channels = listing.channels;
  const auto same = [&](const ListedChannel& channel) { return channel.name == name; };
  auto found = std::find_if(channels.begin(), channels.end(), same);
  if (found == channels.end()) found = channels.insert(found, ListedChannel{name, {}});
  return static_cast<int>(found - channels.begin());
}

bool read_class(std::istringstream& words, Listing& listing) {
  int number = -1;
  Class one;
  words >> number >> one.delay_s >> one.bytes >> one.bytes_per_s >> one.steps;
  if (!words || number < 0 || one.steps < 1 || !(one.bytes_per_s > 0.0)) return false;
  if (number >= static_cast<int>(listing.classes.size())) listing.classes.resize(number + 1);
  listing.classes[number] = one;
  return true;
}

bool read_ring(Ring::Kind kind, std::istringstream& words, Listing& listing) {
  std::string channel;
  Ring ring;
  ring.kind = kind;
  words >> channel;
  if (kind == Ring::Kind::ring) words >> ring.share;
  if (!words) return false;
  for (int rank = 0; words >> rank;) {
    if (rank < 0 || rank >= listing.ranks) return false;
    ring.ranks.push_back(rank);
  }
  if (ring.ranks.size() < 2 || !words.eof()) return false;
  listing.channels[channel_named(listing, channel)].rings.push_back(ring);
  return true;
}

bool read_ranks(std::istringstream& words, Listing& listing) {
  if (!(words >> listing.ranks) || listing.ranks < 1) return false;
  listing.paces.assign(listing.ranks, 0);
  return true;
}

bool read_pace(std::istringstream& words, Listing& listing) {
  int rank = -1;
  int pace = 0;
  words >> rank >> pace;
  if (!words || rank < 0 || rank >= listing.ranks || pace < 1) return false;
  listing.paces[rank] = pace;
  return true;
}

// One number for each pace.
bool read_compute(std::istringstream& words, Listing& listing) {
  Step step;
  for (double seconds = 0.0; words >> seconds;) {
    if (seconds < 0.0) return false;
    step.seconds.push_back(seconds);
  }
  const int slowest = *std::max_element(listing.paces.begin(), listing.paces.end());
  if (!words.eof() || static_cast<int>(step.seconds.size()) <= slowest) return false;
  listing.steps.push_back(step);
  return true;
}

bool read_line(const std::string& keyword, std::istringstream& words, Listing& listing) {
  if (keyword == "ranks") return read_ranks(words, listing);
  if (keyword == "pace") return read_pace(words, listing);
  if (keyword == "class") return read_class(words, listing);
  if (keyword == "ring") return read_ring(Ring::Kind::ring, words, listing);
  if (keyword == "pairs") return read_ring(Ring::Kind::pairs, words, listing);
  if (keyword == "line") return read_ring(Ring::Kind::line, words, listing);
  if (keyword == "compute" && listing.ranks > 0) return read_compute(words, listing);
  Step step;
  if (keyword == "post" || keyword == "wait") {
    step.kind = keyword == "post" ? Step::Kind::post : Step::Kind::wait;
    std::string channel;
    words >> channel >> step.number;
    step.channel = channel_named(listing, channel);
    if (listing.channels[step.channel].rings.empty()) return false;
    const int classes = static_cast<int>(listing.classes.size());
    if (step.number < 0 || (keyword == "post" && step.number >= classes)) return false;
  } else {
    return false;
  }
  if (!words) return false;
  listing.steps.push_back(step);
  return true;
}

}  // namespace

Listing read_listing(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read the listing " + path);
  Listing listing;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::istringstream words(line);
    std::string keyword;
    words >> keyword;
    if (!read_line(keyword, words, listing)) {
      throw std::runtime_error(path + ", line " + std::to_string(number) +
                               ": this is no line of a listing: " + line);
    }
  }
  if (listing.ranks == 0) throw std::runtime_error(path + " does not say how many ranks there are");
  return listing;
}

}  // namespace fourfold::inline sim::inline witness
