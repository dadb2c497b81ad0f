// Networks, nodes, jobs, placements and exports that cannot be, built by hand: the sentence of each
// in a golden text, beside the nearest ones that can be.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <functional>
#include <regex>
#include <string>
#include <type_traits>
#include <vector>

#include "platforms/mapping.hpp"
#include "platforms/network/axis_rate.hpp"
#include "platforms/network/topology.hpp"
#include "platforms/show/simgrid_xml.hpp"
#include "tests/golden.hpp"
#include "tests/platforms/machines_for_tests.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

constexpr BytesPerSecond link{25 * giga};

std::string said(const std::string& what, const std::function<void()>& call) {
  return fmt::format("{}: {}\n", what, tests::refusal<std::exception>(call));
}

// `set` puts each number into the network; a line for each.
template <typename Kind>
std::string of_numbers(const std::string& what, const Kind& sound, std::int64_t nodes,
                       const std::function<void(Kind&, std::int64_t)>& set,
                       const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (std::int64_t number : numbers) {
    Kind network = sound;
    set(network, number);
    text +=
        said(fmt::format("{} {}", what, number), [&] { fabric_of(Network{network}, 4, nodes); });
  }
  return text;
}

// Into a member: a number, or a rate in bytes per second.
template <typename Kind, typename Number>
std::string of_member(const std::string& what, const Kind& sound, std::int64_t nodes,
                      Number Kind::*member, const std::vector<std::int64_t>& numbers) {
  const auto set = [member](Kind& network, std::int64_t number) {
    if constexpr (std::is_same_v<Number, BytesPerSecond>) {
      (network.*member).value = static_cast<double>(number);
    } else {
      network.*member = number;
    }
  };
  return of_numbers<Kind>(what, sound, nodes, set, numbers);
}

constexpr std::int64_t huge = std::int64_t{1} << 40;

std::string of_dragonfly() {
  using Kind = DragonflyNetwork;
  const Kind sound{4, 6, 8, 3, link, link, 2, 1}, alone{1, 6, 8, 3, link, link, 2, 1};
  std::string text = of_member("groups", sound, 16, &Kind::groups, {-1, 0, 1, 2, 60000, huge});
  text += of_member("switches", sound, 8, &Kind::switches_per_group, {0, 1, 2, 46341, 46342, huge});
  text += of_member("nodes of a group", sound, 17, &Kind::nodes_per_group, {0, 4, 5, huge});
  text += of_member("links of a pair", sound, 8, &Kind::links_per_group_pair, {-3, 0, 1, huge});
  text += of_member("links of no pair", alone, 8, &Kind::links_per_group_pair, {0, 1});
  text += of_member("local detours", sound, 8, &Kind::local_detours, {-1, 0, 99, huge});
  text += of_member("global detours", sound, 8, &Kind::global_detours, {-1, 0, 99, huge});
  text += of_member("link", sound, 8, &Kind::link_bandwidth, {-1, 0, 1});
  for (std::int64_t nodes : {1, 32, 33}) {
    text += said(fmt::format("{} nodes", nodes), [&] { Dragonfly(sound, 4, nodes); });
  }
  text += said("no NIC", [&] { Dragonfly(sound, 0, 1); });

  return text;
}

std::string of_dragonfly_plus() {
  using Kind = DragonflyPlusNetwork;
  const Kind sound{4, 3, 7, 6, 2, link, link, 1};
  return of_member("cells", sound, 14, &Kind::cells, {0, 1, 2, 46341, 46342, huge}) +
         of_member("leaves", sound, 8, &Kind::leaves_per_cell,
                   {0, 1, 7, 536870908, 536870911, 536870912, huge}) +
         of_member("nodes of a cell", sound, 17, &Kind::nodes_per_cell, {4, 5, huge}) +
         of_member("links up", sound, 8, &Kind::uplinks_per_leaf, {-1, 0, 1}) +
         of_member("links of a pair", sound, 8, &Kind::links_per_cell_pair, {0, 1}) +
         of_member("global detours", sound, 8, &Kind::global_detours, {-1, 0, 99}) +
         of_member("link", sound, 8, &Kind::link_bandwidth, {0, 1});
}

