// The names of links say where they are; long because each kind of network names its own; see
// seen_simgrid.hpp.
#include "scaling/calibrate/seen_simgrid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "platforms/platform.hpp"
#include "scaling/calibrate/log_line.hpp"
#include "scaling/calibrate/seen_node.hpp"
#include "scaling/calibrate/toml_edit.hpp"
#include "scaling/calibrate/xml_tags.hpp"
#include "support/toml_text.hpp"

namespace fourfold::inline scaling::inline calibrate {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr double giga = 1e9;
constexpr double reached = 0.95;  // of what NICs can carry, by a plateau

// The numbers where the pattern has a #; nothing if the name is another.
std::optional<Numbers> numbers_in(std::string_view name, std::string_view pattern) {
  Numbers numbers;
  while (!pattern.empty()) {
    if (pattern.front() != '#') {
      if (name.empty() || name.front() != pattern.front()) return std::nullopt;
      name.remove_prefix(1);
    } else {
      const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
      if (digits == 0 || digits > 9) return std::nullopt;
      numbers.push_back(std::stoll(std::string(name.substr(0, digits))));
      name.remove_prefix(digits);
    }
    pattern.remove_prefix(1);
  }
  return name.empty() ? std::optional(numbers) : std::nullopt;
}

// "25e9Bps", "200Gbps", "1.5GBps", "4e13f" as bytes or flops a second.
double rate_in(const std::string& text) {
  const std::size_t unit = std::min(text.find_first_not_of("0123456789.+-eE"), text.size());
  double rate = number_in(text.substr(0, unit)).value_or(0.0);
  std::string_view rest = std::string_view(text).substr(unit);
  if (const std::size_t power = std::string_view("kMGTP").find(rest.substr(0, 1));
      !rest.empty() && power != std::string_view::npos) {
    const bool binary = rest.substr(1).starts_with("i");
    rate *= std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
    rest.remove_prefix(binary ? 2 : 1);
  }
  return rest == "bps" ? rate / 8.0 : rate;
}

class SimgridFile {
 public:
  SimgridFile(const std::string& xml, std::string where) : where_(std::move(where)) {
    std::int64_t from = -1, to = -1;
    for (const XmlTag& tag : xml_tags(xml)) {
      if (tag.name == "host") {
        device(tag["id"], devices_++);
        speed_ = std::max(speed_, rate_in(tag["speed"]));
      } else if (tag.name == "link") {
        GBps_[tag["id"]] = rate_in(tag["bandwidth"]) / giga;
        order_.push_back(tag["id"]);
      } else if (tag.name == "route") {
        from = device(tag["src"], -1);
        to = device(tag["dst"], -1);
      } else if (tag.name == "link_ctn" && from >= 0 && !tag["id"].starts_with("latency ")) {
        routes_[{from, to}].push_back(tag["id"]);
      } else if (tag.name == "cluster" || tag.name == "zoneRoute" || tag.name == "cabinet") {
        fail(fmt::format("<{}> describes routes by a rule", tag.name));
      }
    }
    if (devices_ == 0 || routes_.empty()) fail("it has no two hosts with a route between them");
    for (const auto& [ends, links] : routes_) {
      for (const std::string& link : links) {
        if (!(GBps(link) > 0.0)) fail(fmt::format("link '{}' has no bandwidth", link));
      }
    }
  }

  std::string text(TemplateShape shape) {
    if (GBps_.contains("device 0 out")) {
      shape.network = "crossbar";
      node_.devices = 1;
      node_.nics = {{0}};
      node_.nic_rates_GBps = {GBps("device 0 out")};
      shape.nodes = devices_;
    } else {
      read_node();
      shape.nodes = std::max(shape.nodes, nodes_);
    }
    node_.source = "SimGrid platform file " + where_;
    const std::string network = network_toml(shape);
    std::string text = template_of_node(node_, shape);
    // One rail where the file has no way between two.
    text = network.empty()
               ? with_value(text, {"network", "rails"}, number_value(1.0, false)).value_or(text)
               : with_tables(text, "network", network, {});
    return with_rates(std::move(text));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(
        fmt::format("{}: {}; what is read is what `fourfold platforms export NAME --simgrid-xml` "
                    "writes: hosts device-0, device-1, ..., their links and a route for each pair",
                    where_, what));
  }

