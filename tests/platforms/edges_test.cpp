// The edges of what a machine file may say: beside each thing that is refused, with its sentence,
// the nearest that is taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/platforms/written_machine.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

TEST(Edges, AWrittenMachineIsTaken) {
  EXPECT_EQ(WrittenMachine().said(), accepted);
}

TEST(Edges, OfTheNumberOfNodes) {
  EXPECT_EQ(with(&WrittenMachine::nodes, "12"), accepted);
  EXPECT_EQ(with(&WrittenMachine::nodes, "13"), "13 nodes do not fit in a fat tree for 12");
  WrittenMachine crossbar;
  crossbar.network = "kind = \"crossbar\"\nprivate_port_per_lane = false\n";
  crossbar.nodes = "1000000";
  EXPECT_EQ(crossbar.said(), accepted);
  crossbar.nodes = "1000001";
  EXPECT_EQ(crossbar.said(), "nodes is 1000001, but it must be a whole number from 1 to 1000000");
  crossbar.nodes = "1.5";
  EXPECT_EQ(crossbar.said(), "nodes is 1.5, but it must be a whole number from 1 to 1000000");
}

TEST(Edges, OfRatesUnderThePeak) {
  const std::string below = "{ size = 500, rate_Tflops = ";
  EXPECT_EQ(with(&WrittenMachine::gemm, below + "200 }"), accepted);
  EXPECT_EQ(with(&WrittenMachine::gemm, below + "200.1 }"),
            "processor.gemm.500.rate_Tflops is 200.1, above the advertised peak of 200");
  EXPECT_EQ(with(&WrittenMachine::gemm, ""), "processor.gemm has no entries");
  EXPECT_EQ(with(&WrittenMachine::gemm, below + "20 }, " + below + "30 }"),
            "processor.gemm must ascend in size, but 500 follows 500");
  EXPECT_EQ(with(&WrittenMachine::gemm, "{ size = 0, rate_Tflops = 20 }"),
            "processor.gemm must ascend in size, but 0 follows 0");
  // As written: what a factor makes of a rate may lie above.
  EXPECT_EQ(WrittenMachine().said({{"processor.gemm.rate_Tflops", 4.0}}), accepted);
  EXPECT_EQ(WrittenMachine().said({{"processor.advertised_peak_Tflops", 0.1}}), accepted);
}

std::string row(int a, int b, const std::string& rate = "50") {
  return "{ a = " + std::to_string(a) + ", b = " + std::to_string(b) +
         ", kind = \"link\", bandwidth_GBps = " + rate + " }";
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
  EXPECT_EQ(joined_by(row(0, 1) + "," + row(2, 3) + "," + row(1, 2)), accepted);
  EXPECT_EQ(joined_by(row(3, 2) + "," + row(1, 0) + "," + row(3, 0)), accepted);
  EXPECT_EQ(joined_by(row(0, 3) + "," + row(1, 3) + "," + row(2, 3)), accepted);
  EXPECT_EQ(joined_by(row(0, 1) + "," + row(2, 3)),
            "device 2 of a node has no path to device 0 by node.links, and no switch joins them");
  EXPECT_EQ(joined_by(row(1, 2) + "," + row(2, 3) + "," + row(1, 3)),
            "device 1 of a node has no path to device 0 by node.links, and no switch joins them");
  EXPECT_EQ(joined_by(row(0, 1) + "," + row(1, 2) + "," + row(2, 0)),
            "device 3 of a node has no path to device 0 by node.links, and no switch joins them");
  EXPECT_EQ(joined_by(row(0, 4)), "the link 0-4 ends at device 4, but a node has devices 0 to 3");
  EXPECT_EQ(joined_by(row(4, 0)), "the link 4-0 ends at device 4, but a node has devices 0 to 3");
  EXPECT_EQ(joined_by(row(2, 2)), "the link 2-2 joins a device with itself");
  EXPECT_EQ(joined_by(row(1, 2) + "," + row(1, 2)),
            "the link 1-2 is given twice; add up the widths in one entry");
  EXPECT_EQ(joined_by(row(1, 2) + "," + row(2, 1)),
            "the link 2-1 is given twice; add up the widths in one entry");
  EXPECT_EQ(with(&WrittenMachine::links, row(0, 1)), accepted);  // a switch joins the others
  EXPECT_EQ(joined_by(row(-1, 2)), "node.links.a is -1, but it must be from 0 to 1000000000000");
  EXPECT_EQ(joined_by(row(2, 1000001)), "node.links.b is 1000001, no device");
  EXPECT_EQ(joined_by(row(2, 1000000)),
            "the link 2-1000000 ends at device 1000000, but a node has devices 0 to 3");
}