std::string of_fat_tree() {
  using Kind = FatTreeNetwork;
  const Kind sound{link, 2, {{4, 2.0}, {3, 4.0}, {2, 1.0}}};
  std::string text = of_member("rails", sound, 8, &Kind::rails, {-2, 0, 1, 2, 3, 4, 8});
  text += of_numbers<Kind>("tiers", {link, 1, {}}, 1,
                           [](Kind& n, auto v) {
                             n.tiers.resize(static_cast<std::size_t>(v), {2, 1.0});
                           },
                           {0, 1, 4, 5});
  text += of_member("rails of one tier", Kind{link, 1, {{4, 1.0}}}, 4, &Kind::rails, {1, 2});
  text += of_numbers<Kind>("members of the second", sound, 8,
                           [](Kind& n, auto v) { n.tiers[1].members = v; },
                           {0, 1, 178956970, 268435455, 268435456, 536870912, huge});
  text += of_numbers<Kind>("members of the last", sound, 24,
                           [](Kind& n, auto v) { n.tiers[2].members = v; }, {0, 1, 2});
  text += of_numbers<Kind>("taper of the first", sound, 24,
                           [](Kind& n, auto v) { n.tiers[0].oversubscription = double(v); },
                           {-1, 0, 1});
  text += of_member("link", sound, 8, &Kind::link_bandwidth, {-1, 0, 1});
  for (std::int64_t nodes : {24, 25}) {
    text += said(fmt::format("{} nodes", nodes), [&] { FatTree(sound, 4, nodes); });
  }

  return text;
}

std::string of_torus() {
  using Kind = TorusNetwork;
  const Kind sound{{3, 4}, link};
  std::string text = said("no dimension", [] { Torus({{}, link}, 1); });
  text += of_numbers<Kind>("first", sound, 8, [](Kind& n, auto v) { n.extents[0] = v; },
                           {-3, 0, 1, 2, huge});
  text += of_numbers<Kind>("second", sound, 4, [](Kind& n, auto v) { n.extents[1] = v; },
                           {1, 2, 178956970, 178956971, huge});
  text += of_member("link", sound, 8, &Kind::link_bandwidth, {-1, 0, 1});
  for (std::int64_t nodes : {12, 13}) {
    text += said(fmt::format("{} nodes", nodes), [&] { Torus(sound, nodes); });
  }

  return text;
}

Platform perlmutter_with(const std::function<void(Platform&)>& edit) {
  Platform platform = perlmutter();
  edit(platform);
  return platform;
}

std::string said_of(const std::string& what, const Platform& platform, std::int64_t nodes) {
  return said(what, [&] { const Topology topology(platform, nodes); });
}