  std::int64_t device(const std::string& id, std::int64_t expected) const {
    const auto number = numbers_in(id, "device-#");
    if (!number || (expected >= 0 && number->front() != expected)) {
      fail(fmt::format("host '{}' is not device-{}", id, expected >= 0 ? expected : 0));
    }
    return number->front();
  }

  double GBps(const std::string& link) const {
    const auto found = GBps_.find(link);
    return found == GBps_.end() ? 0.0 : found->second;
  }

  // Links of the way between two devices; none where there is no route.
  const std::vector<std::string>& route(std::int64_t from, std::int64_t to) const {
    static const std::vector<std::string> none;
    const auto found = routes_.find({from, to});
    return found == routes_.end() ? none : found->second;
  }

  // Of the way from the first device of the first node to that of another.
  const std::vector<std::string>& way_to(std::int64_t node) const {
    return route(0, node * node_.devices);
  }

  // The first node, beside the first, to which the way has a link of such a name.
  std::optional<std::int64_t> first_node_behind(const std::vector<const char*>& patterns) const {
    for (std::int64_t node = 1; node < nodes_; ++node) {
      for (const std::string& link : way_to(node)) {
        for (const char* pattern : patterns) {
          if (numbers_in(link, pattern)) return node;
        }
      }
    }
    return std::nullopt;
  }

  // The largest of a number in the names of such links, and their bandwidth.
  struct Found {
    std::int64_t largest = -1;
    double GBps = 0.0;
  };
  Found find(const char* pattern, std::size_t place = 0) const {
    Found found;
    for (const auto& [link, rate] : GBps_) {
      const auto numbers = numbers_in(link, pattern);
      if (!numbers) continue;
      found.largest = std::max(found.largest, numbers->at(place));
      found.GBps = rate;
    }
    return found;
  }

  // Devices, links and NICs of the first node.
  void read_node() {
    std::vector<std::int64_t> node_of(static_cast<std::size_t>(devices_), -1);
    for (const auto& [ends, links] : routes_) {
      const std::string& first = links.front();
      for (const char* pattern :
           {"node # nic # out", "node # device # -> device #", "node # device # -> switch"}) {
        if (const auto numbers = numbers_in(first, pattern)) {
          node_of.at(static_cast<std::size_t>(ends.first)) = numbers->front();
        }
      }
    }
    node_.devices = std::ranges::count(node_of, 0);
    for (std::int64_t i = 0; i < devices_; ++i) {
      const std::int64_t node = node_of[static_cast<std::size_t>(i)];
      if (node_.devices > 0 && node == i / node_.devices) continue;
      fail(fmt::format("device-{} lies in no node as the others do", i));
    }
    nodes_ = node_of.back() + 1;
    if (nodes_ == 1) {  // of which devices may be missing that ways lead through
      node_.devices = std::max(node_.devices, find("node 0 device # -> device #", 1).largest + 1);
    }
    for (const std::string& link : order_) {  // which decides between ways as good as another
      const auto ends = numbers_in(link, "node 0 device # -> device #");
      if (!ends) continue;
      const auto back = [&](const SeenNode::Link& one) {
        return one.a == ends->at(1) && one.b == ends->at(0);
      };
      if (std::ranges::any_of(node_.links, back)) continue;
      node_.links.push_back({ends->at(0), ends->at(1), "seen by SimGrid", GBps(link)});
    }
    node_.switch_port_GBps = std::max(GBps("node 0 device 0 -> switch"), 0.0);
    for (std::int64_t i = 0; i < node_.devices && nodes_ > 1; ++i) {
      const auto& way = route(i, node_.devices);
      const auto nic = way.empty() ? std::nullopt : numbers_in(way.front(), "node 0 nic # out");
      if (!nic) fail(fmt::format("device-{} leaves its node through no NIC", i));
      const auto number = static_cast<std::size_t>(nic->front());
      node_.nics.resize(std::max(node_.nics.size(), number + 1));
      node_.nic_rates_GBps.resize(node_.nics.size());
      node_.nics[number].push_back(i);
      node_.nic_rates_GBps[number] = GBps(way.front());
    }
    for (const auto& devices : node_.nics) {
      if (devices.empty()) fail("a NIC of node 0 has no device");
    }
  }