TEST(Edges, OfTheNicsOfANode) {
  const auto nics = [](const std::string& first, const std::string& second) {
    return with(&WrittenMachine::nics, "{ devices = " + first + ", bandwidth_GBps = 30 }, " +
                                           "{ devices = " + second + ", bandwidth_GBps = 20 }");
  };
  EXPECT_EQ(nics("[3, 1]", "[0, 2]"), accepted);
  EXPECT_EQ(nics("[3, 1]", "[0]"),
            "device 2 of a node sends through 0 NICs, but it must be exactly 1");
  EXPECT_EQ(nics("[3, 1, 2]", "[0, 2]"),
            "device 2 of a node sends through 2 NICs, but it must be exactly 1");
  EXPECT_EQ(nics("[3, 1, 1]", "[0, 2]"),
            "device 1 of a node sends through 2 NICs, but it must be exactly 1");
  EXPECT_EQ(nics("[0, 1, 2, 3]", "[]"), "NIC 1 of a node serves no device");
  EXPECT_EQ(nics("[3, 1]", "[0, 4]"), "NIC 1 serves device 4, but a node has devices 0 to 3");
  EXPECT_EQ(nics("[3, 1]", "[0, -2]"), "node.nics.devices names -2, which is no device");
  EXPECT_EQ(nics("[3, 1]", "[0, 2147483648]"),
            "node.nics.devices names 2147483648, which is no device");
  EXPECT_EQ(nics("[3, 1]", "[0, 2.0]"),
            "node.nics.devices must be a list of whole numbers, as in [0, 1]");
  EXPECT_EQ(nics("[3, 1]", "2"), "node.nics.devices must be a list of whole numbers, as in [0, 1]");
}

TEST(Edges, OfTheDevicesOfANode) {
  const auto of = [](const std::string& devices) {
    WrittenMachine machine;
    machine.devices = devices;
    machine.nics = "{ devices = [0], bandwidth_GBps = 20 }, { devices = [0], bandwidth_GBps = 2 }";
    return machine.said();
  };
  EXPECT_EQ(of("129"), "node.devices is 129, but at most 128 fit");
  EXPECT_THAT(of("128"), HasSubstr("device 0 of a node sends through 2 NICs"));
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
  EXPECT_THAT(rows("30", "50.1"),
              HasSubstr("gives 50.1 GB/s to 4 devices per node, but by node.nics no ring leaves a "
                        "node faster than 50;"));
  EXPECT_EQ(WrittenMachine().said({{"library.across.bus_bandwidth_GBps", 9.0}}), accepted);
  EXPECT_EQ(WrittenMachine().said({{"node.nics.bandwidth_GBps", 0.1}}), accepted);
}

