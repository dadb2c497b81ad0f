// The keys of the collective library. Its formulas stand in sim/protocol_forms.hpp.
#include "platforms/key.hpp"

namespace fourfold {
namespace {

KeyTable base_keys() {
  return {"library",
          "",
          "NCCL, RCCL or another collective library. Its latencies are fitted to nccl-tests over "
          "2, 4 and 8 nodes; where nobody could run them, NCCL's below are the ones to take over.",
          {{"name", KeyForm::text, "\"NCCL\"", "Name of the library."},
           {"base_across_us", KeyForm::number, "24.1",
            "What any collective over several nodes takes before its first hop.",
            "8-byte all-gathers over 2, 4, 8 nodes, a device each: the part that does not grow.",
            "Exposed communication of small messages."},
           {"base_in_node_us", KeyForm::number, "7.7", "The same inside one node.",
            "8-byte all-gathers of 2, 4, 8 devices of a node: the part that does not grow.",
            "Exposed communication of small messages."},
           {"overlap_exponent", KeyForm::number, "1.24",
            "How latency and bandwidth of a Simple ring add: (latency^q + bandwidth^q)^(1/q). 1 is "
            "their sum, a large q the longer of the two; at least 1.",
            "Fit to all-gathers of 1 to 256 MB, where both terms count.",
            "Exposed communication of middling messages."}}};
}

// The same six constants for both wire protocols.
KeyTable protocol_keys(const std::string& protocol, const std::string& meaning,
                       const std::vector<std::string>& typical) {
  const bool simple = protocol == "simple";
  const std::string set = simple ? "NCCL_PROTO=Simple" : "NCCL_PROTO=LL";
  const std::string fraction = simple ? "1 by definition: the plateaus are those of Simple."
                                      : set + ", busbw at 1 GiB over that of Simple.";
  const std::string fraction_moves = simple ? "All exposed communication, were it not 1."
                                            : "Exposed communication of small messages.";
  return {
      "library." + protocol,
      "",
      meaning,
      {{"hop_across_us", KeyForm::number, typical[0], "What each further node adds to a ring.",
        set + ", small all-gathers over 2, 4, 8 nodes, a device each: the slope.",
        "Exposed communication along z and data: groups of many nodes."},
       {"hop_in_node_us", KeyForm::number, typical[1], "What each further device of a node adds.",
        set + ", small all-gathers of 2, 4, 8 devices of a node: the slope.",
        "Exposed communication of groups with many devices per node."},
       {"bandwidth_fraction_across", KeyForm::number, typical[2],
        "Bus bandwidth of its rings over nodes as a share of library.across.", fraction,
        fraction_moves},
       {"bandwidth_fraction_in_node", KeyForm::number, typical[3],
        "The same inside a node, of library.in_node.", fraction, fraction_moves},
       {"tree_hop_factor", KeyForm::number, typical[4],
        "A hop of a tree between nodes, in hops of a ring.",
        set + ", NCCL_ALGO=Tree, small all-reduces: 2 log2(nodes) such hops.",
        "Small all-reduces (norms, clipping)."},
       {"tree_bandwidth_fraction", KeyForm::number, typical[5],
        "Bandwidth of a tree as a share of library.across.",
        set + ", NCCL_ALGO=Tree, all-reduce: 2 x bytes / seconds / library.across.",
        "All-reduces that no ring suits."}}};
}

Key bus_bandwidth_key(const std::string& from, const std::string& moves) {
  return {"bus_bandwidth_GBps",
          KeyForm::column,
          "",
          "Bus bandwidth (busbw of nccl-tests) of large messages.",
          from,
          moves};
}

KeyTable across_keys() {
  return {
      "library.across",
      "",
      "Plateaus of rings over nodes, by members of the group in each node, ascending; the last "
      "row is a whole node. Rates between rows are interpolated. The NICs bound them: a rate "
      "above those of its members is refused.",
      {{"devices", KeyForm::column, "", "Members of the group in each node.",
        "1, and all devices of a node, at least."},
       bus_bandwidth_key("nccl-tests, all_gather_perf at 1 GiB over 4 or more nodes (two flatter).",
                         "Exposed communication: a whole node's row that of the axis which leaves "
                         "the node (often "
                         "z), one device's that of the axes outside it (data).")},
      {"{ devices = 1, bus_bandwidth_GBps = 48 }", "{ devices = 8, bus_bandwidth_GBps = 380 }"}};
}

KeyTable in_node_keys() {
  return {
      "library.in_node",
      "",
      "Plateaus of rings of neighbours inside a node, by members, ascending; the last row is a "
      "whole node. Needed if a node has several devices.",
      {{"devices", KeyForm::column, "", "Members of the group.",
        "2, 4, ... and all devices of a node."},
       bus_bandwidth_key("nccl-tests, all_gather_perf at 1 GiB in one node.",
                         "Exposed communication along x and y.")},
      {"{ devices = 4, bus_bandwidth_GBps = 363 }", "{ devices = 8, bus_bandwidth_GBps = 370 }"},
      Presence::usual};
}

KeyTable strided_keys() {
  return {
      "library.in_node_by_stride",
      "",
      "Plateaus inside a node for members that are no neighbours. They go before in_node; only "
      "for nodes whose pairs of devices differ, such as those of MI250X.",
      {{"stride", KeyForm::column, "", "Distance of two members, in devices.", "2, 4, ..."},
       {"devices", KeyForm::column, "", "Members of the group.", "2, 4, ..."},
       bus_bandwidth_key("nccl-tests on those devices (HIP_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES).",
                         "Exposed communication along y and z inside a node.")},
      {"{ stride = 2, devices = 4, bus_bandwidth_GBps = 363 }",
       "{ stride = 4, devices = 2, bus_bandwidth_GBps = 363 }"},
      Presence::optional};
}

}  // namespace

std::vector<KeyTable> library_keys() {
  return {base_keys(),
          protocol_keys("low_latency",
                        "The library's protocol for small messages (NCCL's LL: 4 bytes of data, 4 "
                        "of flag). The faster of the two protocols is taken, message by message.",
                        {"4.2", "1.26", "0.17", "0.37", "2.0", "0.0567"}),
          protocol_keys("simple", "The library's protocol for large messages (NCCL's Simple).",
                        {"26.8", "12.9", "1.0", "1.0", "1.5", "0.8"}),
          across_keys(),
          in_node_keys(),
          strided_keys()};
}

}  // namespace fourfold