  double fastest_nic() const { return *std::ranges::max_element(node_.nic_rates_GBps); }

  // "key = { value = ..., source = ... }"; what the file shows a part of only is unconfirmed.
  std::string number(const char* key, double value, bool seen = true) const {
    return fmt::format("{} = {}\n", key, number_value(value, seen));
  }
  std::string number_value(double value, bool seen) const {
    return fmt::format("{{ value = {:.15g}, source = {}{} }}", value, toml_string(node_.source),
                       seen ? "" : ", unconfirmed = true");
  }
  std::string list(const char* header, const std::string& rows) const {
    return fmt::format("\n[{}]\nsource = {}\nunconfirmed = true\nentries = [\n{}]\n", header,
                       toml_string(node_.source), rows);
  }

  // Links that carry `all` together, each as fast as `one` if that comes out whole.
  std::string bundle(const char* count, double all, double one, const char* other) const {
    const double links = std::round(all / one);
    const bool whole = links >= 1.0 && std::abs(links * one / all - 1.0) < 1e-9;
    return number(count, whole ? links : 1.0) + (whole ? "" : number(other, all));
  }

  // Through all other switches, groups or cells, at most eight.
  std::string detours(const char* key, std::int64_t places) const {
    return number(key, static_cast<double>(std::clamp<std::int64_t>(places - 2, 0, 8)), false);
  }

  std::string dragonfly(const TemplateShape& shape) const {
    const auto nics = std::ssize(node_.nics);
    const Found local = find("group # switch # -> switch #", 1);
    const Found global = find("group # -> group #");
    const std::int64_t switches = std::max(local.largest + 1, static_cast<std::int64_t>(nics));
    const std::int64_t chassis = std::max<std::int64_t>(switches / nics, 1);
    const auto second = first_node_behind({"group # -> group #"});
    std::int64_t in_chassis = second.value_or(nodes_);
    for (std::int64_t node = in_chassis - 1; node > 0; --node) {
      const auto& links = route(node * node_.devices, 0);
      const auto own =
          links.size() > 1 ? numbers_in(links[1], "group 0 switch # -> switch #") : std::nullopt;
      if (own && own->front() >= nics) in_chassis = node;
    }
    const std::int64_t in_group = second.value_or(in_chassis * chassis);
    const std::int64_t groups =
        std::max((shape.nodes + in_group - 1) / in_group, global.largest + 1);
    const double link = local.GBps > 0.0 ? local.GBps : fastest_nic();
    return "[network]\nkind = \"dragonfly\"\n" +
           number("groups", static_cast<double>(groups), false) +
           number("switches_per_group", static_cast<double>(switches), second.has_value()) +
           number("nodes_per_group", static_cast<double>(in_group), second.has_value()) +
           number("link_bandwidth_GBps", link, local.GBps > 0.0) +
           (global.GBps > 0.0
                ? bundle("links_per_group_pair", global.GBps, link, "global_link_bandwidth_GBps")
                : number("links_per_group_pair", 1.0, false)) +
           detours("local_detours", switches) + detours("global_detours", groups);
  }