// Links of 50, 30 and 20 GB/s at device 0, and where there is a switch 10 into it.
TEST(Edges, OfPlateausUnderTheLinks) {
  const auto rows = [](const std::string& port, const std::string& two, const std::string& three,
                       const std::string& four) {
    WrittenMachine machine;
    machine.node = port.empty() ? "" : "switch_port_GBps = " + number(port) + "\n";
    machine.links = row(1, 0, "20") + "," + row(0, 2, "50") + "," + row(3, 0, "30");
    machine.in_node = "{ devices = 2, bus_bandwidth_GBps = " + two +
                      " }, { devices = 3, bus_bandwidth_GBps = " + three +
                      " }, { devices = 4, bus_bandwidth_GBps = " + four + " }";
    return machine.said();
  };
  EXPECT_EQ(rows("", "50", "80", "100"), accepted);
  EXPECT_EQ(rows("10", "60", "90", "110"), accepted);
  EXPECT_EQ(rows("", "50.1", "80", "100"),
            "library.in_node gives 50.1 GB/s to 2 devices, but by node.links and "
            "node.switch_port_GBps no device sends faster than 50 to the others");
  EXPECT_THAT(rows("", "50", "80.1", "100"), HasSubstr("to 3 devices, "));
  EXPECT_THAT(rows("", "50", "80", "100.1"), HasSubstr("no device sends faster than 100 to"));
  EXPECT_THAT(rows("10", "60.1", "90", "110"), HasSubstr("no device sends faster than 60 to"));
  EXPECT_THAT(rows("10", "60", "90.1", "110"), HasSubstr("no device sends faster than 90 to"));
  EXPECT_THAT(rows("10", "60", "90", "110.1"), HasSubstr("no device sends faster than 110 to"));
  WrittenMachine crossbar;  // reads neither
  crossbar.network = "kind = \"crossbar\"\nprivate_port_per_lane = false\n";
  crossbar.in_node = "{ devices = 4, bus_bandwidth_GBps = 110 }";
  EXPECT_EQ(crossbar.said(), accepted);
}

TEST(Edges, OfRowsUpToAWholeNode) {
  const std::string devices = "{ bus_bandwidth_GBps = 9, devices = ";
  const auto rows = [&](std::string WrittenMachine::*part) {
    const std::string name = part == &WrittenMachine::across ? "across" : "in_node";
    EXPECT_EQ(with(part, devices + "4 }"), accepted);
    EXPECT_EQ(with(part, devices + "5 }"),
              "library." + name + " speaks of 5 devices per node, but a node has 4");
    EXPECT_EQ(with(part, devices + "2 }, " + devices + "2 }, " + devices + "4 }"),
              "library." + name + " must ascend in devices, but 2 follows 2");
    EXPECT_EQ(with(part, devices + "0 }, " + devices + "4 }"),
              "library." + name + " must ascend in devices, but 0 follows 0");
    const std::string end =
        " per node, but a node has 4: add the row of a whole node, which most collectives of a "
        "training step use";
    EXPECT_EQ(with(part, devices + "1 }"), "library." + name + " ends at 1 device" + end);
    EXPECT_EQ(with(part, devices + "1 }, " + devices + "3 }"),
              "library." + name + " ends at 3 devices" + end);
  };
  rows(&WrittenMachine::across);
  rows(&WrittenMachine::in_node);
  EXPECT_EQ(with(&WrittenMachine::across, ""), "library.across has no entries");
  EXPECT_EQ(with(&WrittenMachine::in_node, ""),
            "library.in_node has no entries, but a node has several devices");
}

TEST(Edges, OfRowsForRingsAtOnce) {
  const auto rows = [](const std::string& text) {
    return with(&WrittenMachine::others, list("library.across_at_once", text));
  };
  EXPECT_EQ(rows(""), accepted);
  EXPECT_EQ(rows("{ devices = 4, bus_bandwidth_GBps = 4 }"), accepted);
  EXPECT_THAT(rows("{ devices = 2, bus_bandwidth_GBps = 4 }"),
              HasSubstr("library.across_at_once ends at 2 devices per node, but a node has 4"));
  EXPECT_EQ(rows("{ devices = 5, bus_bandwidth_GBps = 4 }"),
            "library.across_at_once speaks of 5 devices per node, but a node has 4");
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
  machine.across =
      "{ devices = 1, bus_bandwidth_GBps = 18 }, { devices = 2, bus_bandwidth_GBps = "
      "18 }";
  machine.nodes = "12";
  EXPECT_EQ(machine.said(), "library.across speaks of 2 devices per node, but a node has 1");
}

