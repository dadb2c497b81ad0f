// Finds links by name, scales their capacity and moves load off those that are gone.
#include "sim/conditions/link_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

namespace fourfold::inline sim::inline conditions {
namespace {

// "nic:17.2" as its kind and its numbers.
struct LinkWord {
  std::string kind;
  std::vector<std::int64_t> numbers;
};

// Absent if the word is not of that form. `form` is the kind, a colon, and 0 for every number.
std::optional<LinkWord> parsed(const std::string& word, const std::string& form) {
  LinkWord result{form.substr(0, form.find(':')), {}};
  const char* at = word.data();
  const char* end = at + word.size();
  for (char expected : form) {
    if (expected == '0') {
      std::int64_t number = 0;
      const auto [next, error] = std::from_chars(at, end, number);
      if (error != std::errc() || number < 0) return std::nullopt;
      result.numbers.push_back(number);
      at = next;
    } else if (at == end || *at++ != expected) {
      return std::nullopt;
    }
  }
  return at == end ? std::optional(result) : std::nullopt;
}

std::optional<LinkWord> parsed(const std::string& word) {
  for (const char* form : {"nic:0.0", "inner:0.0-0", "local:0.0-0", "global:0-0", "device:0"}) {
    if (auto result = parsed(word, form)) return result;
  }
  return std::nullopt;
}

std::string between_groups(std::int64_t from, std::int64_t to) {
  return fmt::format("group {} -> group {}", from, to);
}

std::string between_switches(std::int64_t group, std::int64_t from, std::int64_t to) {
  return fmt::format("group {} switch {} -> switch {}", group, from, to);
}

std::string of_nic(std::int64_t node, std::int64_t nic, const char* direction) {
  return fmt::format("node {} nic {} {}", node, nic, direction);
}

// The names that topology gives to the directions of a link; a crossbar may have several ports a
// device.
std::vector<std::string> topology_names(const std::string& word, std::int32_t ports_per_device) {
  const std::optional<LinkWord> link = parsed(word);
  if (!link) return {word, word + " up", word + " down"};
  const std::vector<std::int64_t>& n = link->numbers;
  if (link->kind == "nic") return {of_nic(n[0], n[1], "out"), of_nic(n[0], n[1], "in")};
  if (link->kind == "inner") {
    return {fmt::format("node {} device {} -> device {}", n[0], n[1], n[2]),
            fmt::format("node {} device {} -> device {}", n[0], n[2], n[1])};
  }
  if (link->kind == "local") {
    return {between_switches(n[0], n[1], n[2]), between_switches(n[0], n[2], n[1])};
  }
  if (link->kind == "global") return {between_groups(n[0], n[1]), between_groups(n[1], n[0])};
  std::vector<std::string> ports{fmt::format("device {} out", n[0]),
                                 fmt::format("device {} in", n[0])};
  for (std::int32_t port = 0; port < ports_per_device; ++port) {
    ports.push_back(fmt::format("device {} lane {} out", n[0], port));
    ports.push_back(fmt::format("device {} lane {} in", n[0], port));
  }
  return ports;
}

std::string what_can_fail(const Network& network) {
  if (std::holds_alternative<CrossbarNetwork>(network)) return "";
  const bool dragonfly = std::holds_alternative<DragonflyNetwork>(network);
  return std::string(", or fail nic:NODE.NIC") +
         (dragonfly ? ", local:GROUP.A-B or global:A-B" : "");
}

// The links that nodes and the kind of network have, by the words that name them.
std::string known_links(const Platform& platform) {
  const Network& network = platform.network;
  const std::string inner = platform.node.links.empty() ? "" : ", inner:NODE.A-B";
  const std::string nodes = "nic:NODE.NIC" + inner;
  if (std::holds_alternative<CrossbarNetwork>(network)) return "device:DEVICE";
  if (std::holds_alternative<DragonflyNetwork>(network)) {
    return nodes + ", local:GROUP.A-B, global:A-B";
  }
  if (std::holds_alternative<DragonflyPlusNetwork>(network)) {
    return nodes + ", 'cell 1 leaf 2', 'cell 1 -> cell 2'";
  }
  if (const auto* tree = std::get_if<FatTreeNetwork>(&network)) {
    const std::size_t inner_tiers = tree->tiers.size() - 1;  // with links up
    return nodes + (tree->rails == 1 ? ", 'leaf 2'" : ", 'unit 2 rail 1'") +
           (inner_tiers > 1 ? ", 'pod 2'" : "") + (inner_tiers > 2 ? ", 'zone 1'" : "");
  }
  return nodes + ", 'router 1 -> router 2 (dimension 0 on)'";
}

}  // namespace

FaultyLinks::FaultyLinks(const LinkFaults& faults, const Topology& topology,
                         const Platform& platform)
    : topology_(topology) {
  if (faults.none()) return;
  for (std::int32_t link = 0; link < topology.link_count(); ++link) {
    by_name_.emplace(topology.link_name(link), link);
  }
  for (const Degradation& one : faults.degrade) {
    for (std::int32_t link : remember(one.link, Harm::degraded, platform)) {
      factors_.try_emplace(link, 1.0).first->second *= one.speed;
    }
  }
  for (const Failure& one : faults.fail) fail(one, platform);
  for (const Background& one : faults.background) add_background(one);
  for (const auto& [link, left] : factors_) {
    ways_[link] = ways_around(link, platform);
    if (left > 0.0 || !ways_[link].empty()) continue;
    throw std::runtime_error(fmt::format("nothing is left that could carry the traffic of '{}'",
                                         topology.link_name(link)));
  }
}

const std::vector<std::int32_t>& FaultyLinks::remember(const std::string& link, Harm harm,
                                                       const Platform& platform) {
  Fault fault{link, harm, {}};
  for (const std::string& name : topology_names(link, topology_.ports())) {
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) fault.directions.push_back(found->second);
  }
  if (fault.directions.empty()) {
    throw std::runtime_error(
        fmt::format("the job has no link '{}': its devices are 0 to {}; the links of {} are {}",
                    link, topology_.devices() - 1, platform.name, known_links(platform)));
  }
  for (const Fault& other : faults_) {
    // One direction of a link may be slower than the other.
    const bool partly =
        harm == Harm::degraded && fault.directions.size() != other.directions.size();
    const auto shared = std::ranges::find_first_of(fault.directions, other.directions);
    if (harm != other.harm || partly || shared == fault.directions.end()) continue;
    throw std::runtime_error(
        link == other.link
            ? fmt::format("'{}' is named twice; say once what all of it amounts to", link)
            : fmt::format("'{}' and '{}' are the same link; say once what both amount to", link,
                          other.link));
  }
  faults_.push_back(std::move(fault));
  return faults_.back().directions;
}

