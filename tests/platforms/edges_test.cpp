// The edges of what a machine file may say: beside each thing that is refused, with its sentence,
// the nearest that is taken.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/platforms/platform_files.hpp"
#include "tests/platforms/written_machine.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

TEST(Edges, AWrittenMachineIsTaken) {
  EXPECT_EQ(WrittenMachine().said(), accepted);
}

TEST(Edges, OfTheNumberOfNodes) {
  expect_edges(&WrittenMachine::nodes, {{"12", ""}, {"13", "13 nodes do not fit in a fat tree"}});
  const auto of_crossbar = [](const std::string& nodes) {
    WrittenMachine crossbar;
    crossbar.network = "kind = \"crossbar\"\nprivate_port_per_lane = false\n";
    crossbar.nodes = nodes;
    return crossbar.said();
  };
  const std::string range = ", but it must be a whole number from 1 to 1000000";
  expect_edges(
      of_crossbar,
      {{"1000000", ""}, {"1000001", "nodes is 1000001" + range}, {"1.5", "nodes is 1.5" + range}});
}

TEST(Edges, OfRatesUnderThePeak) {
  const std::string below = "{ size = 500, rate_Tflops = ";
  const std::string ascend = "processor.gemm must ascend in size, but ";
  expect_edges(
      &WrittenMachine::gemm,
      {{below + "200 }", ""},
       {below + "200.1 }", "gemm.500.rate_Tflops is 200.1, above the advertised peak of 200"},
       {"", "processor.gemm has no entries"},
       {below + "20 }, " + below + "30 }", ascend + "500 follows 500"},
       {"{ size = 0, rate_Tflops = 20 }", ascend + "0 follows 0"}});
  // As written: what a factor makes of a rate may lie above.
  EXPECT_EQ(WrittenMachine().said({{"processor.gemm.rate_Tflops", 4.0}}), accepted);
  EXPECT_EQ(WrittenMachine().said({{"processor.advertised_peak_Tflops", 0.1}}), accepted);
}

std::string row(int a, int b, const std::string& rate = "50") {
  return "{ a = " + std::to_string(a) + ", b = " + std::to_string(b) +
         ", kind = \"link\", bandwidth_GBps = " + rate + " },";
}

// What a node of four devices without a switch hears.
std::string joined_by(const std::string& links) {
  WrittenMachine machine;
  machine.node = "";
  machine.links = links;
  machine.in_node = "{ devices = 4, bus_bandwidth_GBps = 40 }";
  return machine.said();
}

TEST(Edges, OfTheLinksOfANode) {
  const std::string alone =
      " of a node has no path to device 0 by node.links, and no switch joins them";
  const std::string twice = " is given twice; add up the widths in one entry";
  expect_edges(joined_by,
               {{row(0, 1) + row(2, 3) + row(1, 2), ""},
                {row(3, 2) + row(1, 0) + row(3, 0), ""},
                {row(0, 3) + row(1, 3) + row(2, 3), ""},
                {row(0, 1) + row(2, 3), "device 2" + alone},
                {row(1, 2) + row(2, 3) + row(1, 3), "device 1" + alone},
                {row(0, 1) + row(1, 2) + row(2, 0), "device 3" + alone},
                {row(0, 4), "the link 0-4 ends at device 4, but a node has devices 0 to 3"},
                {row(4, 0), "the link 4-0 ends at device 4, but a node has devices 0 to 3"},
                {row(2, 2), "the link 2-2 joins a device with itself"},
                {row(1, 2) + row(1, 2), "the link 1-2" + twice},
                {row(1, 2) + row(2, 1), "the link 2-1" + twice},
                {row(-1, 2), "node.links.a is -1, but it must be from 0 to 1000000000000"},
                {row(2, 1000001), "node.links.b is 1000001, no device"},
                {row(2, 1000000), "the link 2-1000000 ends at device 1000000"}});
  EXPECT_EQ(with(&WrittenMachine::links, row(0, 1)), accepted);  // a switch joins the others
}