std::string of_nodes() {
  const Platform sound = perlmutter();
  std::string text;
  for (std::int64_t nodes :
       {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, sound.nodes, sound.nodes + 1}) {
    text += said_of(fmt::format("{} nodes", nodes), sound, nodes);
  }
  for (int devices : {0, 1, 128, 129}) {
    const Platform platform = perlmutter_with([&](Platform& p) {
      p.node = switched_node(devices, 100);
      if (devices == 0) p.node.nics.push_back({link, {}});
    });
    text += said_of(fmt::format("{} devices of a node", devices), platform, 1);
  }
  text += said_of("no NIC", perlmutter_with([](Platform& p) { p.node.nics.clear(); }), 1);
  text += said_of("a device without NIC",
                  perlmutter_with([](Platform& p) { p.node.nics[2].devices.clear(); }), 1);
  for (int device : {-1, 4, 5}) {
    text += said_of(fmt::format("a NIC of device {}", device),
                    perlmutter_with([&](Platform& p) { p.node.nics[1].devices = {device}; }), 1);
  }
  for (const auto& [a, b] : {std::pair{-1, 2}, {2, -1}, {4, 0}, {0, 4}, {3, 3}}) {
    text += said_of(fmt::format("a link {} to {}", a, b), perlmutter_with([&](Platform& p) {
                      p.node.links.push_back({a, b, link, ""});
                    }),
                    1);
  }
  text += said_of("two pieces", perlmutter_with([](Platform& p) {
                    p.node.links = {{0, 1, link, ""}, {2, 3, link, ""}};
                  }),
                  1);
  text += said_of("two pieces and a switch", perlmutter_with([](Platform& p) {
                    p.node.links = {{0, 1, link, ""}, {2, 3, link, ""}};
                    p.node.switch_port = link;
                  }),
                  1);
  Platform crowded = crossbar(64, Ports::private_per_channel);
  crowded.nodes = huge;
  for (std::int64_t nodes : {std::int64_t{1} << 24, (std::int64_t{1} << 24) - 1}) {
    text += said(fmt::format("{} nodes of a crossbar", nodes),
                 [&] { const Topology topology(crowded, nodes, 1); });
  }
  text += said("half as many with two channels",
               [&] { const Topology topology(crowded, std::int64_t{1} << 23, 2); });
  for (int nics : {128, 129}) {
    Node node = switched_node(4, 100);
    node.nics.resize(static_cast<std::size_t>(nics), {link, {}});  // most serve no device
    const Platform platform = fat_tree(node, 1, {{2, 1.0}, {2, 1.0}});
    text += said(fmt::format("{} NICs", nics), [&] { const AxisRates rates(platform); });
  }

  return text;
}

std::string of_devices() {
  const Platform shared = crossbar(4, Ports::shared);
  const Platform separate = crossbar(4, Ports::private_per_channel);
  const Platform network = perlmutter();
  std::string text;
  for (const Platform* platform : {&shared, &separate, &network}) {
    const Topology topology(*platform, 2, 3);
    for (std::int64_t device : {-1, 0, 7, 8}) {
      Footprint path;
      std::vector<std::int32_t> links;
      text += said(fmt::format("from {}", device), [&] { topology.route(device, 2, path); });
      text += said(fmt::format("to {}", device), [&] { topology.minimal_route(2, device, links); });
      text += said(fmt::format("a ring with {}", device), [&] {
        topology.ring_footprint({2, device}, 0);
      });
    }
    for (ChannelNumber channel : {-1, 0, 2, 3}) {
      text += said(fmt::format("channel {}", channel), [&] {
        topology.ring_footprint({0, 5}, channel);
      });
    }
  }

  return text;
}

std::string of_placements() {
  Platform tree = fat_tree(switched_node(2, 300), 1, {{2, 1.0}, {3, 1.0}});
  tree.nodes = 5;
  const Platform one_switch = fat_tree(switched_node(2, 300), 1, {{5, 1.0}});
  const Platform torus = tests::torus(switched_node(2, 300), {2, 3});
  const Platform crossbar = tests::crossbar(2, Ports::shared);
  std::string text;
  for (std::int64_t ranks : {-1, 0, 1, 10, 11}) {
    text += said(fmt::format("packed {}", ranks), [&] { Mapping::packed(ranks); });
    text += said(fmt::format("spread {}", ranks), [&] { Mapping::spread(ranks, tree); });
    text += said(fmt::format("random {}", ranks), [&] { Mapping::random(ranks, tree, 1); });
    text += said(fmt::format("nodes of {}", ranks), [&] { Mapping::on_nodes(ranks, tree, {}); });
    text +=
        said(fmt::format("devices of {}", ranks), [&] { Mapping::on_devices(ranks, tree, {}); });
  }
  for (const Platform* platform : {&one_switch, &torus, &crossbar}) {
    text += said("spread over " + platform->name, [&] { Mapping::spread(2, *platform); });
  }
  const std::vector<std::vector<std::int64_t>> lists{
      {0}, {0, 4}, {4, 0, 1}, {0, 5}, {0, -1}, {3, 3}, {0, 1, 9}, {0, 1, 10}, {9, 8, 7}, {9, 1, 9}};
  for (const std::vector<std::int64_t>& list : lists) {
    const std::string what = fmt::format("{}", fmt::join(list, " "));
    text += said("nodes " + what, [&] { Mapping::on_nodes(3, tree, list); });
    text += said("devices " + what, [&] { Mapping::on_devices(3, tree, list); });
  }
  const Mapping mapping{{5, 0, 3}};
  for (std::int64_t rank : {-1, 0, 2, 3}) {
    text += said(fmt::format("rank {}", rank), [&] { mapping.apply({0, rank}); });
  }

  return text;
}