TEST(Edges, OfStrides) {
  const auto of = [](int stride, int devices) {
    return with(&WrittenMachine::others,
                list("library.in_node_by_stride", "{ stride = " + std::to_string(stride) +
                                                      ", devices = " + std::to_string(devices) +
                                                      ", bus_bandwidth_GBps = 10 }"));
  };
  for (int stride = 0; stride <= 4; ++stride) {
    for (int devices = 0; devices <= 5; ++devices) {
      const bool fits = stride >= 1 && devices >= 2 && stride * (devices - 1) <= 3;
      EXPECT_EQ(of(stride, devices),
                fits ? accepted
                     : "library.in_node_by_stride: " + std::to_string(devices) + " devices " +
                           std::to_string(stride) + " apart do not fit in a node of 4");
    }
  }
}

TEST(Edges, OfTheOverlap) {
  EXPECT_EQ(with(&WrittenMachine::overlap, "1"), accepted);
  EXPECT_EQ(with(&WrittenMachine::overlap, "0.99"),
            "library.overlap_exponent is 0.99, but it must be at least 1");
}

std::string tree(const std::string& rails, const std::string& tiers) {
  WrittenMachine machine;
  machine.network = "kind = \"fat-tree\"\nlink_bandwidth_GBps = " + number("40") +
                    "\nrails = " + number(rails) + "\n" + list("network.tiers", tiers);
  return machine.said();
}

std::string tier(int number, const std::string& oversubscription = "") {
  return "{ tier = " + std::to_string(number) + ", members = 12" +
         (oversubscription.empty() ? "" : ", oversubscription = " + oversubscription) + " }, ";
}

TEST(Edges, OfAFatTree) {
  EXPECT_EQ(tree("1", tier(1)), accepted);
  EXPECT_EQ(tree("2", tier(1)), "2 rails need a second tier of switches that joins them");
  EXPECT_EQ(tree("2", tier(1, "0.5") + tier(2)), accepted);
  EXPECT_EQ(tree("3", tier(1, "1") + tier(2)), "the 2 NICs of a node do not divide over 3 rails");
  EXPECT_EQ(tree("1", tier(1, "1") + tier(2, "1") + tier(3, "1") + tier(4)), accepted);
  EXPECT_EQ(tree("1", tier(1, "1") + tier(2, "1") + tier(3, "1") + tier(4, "1") + tier(5)),
            "a fat tree has 1 to 4 tiers of switches, but network.tiers has 5 entries");
  EXPECT_EQ(tree("1", ""),
            "a fat tree has 1 to 4 tiers of switches, but network.tiers has 0 entries");
  EXPECT_EQ(tree("1", tier(1) + tier(2)), "\"network.tiers.oversubscription\" is missing");
  EXPECT_EQ(tree("1", tier(1, "1") + tier(2, "1")),
            "network.tiers.oversubscription makes no sense: nothing is above the last tier");
  EXPECT_EQ(tree("1", tier(1, "1") + tier(3)), "network.tiers.tier is 3, but the next one is 2");
  EXPECT_EQ(tree("1", tier(0)), "network.tiers.tier is 0, but the next one is 1");
}

// Cells and groups that hold 12 nodes, and one less.
TEST(Edges, OfADragonfly) {
  const auto of = [](int groups, int switches, int nodes, int local, int global) {
    WrittenMachine machine;
    machine.network = "kind = \"dragonfly\"\ngroups = " + number(std::to_string(groups)) +
                      "\nswitches_per_group = " + number(std::to_string(switches)) +
                      "\nnodes_per_group = " + number(std::to_string(nodes)) +
                      "\nlinks_per_group_pair = " + number("2") +
                      "\nlink_bandwidth_GBps = " + number("25") +
                      "\nlocal_detours = " + number(std::to_string(local)) +
                      "\nglobal_detours = " + number(std::to_string(global)) + "\n";
    return machine.said();
  };
  EXPECT_EQ(of(3, 5, 4, 3, 1), accepted);
  EXPECT_EQ(of(3, 5, 3, 3, 1), "12 nodes do not fit in 3 groups of 3 nodes");
  EXPECT_EQ(of(3, 5, 4, 4, 1),
            "4 local detours need as many switches besides the two ends, but a group has 5");
  EXPECT_EQ(of(3, 5, 4, 3, 2),
            "2 global detours need as many groups besides the two ends, but there are 3");
  EXPECT_EQ(of(1, 1, 12, 0, 0), accepted);
  EXPECT_EQ(of(1, 1, 12, 1, 0),
            "1 local detours need as many switches besides the two ends, but a group has 1");
  EXPECT_EQ(of(1, 1, 12, 0, 1),
            "1 global detours need as many groups besides the two ends, but there are 1");
}