TEST(Edges, OfTheNicsOfANode) {
  const auto second = [](const std::string& devices) {
    return with(&WrittenMachine::nics, "{ devices = [3, 1], bandwidth_GBps = 30 }, { devices = " +
                                           devices + ", bandwidth_GBps = 20 }");
  };
  const std::string exactly = " NICs, but it must be exactly 1", list = "must be a list of whole";
  expect_edges(second, {{"[0, 2]", ""},
                        {"[0]", "device 2 of a node sends through 0" + exactly},
                        {"[0, 2, 3]", "device 3 of a node sends through 2" + exactly},
                        {"[0, 2, 2]", "device 2 of a node sends through 2" + exactly},
                        {"[0, 4]", "NIC 1 serves device 4, but a node has devices 0 to 3"},
                        {"[0, -2]", "node.nics.devices names -2, which is no device"},
                        {"[0, 2147483648]", "names 2147483648, which is no device"},
                        {"[0, 2.0]", list},
                        {"2", list}});
  const auto nics = [](const std::string& devices_of_node, const std::string& rows) {
    WrittenMachine machine;
    machine.devices = devices_of_node;
    machine.nics = rows;
    return machine.said();
  };
  const std::string rate = ", bandwidth_GBps = 2 }", first = "{ devices = [0]" + rate;
  EXPECT_EQ(nics("1", first + ", { devices = []" + rate), "NIC 1 of a node serves no device");
  EXPECT_EQ(nics("129", first + ", " + first), "node.devices is 129, but at most 128 fit");
  EXPECT_THAT(nics("128", first + ", " + first), HasSubstr("device 0 of a node sends through 2"));
}

// Rings over nodes leave through the fastest NICs, of which two give 50 GB/s here and one 30.
TEST(Edges, OfPlateausUnderTheNics) {
  const auto rows = [](const std::string& one, const std::string& all) {
    return with(&WrittenMachine::across, "{ devices = 1, bus_bandwidth_GBps = " + one +
                                             " }, { devices = 4, bus_bandwidth_GBps = " + all +
                                             " }");
  };
  EXPECT_EQ(rows("30", "50"), accepted);
  EXPECT_EQ(rows("30.1", "50"),
            "library.across gives 30.1 GB/s to 1 device per node, but by node.nics no ring leaves "
            "a node faster than 30; all-reduces over two nodes or by the switches seem faster than "
            "rings: measure an all-gather over four nodes");
  EXPECT_THAT(rows("30", "50.1"), HasSubstr("no ring leaves a node faster than 50;"));
  EXPECT_EQ(WrittenMachine().said({{"library.across.bus_bandwidth_GBps", 9.0}}), accepted);
  EXPECT_EQ(WrittenMachine().said({{"node.nics.bandwidth_GBps", 0.1}}), accepted);
}

// Links of 50, 30 and 20 GB/s at device 0, and where there is a switch 10 into it.
TEST(Edges, OfPlateausUnderTheLinks) {
  for (const double port : {0.0, 10.0}) {
    const std::vector<double> most{50 + port, 80 + port, 100 + port};
    for (std::size_t above = 0; above <= most.size(); ++above) {
      WrittenMachine machine;
      machine.node = port == 0 ? "" : "switch_port_GBps = " + number("10") + "\n";
      machine.links = row(1, 0, "20") + row(0, 2, "50") + row(3, 0, "30");
      machine.in_node = "";
      for (std::size_t i = 0; i < most.size(); ++i) {
        machine.in_node += fmt::format("{{ devices = {}, bus_bandwidth_GBps = {} }}, ", i + 2,
                                       most[i] + (i == above ? 0.1 : 0.0));
      }
      EXPECT_EQ(machine.said(),
                above == most.size()
                    ? accepted
                    : fmt::format("library.in_node gives {} GB/s to {} devices, but by node.links "
                                  "and node.switch_port_GBps no device sends faster than {} to the "
                                  "others",
                                  most[above] + 0.1, above + 2, most[above]));
    }
  }
  WrittenMachine crossbar;  // reads neither
  crossbar.network = "kind = \"crossbar\"\nprivate_port_per_lane = false\n";
  crossbar.in_node = "{ devices = 4, bus_bandwidth_GBps = 110 }";
  EXPECT_EQ(crossbar.said(), accepted);
}