std::string of_exports() {
  Platform few = torus(switched_node(2, 300), {2, 3});
  const Platform many = perlmutter();
  const Platform separate = crossbar(2, Ports::private_per_channel);
  std::string text;
  for (std::int64_t devices : {-1, 0, 1, 12, 13, 500}) {
    text += said(fmt::format("{} of 12", devices), [&] { simgrid_xml(few, devices); });
  }
  for (std::int64_t devices : {0, 256, 257, 100000}) {
    text += said(fmt::format("{} of many", devices), [&] { simgrid_xml(many, devices); });
  }
  text += said("ports", [&] { simgrid_xml(separate, 2); });
  text += said("too many ports", [&] { simgrid_xml(separate, 300); });
  text += said("one port", [] { simgrid_xml(crossbar(2, Ports::shared), 2); });

  return text;
}

// In one text, as the networks have sentences in common; what is accepted in a row is one line.
TEST(Misfits, AreSaid) {
  const std::string text = "dragonfly\n" + of_dragonfly() + "dragonfly_plus\n" +
                           of_dragonfly_plus() + "fat_tree\n" + of_fat_tree() + "torus\n" +
                           of_torus() + "nodes\n" + of_nodes() + "devices\n" + of_devices() +
                           "placements\n" + of_placements() + "exports\n" + of_exports();
  const std::regex in_a_row(": accepted\n(?=[^\n]*: accepted\n)");
  expect_golden("misfits.txt", std::regex_replace(text, in_a_row, ", "));
}

TEST(Exports, EscapeWhatXmlDoesNotTake) {
  Platform platform = torus(switched_node(2, 300), {2, 2});
  platform.name = "a<b> & \"c\"";
  platform.title = "one -- two --- three ---- four & <five>";

  const std::string xml = simgrid_xml(platform, 3);

  EXPECT_NE(xml.find("<zone id=\"a&lt;b&gt; &amp; &quot;c&quot;\" routing"), std::string::npos);
  const std::size_t begin = xml.find("<!--") + 4;
  const std::string comment = xml.substr(begin, xml.find("-->") - begin);
  EXPECT_EQ(comment.find("--"), std::string::npos) << comment;
  EXPECT_NE(comment.find("The first 3 devices of one -  two - - three - -  four"),
            std::string::npos)
      << comment;
  EXPECT_EQ(xml.find("device-3"), std::string::npos);
  EXPECT_TRUE(xml.starts_with("<?xml") && xml.ends_with("</platform>\n"));
}

// The links of a route, one after the other; the first stands for its latency.
std::string route_of(const std::string& xml, const std::string& from, const std::string& to) {
  const std::string head = "<route src=\"" + from + "\" dst=\"" + to + "\" symmetrical=\"NO\">";
  const std::size_t begin = xml.find(head) + head.size();
  const std::string route = xml.substr(begin, xml.find("</route>", begin) - begin);
  return std::regex_replace(route, std::regex("<link_ctn id=\"([^\"]*)\"/>"), "$1; ");
}

TEST(SimgridXml, RoutesLeaveTheSenderAndEnterTheReceiver) {
  const std::string xml = simgrid_xml(perlmutter(), 8);

  EXPECT_EQ(route_of(xml, "device-1", "device-6"),
            "latency 1; node 0 nic 1 out; group 0 switch 1 -&gt; switch 2; node 1 nic 2 in; ");
  EXPECT_EQ(route_of(xml, "device-2", "device-0"), "latency 2; node 0 device 2 -&gt; device 0; ");
}

}  // namespace
}  // namespace fourfold::tests