TEST(Edges, OfADragonflyPlus) {
  const auto of = [](int cells, int leaves, int nodes, int detours) {
    WrittenMachine machine;
    machine.network = "kind = \"dragonfly-plus\"\ncells = " + number(std::to_string(cells)) +
                      "\nleaves_per_cell = " + number(std::to_string(leaves)) +
                      "\nnodes_per_cell = " + number(std::to_string(nodes)) +
                      "\nuplinks_per_leaf = " + number("2") +
                      "\nlinks_per_cell_pair = " + number("2") +
                      "\nlink_bandwidth_GBps = " + number("25") +
                      "\nglobal_detours = " + number(std::to_string(detours)) + "\n";
    return machine.said();
  };
  EXPECT_EQ(of(3, 4, 4, 1), accepted);
  EXPECT_EQ(of(2, 4, 6, 0), accepted);
  EXPECT_EQ(of(1, 12, 12, 0), accepted);
  EXPECT_EQ(of(3, 5, 4, 1), "5 leaves of a cell cannot all have one of its 4 nodes");
  EXPECT_EQ(of(3, 3, 3, 1), "12 nodes do not fit in 3 cells of 3 nodes");
  EXPECT_EQ(of(3, 4, 4, 2),
            "2 global detours need as many cells besides the two ends, but there are 3");
  EXPECT_EQ(of(1, 4, 12, 1),
            "1 global detours need as many cells besides the two ends, but there are 1");
}

TEST(Edges, OfFactors) {
  const double endless = std::numeric_limits<double>::infinity();
  const WrittenMachine machine;
  EXPECT_EQ(machine.said({{"network.global_bandwidth", 0.001}}), accepted);
  for (const auto& [factor, word] : {std::pair{0.0, "0"}, {-1.0, "-1"}, {endless, "inf"}}) {
    EXPECT_EQ(machine.said({{"network.global_bandwidth", factor}}),
              "the scale of network.global_bandwidth is " + std::string(word) +
                  ", but it must be greater than 0");
  }
  EXPECT_EQ(machine.said({{"processor.memory_GB", endless}}),
            "processor.memory_GB is inf after scaling, but it must be greater than 0");
  EXPECT_EQ(machine.said({{"processor.usable_memory", 1.25}}), accepted);
  EXPECT_EQ(machine.said({{"processor.usable_memory", 1.5}}),
            "processor.usable_memory is 1.2000000000000002 after scaling, but it must be greater "
            "than 0 and at most 1");
  EXPECT_EQ(machine.said({{"processor.interference", 10.0}}),
            "processor.interference is 1 after scaling, but it must be 0 or more and less than 1");
  EXPECT_EQ(machine.said({{"node.links.bandwidth_GBps", 2.0}}),
            "platform OfFactors-written has no number \"node.links.bandwidth_GBps\" to scale; did "
            "you mean \"links\"?");
  EXPECT_EQ(machine.said({{"library.across", 2.0}}),
            "platform OfFactors-written has no number \"library.across\" to scale; did you mean "
            "\"library.across.bus_bandwidth_GBps\"?");
  EXPECT_EQ(machine.said({{"links", 2.0}}), accepted);
  WrittenMachine one_switch;
  one_switch.network = "kind = \"fat-tree\"\nlink_bandwidth_GBps = " + number("40") +
                       "\nrails = " + number("1") + "\n" +
                       list("network.tiers", "{ tier = 1, members = 12 }");
  EXPECT_EQ(one_switch.said({{"network.global_bandwidth", 2.0}}),
            "platform OfFactors-written is a single switch and has no global links to scale");
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
