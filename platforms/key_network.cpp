// The keys of the network section: each kind of network has its own.
#include "platforms/key.hpp"

namespace fourfold {
namespace {

Key kind_key(const std::string& kind) {
  return {"kind",
          KeyForm::text,
          "\"" + kind + "\"",
          "crossbar, dragonfly, dragonfly-plus, fat-tree or torus.",
          "The machine's documentation.",
          "Which links contend."};
}

Key link_bandwidth_key(const std::string& typical, const std::string& which) {
  return {"link_bandwidth_GBps",
          KeyForm::number,
          typical,
          "Bandwidth of one link " + which + ", per direction.",
          "Data sheet: Gb/s / 8.",
          "Exposed communication of large jobs."};
}

Key global_detours_key(const std::string& part) {
  return {"global_detours",
          KeyForm::number,
          "2",
          "Between two " + part + "s: routes via another " + part +
              " that share a message with the direct one; 0 is minimal routing.",
          "How the routing spreads under load: about half of the others, or all; an assumption.",
          "Exposed communication of jobs over several " + part + "s."};
}

KeyTable crossbar_keys() {
  return {"network",
          "crossbar",
          "An ideal switch: nothing contends but the ports of the devices. For comparisons.",
          {kind_key("crossbar"),
           {"private_port_per_lane", KeyForm::flag, "false",
            "true: each of the five lanes of a device has a port of its own.", "",
            "Exposed communication."}}};
}

KeyTable dragonfly_keys() {
  return {"network",
          "dragonfly",
          "Groups of switches, each joined with all of its group; every pair of groups is joined.",
          {kind_key("dragonfly"),
           {"groups", KeyForm::number, "8", "Groups that have compute nodes.",
            "The machine's documentation; often a cabinet is a group.",
            "Exposed communication of jobs over several groups."},
           {"switches_per_group", KeyForm::number, "16", "Switches of a group.",
            "The machine's documentation.", "Contention inside a group."},
           {"nodes_per_group", KeyForm::number, "16", "Compute nodes of a group.",
            "The machine's documentation.", "From which size on a job leaves its group."},
           {"links_per_group_pair", KeyForm::number, "16",
            "Links between two groups; global bandwidth = this x the link's x pairs of groups.",
            "The machine's documentation, or its total global bandwidth divided so.",
            "Exposed communication of jobs over several groups."},
           link_bandwidth_key("50", "from switch to switch in a group"),
           {"global_link_bandwidth_GBps", KeyForm::number, "50",
            "The same between groups, if it differs.", "Data sheet: Gb/s / 8.",
            "Exposed communication of jobs over several groups.", Presence::optional},
           {"local_detours", KeyForm::number, "8",
            "Inside a group: routes via another switch that share a message with the direct link.",
            "As many as NICs on a switch, if routing is adaptive; 0 is minimal routing.",
            "Contention inside a group."},
           global_detours_key("group")}};
}

KeyTable dragonfly_plus_keys() {
  return {"network",
          "dragonfly-plus",
          "Cells of leaf and spine switches; the spines of every pair of cells are joined.",
          {kind_key("dragonfly-plus"),
           {"cells", KeyForm::number, "4", "Cells that have compute nodes.",
            "The machine's documentation.", "Exposed communication of jobs over several cells."},
           {"leaves_per_cell", KeyForm::number, "8", "Leaf switches of a cell.",
            "The machine's documentation.", "Contention inside a cell."},
           {"nodes_per_cell", KeyForm::number, "32", "Compute nodes of a cell.",
            "The machine's documentation.", "From which size on a job leaves its cell."},
           {"uplinks_per_leaf", KeyForm::number, "32",
            "Links of a leaf to all spines of its cell together.", "The machine's documentation.",
            "Contention inside a cell."},
           {"links_per_cell_pair", KeyForm::number, "32", "Links between two cells.",
            "The machine's documentation.", "Exposed communication of jobs over several cells."},
           link_bandwidth_key("50", "from leaf to spine, and between cells"),
           global_detours_key("cell")}};
}

KeyTable fat_tree_keys() {
  return {
      "network",
      "fat-tree",
      "A tree of switches, from the leaves up; also called Clos.",
      {kind_key("fat-tree"),
       link_bandwidth_key("50", "from NIC to leaf"),
       {"rails", KeyForm::number, "8",
        "Leaf switches side by side in a part of tier 1: NIC i of all its nodes is on leaf i "
        "modulo rails. As many as NICs is rail-optimised; 1 has all NICs of a node on one leaf.",
        "The machine's documentation.", "Contention above the leaves."}}};
}

KeyTable tier_keys() {
  return {"network.tiers",
          "fat-tree",
          "One row for each level of switches, from the leaves to the root, 4 at most.",
          {{"tier", KeyForm::column, "", "1, 2, ... without a gap."},
           {"members", KeyForm::column, "",
            "Parts below: of tier 1 nodes that share leaves, above it parts of the tier below. "
            "All multiplied must have room for the nodes.",
            "The machine's documentation.", "From which size on a job uses the next tier."},
           {"oversubscription", KeyForm::column, "",
            "What a part's members can send into it over what it can send up: 1 is non-blocking, "
            "7 a taper to a seventh. Not for the last tier.",
            "Links down / links up of its switches.",
            "Exposed communication of jobs larger than a part.", Presence::optional}},
          {"{ tier = 1, members = 32, oversubscription = 1.0 }", "{ tier = 2, members = 4 }"}};
}

KeyTable torus_keys() {
  return {"network",
          "torus",
          "A router per node, joined with two neighbours in each dimension, the ends joined too.",
          {kind_key("torus"), link_bandwidth_key("50", "from router to router")}};
}

KeyTable dimension_keys() {
  return {"network.dimensions",
          "torus",
          "One row for each dimension; nodes are numbered along the first one first.",
          {{"dimension", KeyForm::column, "", "1, 2, ... without a gap."},
           {"routers", KeyForm::column, "", "Routers along it, at least 2.",
            "The machine's documentation.", "Exposed communication across nodes."}},
          {"{ dimension = 1, routers = 8 }", "{ dimension = 2, routers = 4 }",
           "{ dimension = 3, routers = 4 }"}};
}

}  // namespace

std::vector<KeyTable> network_keys() {
  return {crossbar_keys(), dragonfly_keys(), dragonfly_plus_keys(), fat_tree_keys(),
          tier_keys(),     torus_keys(),     dimension_keys()};
}

}  // namespace fourfold