std::int32_t FaultyLinks::named(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? -1 : found->second;
}

void FaultyLinks::fail(const Failure& failure, const Platform& platform) {
  remember(failure.link, Harm::failed, platform);
  const std::optional<LinkWord> link = parsed(failure.link);
  const std::string kind = link ? link->kind : "";
  if (kind != "nic" && kind != "local" && kind != "global") {
    throw std::runtime_error(fmt::format(
        "'{}' cannot fail, as its traffic has no other way that is simulated; degrade it instead{}",
        failure.link, what_can_fail(platform.network)));
  }
  const auto* dragonfly = std::get_if<DragonflyNetwork>(&platform.network);
  const std::int64_t cables =
      kind == "global" && dragonfly != nullptr ? dragonfly->links_per_group_pair : 1;
  if (failure.cables > cables) {
    throw std::runtime_error(fmt::format("'{}' has {} cable{}, so {} cannot fail", failure.link,
                                         cables, cables == 1 ? "" : "s", failure.cables));
  }
  const double left = static_cast<double>(cables - failure.cables) / static_cast<double>(cables);
  for (std::int32_t one : faults_.back().directions) {
    const auto [degraded, is_new] = factors_.try_emplace(one, 1.0);
    if (left == 0.0 && !is_new) {
      throw std::runtime_error(
          fmt::format("'{}' is gone: that it is degraded, too, cannot take effect", failure.link));
    }
    degraded->second *= left;
  }
}

void FaultyLinks::add_background(const Background& other) {
  Fault fault{"background " + other.kind, Harm::background, {}};
  for (std::int32_t link = 0; link < topology_.link_count(); ++link) {
    if (name(topology_.kind(link)) != other.kind) continue;
    fault.directions.push_back(link);
    free_.try_emplace(link, 1.0).first->second *= 1.0 - other.percent / 100.0;
  }
  if (fault.directions.empty()) {
    throw std::runtime_error(fmt::format(
        "other jobs cannot take {:g} % of '{}' links: there are none between the nodes of the job",
        other.percent, other.kind));
  }
  faults_.push_back(std::move(fault));
}