  std::string dragonfly_plus(const TemplateShape& shape) const {
    const Found leaf = find("cell # leaf # up", 1);
    const Found global = find("cell # -> cell #");
    const std::int64_t in_leaf =
        first_node_behind({"cell # leaf # up", "cell # -> cell #"}).value_or(nodes_);
    const auto second = first_node_behind({"cell # -> cell #"});
    const std::int64_t in_cell = second.value_or(in_leaf * (leaf.largest + 1));
    const double nic = fastest_nic();
    const double uplinks = std::round(leaf.GBps / nic);
    const bool whole = uplinks >= 1.0 && std::abs(uplinks * nic / leaf.GBps - 1.0) < 1e-9;
    const double link = whole ? nic : leaf.GBps;
    const std::int64_t cells = std::max((shape.nodes + in_cell - 1) / in_cell, global.largest + 1);
    return "[network]\nkind = \"dragonfly-plus\"\n" +
           number("cells", static_cast<double>(cells), false) +
           number("leaves_per_cell", static_cast<double>(leaf.largest + 1), second.has_value()) +
           number("nodes_per_cell", static_cast<double>(in_cell), second.has_value()) +
           number("uplinks_per_leaf", whole ? uplinks : 1.0) + number("link_bandwidth_GBps", link) +
           (global.GBps > 0.0
                ? bundle("links_per_cell_pair", global.GBps, link, "global_link_bandwidth_GBps")
                : number("links_per_cell_pair", 1.0, false)) +
           detours("global_detours", cells);
  }

  std::string fat_tree(const TemplateShape& shape) const {
    const bool railed = find("unit # rail # up").largest >= 0;
    const std::int64_t rails = railed ? find("unit # rail # up", 1).largest + 1 : 1;
    const double nic = fastest_nic();
    struct Tier {
      std::vector<const char*> behind;
      const char* link;
    };
    const Tier tiers[]{
        {{"unit # rail # up", "leaf # up"}, railed ? "unit # rail # up" : "leaf # up"},
        {{"pod # up"}, "pod # up"},
        {{"zone # up"}, "zone # up"}};
    const std::int64_t nics_a_rail = std::ssize(node_.nics) / rails;
    double comes = nic * static_cast<double>(nics_a_rail);
    std::int64_t below = 1;
    std::string rows;
    int level = 0;
    for (const Tier& tier : tiers) {
      const Found links = find(tier.link);
      if (links.largest < 0) break;
      const std::int64_t nodes = first_node_behind(tier.behind).value_or(nodes_);
      const std::int64_t members = std::max<std::int64_t>(nodes / below, 1);
      comes *= static_cast<double>(members);
      rows += fmt::format("  {{ tier = {}, members = {}, oversubscription = {:.15g} }},\n", ++level,
                          members, comes / links.GBps);
      comes = links.GBps * static_cast<double>(level == 1 ? rails : 1);
      below *= members;
    }
    rows += fmt::format("  {{ tier = {}, members = {} }},\n", level + 1,
                        (shape.nodes + below - 1) / below);
    return "[network]\nkind = \"fat-tree\"\n" + number("link_bandwidth_GBps", nic, false) +
           number("rails", static_cast<double>(rails)) + list("network.tiers", rows);
  }

  std::string torus(const TemplateShape& shape) const {
    constexpr const char* on = "router # -> router # (dimension # on)";
    const std::int64_t dimensions = find(on, 2).largest + 1;
    // Of each dimension what a router's number grows by, and how many there are if a link closes
    // it.
    std::vector<std::int64_t> steps(static_cast<std::size_t>(dimensions)), closed(steps.size());
    for (const auto& [link, rate] : GBps_) {
      const auto ends = numbers_in(link, on);
      if (!ends) continue;
      const auto dimension = static_cast<std::size_t>(ends->at(2));
      const std::int64_t step = ends->at(1) - ends->at(0);
      if (step > 0) steps[dimension] = step;
      if (step < 0) closed[dimension] = -step;
    }
    std::string rows;
    std::int64_t routers = 1;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::int64_t extent = 2 * ((nodes_ + routers - 1) / routers);  // no way round is shorter
      if (i + 1 < steps.size() && steps[i + 1] > 0) extent = steps[i + 1] / routers;
      if (closed[i] > 0) extent = closed[i] / routers + 1;
      if (i + 1 == steps.size() && closed[i] == 0) {
        extent = std::max(extent, (shape.nodes + routers - 1) / routers);
      }
      rows += fmt::format("  {{ dimension = {}, routers = {} }},\n", i + 1, extent);
      routers *= extent;
    }
    if (routers < shape.nodes) {
      rows += fmt::format("  {{ dimension = {}, routers = {} }},\n", dimensions + 1,
                          (shape.nodes + routers - 1) / routers);
    }
    return "[network]\nkind = \"torus\"\n" + number("link_bandwidth_GBps", find(on).GBps) +
           list("network.dimensions", rows);
  }