TEST(Edges, OfRowsUpToAWholeNode) {
  const std::string devices = "{ bus_bandwidth_GBps = 9, devices = ";
  const auto rows = [&](std::string WrittenMachine::*part, const std::string& name) {
    const std::string end = " per node, but a node has 4: add the row of a whole node";
    expect_edges(
        part,
        {{devices + "4 }", ""},
         {devices + "5 }", name + " speaks of 5 devices per node, but a node has 4"},
         {devices + "2 }, " + devices + "2 }, " + devices + "4 }", "in devices, but 2 follows 2"},
         {devices + "0 }, " + devices + "4 }", name + " must ascend in devices, but 0 follows 0"},
         {devices + "1 }", name + " ends at 1 device" + end},
         {devices + "1 }, " + devices + "3 }", name + " ends at 3 devices" + end},
         {"", name + " has no entries"}});
  };
  rows(&WrittenMachine::across, "library.across");
  rows(&WrittenMachine::in_node, "library.in_node");
  const auto at_once = [](const std::string& text) {
    return with(&WrittenMachine::others, list("library.across_at_once", text));
  };
  expect_edges(at_once, {{"", ""},
                         {devices + "4 }", ""},
                         {devices + "2 }", "at_once ends at 2 devices per node, but a node has 4"},
                         {devices + "5 }", "at_once speaks of 5 devices per node, but a node"}});
}

TEST(Edges, OfANodeOfOneDevice) {
  WrittenMachine machine;
  machine.devices = "1";
  machine.node = "";
  machine.nics = "{ devices = [0], bandwidth_GBps = 20 }";
  machine.network =
      "kind = \"torus\"\nlink_bandwidth_GBps = " + number("40") + "\n" +
      list("network.dimensions", "{ dimension = 1, routers = 6 }, { dimension = 2, routers = 2 }");
  machine.across = "{ devices = 1, bus_bandwidth_GBps = 18 }";
  machine.in_node = "";
  EXPECT_EQ(machine.said(), accepted);
  machine.nodes = "13";
  EXPECT_EQ(machine.said(), "13 nodes do not fit in a torus of 12");
  machine.across += ", { devices = 2, bus_bandwidth_GBps = 18 }";
  machine.nodes = "12";
  EXPECT_EQ(machine.said(), "library.across speaks of 2 devices per node, but a node has 1");
}

TEST(Edges, OfStrides) {
  for (int stride = 0; stride <= 4; ++stride) {
    for (int devices = 0; devices <= 5; ++devices) {
      const bool fits = stride >= 1 && devices >= 2 && stride * (devices - 1) <= 3;
      const std::string entry =
          fmt::format("{{ stride = {}, devices = {}, bus_bandwidth_GBps = 10 }}", stride, devices);
      EXPECT_EQ(with(&WrittenMachine::others, list("library.in_node_by_stride", entry)),
                fits ? accepted
                     : fmt::format("library.in_node_by_stride: {} devices {} apart do not fit in a "
                                   "node of 4",
                                   devices, stride));
    }
  }
}

// A row is one group's: the links bound it as its neighbours, and none stands there twice.
TEST(Edges, OfRowsOfOneGroup) {
  const std::string path = "library.in_node_by_stride", gives = path + " gives 100.1 GB/s to 2 ";
  const std::string pair = "{ stride = 2, devices = 2, bus_bandwidth_GBps = ";
  const auto rows = [&](const std::string& text) {
    return with(&WrittenMachine::others, list(path, text));
  };
  expect_edges(rows, {{pair + "100 }", ""},
                      {pair + "100.1 }", gives + "devices 2 apart, but by node.links and"},
                      {pair + "10 }, " + pair + "90 }", "stride 2 of 2 devices stands twice"}});
  const auto low_ends = [](const std::string& low) {
    return with(&WrittenMachine::others,
                "[library.cliff]\nfrom_KiB = " + number(low) + "\nto_KiB = " + number("1.4") +
                    "\nper_member_us = " + number("3") + "\n[operation]\nstep_p90 = " +
                    number(low) + "\nstep_p99 = " + number("1.2") + "\n");
  };
  expect_edges(low_ends, {{"1.2", ""},
                          {"1.3", "operation.step_p90 is 1.3, but it must be at most"},
                          {"1.5", "library.cliff.from_KiB is 1.5, but it must be at most"}});
}

TEST(Edges, OfTheOverlap) {
  expect_edges(
      &WrittenMachine::overlap,
      {{"1", ""}, {"0.99", "library.overlap_exponent is 0.99, but it must be at least 1"}});
}