// Ways with a link that does not exist or is gone as well are left out.
FaultyLinks::Ways FaultyLinks::ways_around(std::int32_t link, const Platform& platform) const {
  Ways ways;
  const std::string name = topology_.link_name(link);
  std::int64_t group = 0, from = 0, to = 0;
  const LinkKind kind = topology_.kind(link);
  if (kind == LinkKind::nic_out || kind == LinkKind::nic_in) {
    if (std::sscanf(name.c_str(), "node %ld nic", &group) != 1) return ways;
    const auto nics = static_cast<std::int64_t>(platform.node.nics.size());
    for (std::int64_t nic = 0; nic < nics; ++nic) {
      ways.push_back({named(of_nic(group, nic, kind == LinkKind::nic_out ? "out" : "in"))});
    }
  } else if (const auto* dragonfly = std::get_if<DragonflyNetwork>(&platform.network)) {
    const bool global = kind == LinkKind::global;
    const bool read = global ? std::sscanf(name.c_str(), "group %ld -> group %ld", &from, &to) == 2
                             : std::sscanf(name.c_str(), "group %ld switch %ld -> switch %ld",
                                           &group, &from, &to) == 3;
    if (!read) return ways;
    const auto hop = [&](std::int64_t a, std::int64_t b) {
      return named(global ? between_groups(a, b) : between_switches(group, a, b));
    };
    const std::int64_t places = global ? dragonfly->groups : dragonfly->switches_per_group;
    for (std::int64_t via = 0; via < places; ++via) {
      if (via != from && via != to) ways.push_back({hop(from, via), hop(via, to)});
    }
  }
  std::erase_if(ways, [&](const std::vector<std::int32_t>& way) {
    return std::ranges::any_of(way, [&](std::int32_t one) {
      const auto harmed = factors_.find(one);
      return one < 0 || one == link || (harmed != factors_.end() && harmed->second == 0.0);
    });
  });
  return ways;
}

double FaultyLinks::kept(std::int32_t link) const {
  const auto ways = ways_.find(link);
  return ways == ways_.end() || ways->second.empty() ? 1.0 : factors_.at(link);
}

double FaultyLinks::capacity(std::int32_t link) const {
  const auto factor = factors_.find(link);
  const auto free = free_.find(link);
  return topology_.capacity(link).value * (factor == factors_.end() ? 1.0 : factor->second) *
         (free == free_.end() ? 1.0 : free->second);
}

double FaultyLinks::bound(std::int32_t link) const {
  const auto free = free_.find(link);
  const auto ways = ways_.find(link);
  if (ways == ways_.end() || ways->second.empty()) return capacity(link);
  return topology_.capacity(link).value * (free == free_.end() ? 1.0 : free->second);
}

// Ways share what a link cannot carry by what is left of each, that link's own among them; and what
// a link of which a part is left takes fills it by so much more, as its own traffic is held to the
// whole of it. So all NICs of a node are equally full.
void FaultyLinks::reroute(Footprint& footprint) const {
  if (ways_.empty()) return;
  const auto left_of = [&](const std::vector<std::int32_t>& way) {
    double left = 1.0;
    for (std::int32_t link : way) {
      const auto factor = factors_.find(link);
      if (factor != factors_.end()) left = std::min(left, factor->second);
    }
    return left;
  };
  const std::size_t sound = footprint.size();
  for (std::size_t i = 0; i < sound; ++i) {
    const auto found = ways_.find(footprint[i].link);
    if (found == ways_.end() || found->second.empty()) continue;
    const double left = factors_.at(found->first);
    double all = left;
    for (const std::vector<std::int32_t>& way : found->second) all += left_of(way);
    const double part = footprint[i].share * (1.0 - left) / all;
    if (left > 0.0) footprint[i].share += part;
    for (const std::vector<std::int32_t>& way : found->second) {
      for (std::int32_t link : way) footprint.push_back({link, part * left_of(way) / kept(link)});
    }
  }
  merge(footprint);
}

void FaultyLinks::refuse_idle(const std::vector<Footprint>& footprints) const {
  if (faults_.empty()) return;
  std::vector<bool> loaded(static_cast<std::size_t>(topology_.link_count()));
  for (const Footprint& footprint : footprints) {
    for (const LinkShare& entry : footprint) loaded[static_cast<std::size_t>(entry.link)] = true;
  }
  for (const Fault& fault : faults_) {
    const bool used = std::ranges::any_of(fault.directions, [&](std::int32_t link) {
      return loaded[static_cast<std::size_t>(link)];
    });
    if (used) continue;
    throw std::runtime_error(fmt::format(
        "the fault of '{}' cannot take effect: the job sends nothing over it", fault.link));
  }
}

}  // namespace fourfold::inline sim::inline conditions
