// Finds links by name, scales their capacity and moves load off those that are gone.
#include "sim/conditions/link_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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
  for (const auto& [link, ways] : gone_) {
    if (!ways.empty()) continue;
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

// Ways with a link that does not exist or is gone as well are left out.
void FaultyLinks::detour(std::int32_t link, std::vector<std::vector<std::int32_t>> ways) {
  gone_[link] = std::move(ways);
  for (auto& [other, kept] : gone_) {
    std::erase_if(kept, [&](const std::vector<std::int32_t>& way) {
      return std::ranges::any_of(way,
                                 [&](std::int32_t one) { return one < 0 || gone_.contains(one); });
    });
  }
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
  const std::vector<std::int64_t>& n = link->numbers;
  if (failure.cables < cables) {
    const double left = static_cast<double>(cables - failure.cables) / static_cast<double>(cables);
    for (std::int32_t one : faults_.back().directions) {
      factors_.try_emplace(one, 1.0).first->second *= left;
    }
    return;
  }
  for (std::int32_t one : faults_.back().directions) {
    if (!factors_.contains(one)) continue;
    throw std::runtime_error(
        fmt::format("'{}' is gone: that it is degraded, too, cannot take effect", failure.link));
  }
  if (kind == "nic") {
    for (const char* direction : {"out", "in"}) {
      std::vector<std::vector<std::int32_t>> ways;
      const auto nics = static_cast<std::int64_t>(platform.node.nics.size());
      for (std::int64_t nic = 0; nic < nics; ++nic) {
        ways.push_back({named(of_nic(n[0], nic, direction))});
      }
      detour(named(of_nic(n[0], n[1], direction)), std::move(ways));
    }
    return;
  }
  const bool global = kind == "global";
  const auto hop = [&](std::int64_t from, std::int64_t to) {
    return named(global ? between_groups(from, to) : between_switches(n[0], from, to));
  };
  const std::int64_t places = global ? dragonfly->groups : dragonfly->switches_per_group;
  const std::int64_t a = n[global ? 0 : 1];
  const std::int64_t b = n[global ? 1 : 2];
  for (auto [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    std::vector<std::vector<std::int32_t>> ways;
    for (std::int64_t via = 0; via < places; ++via) {
      if (via != from && via != to) ways.push_back({hop(from, via), hop(via, to)});
    }
    detour(hop(from, to), std::move(ways));
  }
}

double FaultyLinks::capacity(std::int32_t link) const {
  const double sound = topology_.capacity(link).value;
  const auto found = factors_.find(link);
  return found == factors_.end() ? sound : sound * found->second;
}

void FaultyLinks::reroute(Footprint& footprint) const {
  if (gone_.empty()) return;
  Footprint moved;
  for (const LinkShare& entry : footprint) {
    const auto found = gone_.find(entry.link);
    if (found == gone_.end()) {
      moved.push_back(entry);
      continue;
    }
    const double part = entry.share / static_cast<double>(found->second.size());
    for (const std::vector<std::int32_t>& way : found->second) {
      for (std::int32_t link : way) moved.push_back({link, part});
    }
  }
  merge(moved);
  footprint = std::move(moved);
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