std::string tier(int number, const std::string& oversubscription = "") {
  return "{ tier = " + std::to_string(number) + ", members = 12" +
         (oversubscription.empty() ? "" : ", oversubscription = " + oversubscription) + " }, ";
}

TEST(Edges, OfAFatTree) {
  const auto of_rails = [](const std::string& rails) {
    return [rails](const std::string& tiers) {
      return with(&WrittenMachine::network,
                  "kind = \"fat-tree\"\nlink_bandwidth_GBps = " + number("40") +
                      "\nrails = " + number(rails) + "\n" + list("network.tiers", tiers));
    };
  };
  const std::string three = tier(1, "1") + tier(2, "1") + tier(3, "1");
  expect_edges(
      of_rails("1"),
      {{tier(1), ""},
       {three + tier(4), ""},
       {three + tier(4, "1") + tier(5), "has 1 to 4 tiers of switches, but network.tiers has 5"},
       {"", "a fat tree has 1 to 4 tiers of switches, but network.tiers has 0 entries"},
       {tier(1) + tier(2), "\"network.tiers.oversubscription\" is missing"},
       {tier(1, "1") + tier(2, "1"), "oversubscription makes no sense: nothing is above the last"},
       {tier(1, "1") + tier(3), "network.tiers.tier is 3, but the next one is 2"},
       {tier(0), "network.tiers.tier is 0, but the next one is 1"}});
  expect_edges(of_rails("2"), {{tier(1), "2 rails need a second tier of switches that joins them"},
                               {tier(1, "0.5") + tier(2), ""}});
  expect_edges(of_rails("3"),
               {{tier(1, "1") + tier(2), "the 2 NICs of a node do not divide over"}});
}

// Lines of a network, and for each row of numbers what is said: groups or cells that hold 12 nodes,
// and one less.
struct Numbers {
  std::vector<int> numbers;
  std::string words;
};

void expect_edges_of(const std::string& kind, const std::vector<std::string>& keys,
                     const std::vector<Numbers>& edges) {
  for (const auto& [numbers, words] : edges) {
    std::string network = "kind = \"" + kind + "\"\nlink_bandwidth_GBps = " + number("25") + "\n";
    for (std::size_t i = 0; i < keys.size(); ++i) {
      network += keys[i] + " = " + number(std::to_string(numbers[i])) + "\n";
    }
    expect_edges(&WrittenMachine::network, {{network, words}});
  }
}

TEST(Edges, OfADragonfly) {
  const std::string switches = " local detours need as many switches besides the two ends, but a ";
  const std::string groups = " global detours need as many groups besides the two ends, but ";
  expect_edges_of("dragonfly",
                  {"groups", "switches_per_group", "nodes_per_group", "links_per_group_pair",
                   "local_detours", "global_detours"},
                  {{{3, 5, 4, 2, 3, 1}, ""},
                   {{3, 5, 3, 2, 3, 1}, "12 nodes do not fit in 3 groups of 3 nodes"},
                   {{3, 5, 4, 2, 4, 1}, "4" + switches + "group has 5"},
                   {{3, 5, 4, 2, 3, 2}, "2" + groups + "there are 3"},
                   {{1, 1, 12, 2, 0, 0}, ""},
                   {{1, 1, 12, 2, 1, 0}, "1" + switches + "group has 1"},
                   {{1, 1, 12, 2, 0, 1}, "1" + groups + "there are 1"}});
}

TEST(Edges, OfADragonflyPlus) {
  const std::string cells = " global detours need as many cells besides the two ends, but ";
  expect_edges_of("dragonfly-plus",
                  {"cells", "leaves_per_cell", "nodes_per_cell", "uplinks_per_leaf",
                   "links_per_cell_pair", "global_detours"},
                  {{{3, 4, 4, 2, 2, 1}, ""},
                   {{2, 4, 6, 2, 2, 0}, ""},
                   {{1, 12, 12, 2, 2, 0}, ""},
                   {{3, 5, 4, 2, 2, 1}, "5 leaves of a cell cannot all have one of its 4 nodes"},
                   {{3, 3, 3, 2, 2, 1}, "12 nodes do not fit in 3 cells of 3 nodes"},
                   {{3, 4, 4, 2, 2, 2}, "2" + cells + "there are 3"},
                   {{1, 4, 12, 2, 2, 1}, "1" + cells + "there are 1"}});
}