  // Empty where the file has no link of a network: those of the template stay.
  std::string network_toml(TemplateShape& shape) const {
    struct Kind {
      const char* name;
      std::vector<const char*> links;
      std::string (SimgridFile::*toml)(const TemplateShape&) const;
    };
    const Kind kinds[]{{"dragonfly",
                        {"group # switch # -> switch #", "group # -> group #"},
                        &SimgridFile::dragonfly},
                       {"dragonfly-plus", {"cell # leaf # up"}, &SimgridFile::dragonfly_plus},
                       {"fat-tree", {"leaf # up", "unit # rail # up"}, &SimgridFile::fat_tree},
                       {"torus", {"router # -> router # (dimension # on)"}, &SimgridFile::torus}};
    for (const Kind& kind : kinds) {
      for (const char* link : kind.links) {
        if (find(link).largest < 0) continue;
        shape.network = kind.name;
        return (this->*kind.toml)(shape);
      }
    }
    return "";
  }

  // Rates of products as typical parts of what hosts compute; plateaus of what NICs carry.
  std::string with_rates(std::string text) const {
    const auto put = [&](const TomlPath& path, const std::string& value) {
      text = with_value(text, path, value).value_or(text);
    };
    if (!node_.nic_rates_GBps.empty()) {
      double all = 0.0, one = fastest_nic();
      for (std::size_t nic = 0; nic < node_.nics.size(); ++nic) {
        all += node_.nic_rates_GBps[nic];
        one = std::min(one, node_.nic_rates_GBps[nic]);
      }
      std::string rows = fmt::format("{{ devices = {}, bus_bandwidth_GBps = {:.4g} }}",
                                     node_.devices, reached * all);
      if (node_.devices > 1) {
        rows =
            fmt::format("{{ devices = 1, bus_bandwidth_GBps = {:.4g} }}, ", reached * one) + rows;
      }
      put({"library", "across", "entries"}, "[" + rows + "]");
    }
    if (speed_ <= 0.0) return text;
    const auto share = [&](double of_empirical) {
      return fmt::format("{{ value = {:.6g}, source = {}, unconfirmed = true }}",
                         speed_ / 1e12 * of_empirical,
                         toml_string(node_.source + ": a typical part of a host's speed"));
    };
    put({"processor", "advertised_peak_Tflops"}, share(1.25));
    put({"processor", "empirical_peak_Tflops"}, share(1.0));
    put({"processor", "attention_forward_Tflops"}, share(0.4));
    put({"processor", "attention_backward_Tflops"}, share(0.3));
    std::string rows;
    for (const auto& [size, part] : {std::pair{800, 0.12}, std::pair{1600, 0.45},
                                     std::pair{3200, 0.73}, std::pair{12800, 0.77}}) {
      rows += fmt::format("{{ size = {}, rate_Tflops = {:.4g} }}, ", size, speed_ / 1e12 * part);
    }
    put({"processor", "gemm", "entries"}, "[" + rows.substr(0, rows.size() - 2) + "]");
    return text;
  }

  std::string where_;
  std::int64_t devices_ = 0, nodes_ = 1;
  double speed_ = 0.0;
  std::map<std::string, double> GBps_;
  std::vector<std::string> order_;  // of the links in the file
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::string>> routes_;
  SeenNode node_;
};

}  // namespace

std::string template_of_simgrid(const std::string& xml, const std::string& where,
                                const TemplateShape& shape) {
  return SimgridFile(xml, where).text(shape);
}

}  // namespace fourfold::inline scaling::inline calibrate