TEST(Edges, OfFactors) {
  const double endless = std::numeric_limits<double>::infinity();
  WrittenMachine tree, one_switch;
  one_switch.network = "kind = \"fat-tree\"\nlink_bandwidth_GBps = " + number("40") +
                       "\nrails = " + number("1") + "\n" +
                       list("network.tiers", "{ tier = 1, members = 12 }");
  const std::string of_links = "the scale of network.global_bandwidth is ";
  const std::string positive = ", but it must be greater than 0";
  const std::string none = "platform OfFactors-written ", scale = "\" to scale; did you mean \"";
  struct Factor {
    const WrittenMachine* machine;
    std::string key;
    double factor;
    std::string said;
  };
  const std::vector<Factor> factors{
      {&tree, "network.global_bandwidth", 0.001, accepted},
      {&tree, "network.global_bandwidth", 0.0, of_links + "0" + positive},
      {&tree, "network.global_bandwidth", -1.0, of_links + "-1" + positive},
      {&tree, "network.global_bandwidth", endless, of_links + "inf" + positive},
      {&one_switch, "network.global_bandwidth", 2.0,
       none + "is a single switch and has no global links to scale"},
      {&tree, "processor.memory_GB", endless,
       "processor.memory_GB is inf after scaling" + positive},
      {&tree, "processor.usable_memory", 1.25, accepted},
      {&tree, "processor.usable_memory", 1.5,
       "processor.usable_memory is 1.2000000000000002 after scaling" + positive + " and at most 1"},
      {&tree, "processor.interference", 10.0,
       "processor.interference is 1 after scaling, but it must be 0 or more and less than 1"},
      {&tree, "nodes", 0.3,
       "as scaled: nodes is 3.5999999999999996, but it must be a whole number; the file says 12"},
      {&tree, "node.links.bandwidth_GBps", 2.0,
       none + "has no number \"node.links.bandwidth_GBps" + scale + "links\"?"},
      {&tree, "library.across", 2.0,
       none + "has no number \"library.across" + scale + "library.across.bus_bandwidth_GBps\"?"},
      {&tree, "links", 2.0, accepted}};
  for (const auto& [machine, key, factor, said] : factors) {
    EXPECT_EQ(machine->said({{key, factor}}), said);
  }
}

// Of the list or of the row, whichever the row has.
TEST(Edges, OfSourcesAndMarks) {
  const auto rows = [](const std::string& of_list, const std::string& of_row) {
    WrittenMachine machine;
    machine.others = "[library.across_at_once]\n" + of_list +
                     "entries = [{ devices = 4, bus_bandwidth_GBps = 4" + of_row + " }]\n";
    return machine;
  };
  const auto fact = [](const WrittenMachine& machine) {
    for (const Fact& fact : machine.read().facts) {
      if (fact.key == "library.across_at_once.4.bus_bandwidth_GBps") return fact;
    }
    return Fact{};
  };
  const std::string named = "source = \"the list\"\n";
  EXPECT_EQ(fact(rows(named, "")).source, "the list");
  EXPECT_EQ(fact(rows(named, ", source = \"the row\"")).source, "the row");
  EXPECT_EQ(fact(rows("", ", source = \"the row\"")).source, "the row");
  EXPECT_THAT(rows("", "").said(), HasSubstr("bus_bandwidth_GBps has no source"));
  EXPECT_THAT(rows(named, ", source = \"\"").said(), HasSubstr("bus_bandwidth_GBps has no source"));
  for (const char* list_mark : {"", "true", "false"}) {
    for (const char* row_mark : {"", "true", "false"}) {
      const auto mark = [](const std::string& word) {
        return word.empty() ? word : "unconfirmed = " + word;
      };
      const WrittenMachine machine =
          rows(named + mark(list_mark) + "\n", *row_mark == 0 ? "" : ", " + mark(row_mark));
      const std::string expected = *row_mark == 0 ? list_mark : row_mark;
      EXPECT_EQ(fact(machine).unconfirmed, expected == "true") << list_mark << ' ' << row_mark;
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
