// The keys of machine, processor, node, network and collective library. It is long because it is a
// table; the formulas of the library stand in sim/cost/protocol_forms.hpp.
#include "platforms/file/key.hpp"

#include <algorithm>

namespace fourfold::inline platforms::inline file {
namespace {

KeyTable root_keys() {
  return {"",
          "",
          "",
          {{"title", KeyForm::text, "\"My machine: 8 H100-80GB on NVSwitch per node\"",
            "One line that names the machine wherever it is shown."},
           {"nodes", KeyForm::number, "128", "Nodes that a job can have at most.",
            "The machine's documentation.", "How many devices can be asked for."},
           {"software", KeyForm::text, "\"megatron-core\"",
            "What its models are trained with unless --software or a system says otherwise: a name "
            "(fourfold software) or a .toml file beside this one; without it `fused`.",
            "", "", Presence::optional}}};
}

KeyTable processor_keys() {
  return {
      "processor",
      "",
      "One device, as the job sees it: a GPU, one GCD of an MI250X, one tile of a Max 1550.",
      {{"name", KeyForm::text, "\"H100-80GB\"", "Name of the device."},
       {"advertised_peak_Tflops", KeyForm::number, "989", "Dense bf16 peak.",
        "Data sheet; not the sparse figure.", "\"of advert. peak, %\" only."},
       {"empirical_peak_Tflops", KeyForm::number, "794.5",
        "The fastest matrix product anybody measured on it.",
        "Highest rate of a GEMM benchmark (cuBLASLt, CoralGemm, mamf-finder).",
        "\"of empir. peak, %\" only."},
       {"fp32_Tflops", KeyForm::number, "67",
        "Rate of the largest products in fp32; without it they are as fast as those in 16 bits. "
        "Flops outside products go at it, and are refused without it.",
        "The GEMM benchmark in fp32, or the data sheet without tensor cores.",
        "Compute of fp32 steps.", Presence::optional},
       {"layout_penalty_nt", KeyForm::number, "1.0",
        "Time of a product with its second factor transposed, over that without.",
        "The GEMM benchmark, NT against NN; 1 if kernels are tuned.",
        "Compute: input gradients and the logits."},
       {"layout_penalty_tn", KeyForm::number, "1.0",
        "Time of a product with its first factor transposed, over that without.",
        "The GEMM benchmark, TN against NN; 1 if kernels are tuned.", "Compute: weight gradients."},
       {"attention_forward_Tflops", KeyForm::number, "298",
        "Rate of fused causal attention, forward, by the flops it does (half of the square).",
        "FlashAttention's own benchmark: causal, head dimension 128, your sequence length.",
        "Compute, more with longer sequences."},
       {"attention_backward_Tflops", KeyForm::number, "240", "The same, backward.",
        "The same benchmark.", "Compute, more with longer sequences."},
       {"attention_flash_1", KeyForm::number, "0.5",
        "Rate of FlashAttention-1 over FlashAttention-2's, whose rates those two are.",
        "The benchmark, on both.", "Compute of software with FlashAttention-1.",
        Presence::optional},
       {"attention_flash_3", KeyForm::number, "1.5", "The same of FlashAttention-3.",
        "The benchmark, on both.", "Compute of software with FlashAttention-3.",
        Presence::optional},
       {"compute_units", KeyForm::number, "132",
        "Streaming multiprocessors or compute units that work on the products of heads; with "
        "tile_edge and product_start.",
        "Data sheet.", "Compute of unfused attention.", Presence::optional},
       {"tile_edge", KeyForm::number, "128",
        "Rows and columns of a product that a unit does at a time.",
        "The names of the library's kernels in a profile.",
        "Compute of unfused attention, heads that fit no tile.", Presence::optional},
       {"product_start", KeyForm::number, "252",
        "Length of a sum that takes as long as starting and ending a tile: k / (k + this) of the "
        "largest rate is left.",
        "Batched products with short and with long sums (k) at the same size.",
        "Compute of unfused attention.", Presence::optional},
       {"mxfp8_over_fp8", KeyForm::number, "1",
        "Rate of products with a scale for each 32 elements over processor.gemm_fp8, where the "
        "device has them.",
        "cuBLASLt's block-scaled products beside those with one scale.",
        "Compute with --products mxfp8, which needs it.", Presence::optional},
       {"memory_GB", KeyForm::number, "80", "Memory of a device, in 1e9 bytes.", "Data sheet.",
        "Which grids fit."},
       {"usable_memory", KeyForm::number, "0.85",
        "Share of it that training may fill; the rest is for fragmentation and libraries.",
        "Largest allocation with which a training run still works, over memory_GB.",
        "Which grids fit."},
       {"memory_bandwidth_GBps", KeyForm::number, "3080",
        "What a streaming kernel sustains while all devices of a node do the same.",
        "BabelStream triad on all devices; some 85-92 % of the data sheet.",
        "Compute: norms, residuals, activations, the optimizer."},
       {"host_link_GBps", KeyForm::number, "55",
        "What a copy between the device and its host's memory sustains, one way, while all devices "
        "of the node copy.",
        "nvbandwidth or BabelStream's transfers, all devices at once, pinned memory.",
        "What is kept on the host: an optimizer (--offload-bucket), inputs of blocks "
        "(--offload-activations).",
        Presence::optional},
       {"launch_overhead_us", KeyForm::number, "2",
        "Gap between a kernel and the next that depends on it.",
        "A profile of a training step (Nsight Systems, rocprof).",
        "Compute of small models and many micro-batches."},
       {"interference", KeyForm::number, "0.16",
        "Share of their speed that kernels lose while a collective runs beside them; at least 0, "
        "below 1.",
        "Products alone and beside a long collective: 1 - seconds alone / seconds beside it.",
        "Compute, where much communication is hidden."},
       {"spread", KeyForm::number, "0.012",
        "Standard deviation of the seconds that devices take for the same product, over their "
        "median; a step waits for the slowest of its devices. Without: all are alike.",
        "The same large product on each device of some nodes for a minute.",
        "Compute of many devices: with 0.02, 6 % on 512.", Presence::optional},
       {"repetition_spread", KeyForm::number, "0.0095",
        "Standard deviation of the seconds that one device takes for the same product again and "
        "again, over their median; collectives wait for the last of their members each time. "
        "Without: it always takes as long.",
        "The same large product a hundred times on one device, each timed by itself.",
        "Waiting in collectives that nothing hides: with 0.01, about 1 % of compute.",
        Presence::optional}}};
}

KeyTable gemm_keys() {
  return {"processor.gemm",
          "",
          "Sustained matrix products: bf16 in, fp32 sums, all devices of a node busy for a minute. "
          "Rows ascend in size; between them the rate follows the logarithm of the size, smaller "
          "products run at the first rate, larger ones at the last.",
          {{"size", KeyForm::column, "", "Cube root of m x n x k of the product.",
            "1,000 to 16,000 cover the products of large models."},
           {"rate_Tflops", KeyForm::column, "", "Rate of that product.",
            "A GEMM benchmark on all devices at once; short runs of one device say too much.",
            "Compute, above everything else."}},
          {"{ size = 800, rate_Tflops = 90 }", "{ size = 1600, rate_Tflops = 360 }",
           "{ size = 3200, rate_Tflops = 580 }", "{ size = 12800, rate_Tflops = 610 }"}};
}

KeyTable narrow_gemm_keys() {
  return {"processor.gemm_fp8",
          "",
          "The same with factors of 8 bits, for --products; sums and results are as before.",
          {{"size", KeyForm::column, "", "Cube root of m x n x k of the product."},
           {"rate_Tflops", KeyForm::column, "", "Rate of that product, without casts.",
            "cublasLt or hipBLASLt in fp8, random values, minutes of it.",
            "Compute with --products fp8-delayed, fp8-current and mxfp8."}},
          {"{ size = 2048, rate_Tflops = 1011 }", "{ size = 8192, rate_Tflops = 1290 }"},
          Presence::optional};
}

KeyTable product_keys() {
  return {
      "processor.products",
      "",
      "Products by form and shape, where processor.gemm is not enough: for some m, k and n all "
      "combinations. Between them the logarithm of the rate follows those of m, k and n; beyond "
      "them the rate is that of the nearest. They go before processor.gemm and the penalties.",
      {{"form", KeyForm::column, "", "NN, or NT or TN where a factor is transposed."},
       {"m", KeyForm::column, "", "Rows of the result.", "Some 32 to 4,000."},
       {"k", KeyForm::column, "", "Length of the sums.", "The same."},
       {"n", KeyForm::column, "", "Columns of the result.", "The same."},
       {"rate_Tflops", KeyForm::column, "", "Rate of that product.",
        "`fourfold calibrate`, or a GEMM benchmark on all devices at once.",
        "Compute, above everything else."}},
      {"{ form = \"NN\", m = 1024, k = 1024, n = 1024, rate_Tflops = 200 }",
       "{ form = \"NN\", m = 1024, k = 1024, n = 4096, rate_Tflops = 350 }"},
      Presence::optional};
}

KeyTable attention_keys() {
  return {"processor.attention",
          "",
          "Fused attention by length of sequence, ascending; between rows the rate follows the "
          "logarithm of the length. They go before the two rates of processor.",
          {{"sequence", KeyForm::column, "", "Tokens of a sequence.", "64 to 2,048."},
           {"forward_Tflops", KeyForm::column, "", "As attention_forward_Tflops.",
            "`fourfold calibrate`, or FlashAttention's own benchmark.",
            "Compute, more with longer sequences."},
           {"backward_Tflops", KeyForm::column, "", "As attention_backward_Tflops.", "The same.",
            "Compute, more with longer sequences."}},
          {"{ sequence = 512, forward_Tflops = 150, backward_Tflops = 120 }",
           "{ sequence = 4096, forward_Tflops = 298, backward_Tflops = 240 }"},
          Presence::optional};
}

KeyTable crowding_keys() {
  return {"node.crowding",
          "",
          "Where devices slow each other down: ranks that share cores, caches or a memory. Rows "
          "ascend; a number of devices between two takes that of the next.",
          {{"devices", KeyForm::column, "", "Devices of a node that compute.", "1 to all."},
           {"slowdown", KeyForm::column, "",
            "Time of kernels then, over what the rates of processor give.",
            "`fourfold calibrate`: the same kernels on so many ranks at once.", "Compute."}},
          {"{ devices = 4, slowdown = 1.0 }", "{ devices = 8, slowdown = 1.0 }"},
          Presence::optional};
}

KeyTable node_keys() {
  return {"node",
          "",
          "What is inside a node. Devices are joined by a switch, by links, or by both.",
          {{"devices", KeyForm::number, "8",
            "Devices of a node, or of a domain that a switch joins (NVL72), 128 at most.",
            "The machine's documentation.", "How grids lie in nodes: exposed communication."},
           {"switch_port_GBps", KeyForm::number, "450",
            "What each device can send into a switch that joins all, per direction (NVSwitch).",
            "Data sheet: NVLinks of a device x GB/s of one, one direction.",
            "Exposed communication of every axis: rings over nodes pass through nodes, too.",
            Presence::usual}}};
}

KeyTable link_keys() {
  return {"node.links",
          "",
          "Direct connections of two devices, each once. Needed where no switch joins them.",
          {{"a", KeyForm::column, "", "One end, a device from 0 on.",
            "`nvidia-smi topo -m`, `rocm-smi --showtopo`."},
           {"b", KeyForm::column, "", "The other end.", "The same."},
           {"kind", KeyForm::column, "", "A word for pictures and explanations."},
           {"bandwidth_GBps", KeyForm::column, "", "What a copy kernel sustains, per direction.",
            "nvbandwidth, rocm_bandwidth_test or comm_scope, device to device, one way.",
            "Exposed communication of every axis: rings over nodes pass through nodes, too."}},
          {"{ a = 0, b = 1, kind = \"nvlink\", bandwidth_GBps = 100 }",
           "{ a = 0, b = 2, kind = \"nvlink\", bandwidth_GBps = 100 }"},
          Presence::optional};
}

KeyTable nic_keys() {
  return {
      "node.nics",
      "",
      "The network adapters of a node, 128 at most. Every device sends through exactly one.",
      {{"devices", KeyForm::column, "", "The devices that send through it.",
        "`nvidia-smi topo -m`: the nearest adapter.", "How many rings leave a node side by side."},
       {"bandwidth_GBps", KeyForm::column, "", "What it sustains, per direction.",
        "osu_bw with 4 MB messages from device memory; some 95 % of Gb/s / 8.",
        "Exposed communication across nodes: no ring is faster."}},
      {"{ devices = [0], bandwidth_GBps = 48 }", "{ devices = [1], bandwidth_GBps = 48 }",
       "{ devices = [2], bandwidth_GBps = 48 }", "{ devices = [3], bandwidth_GBps = 48 }",
       "{ devices = [4], bandwidth_GBps = 48 }", "{ devices = [5], bandwidth_GBps = 48 }",
       "{ devices = [6], bandwidth_GBps = 48 }", "{ devices = [7], bandwidth_GBps = 48 }"}};
}

KeyTable operation_keys() {
  return {"operation",
          "",
          "What a node costs and how often it breaks, for `fourfold advise`. Times of steps do not "
          "depend on it.",
          {{"node_power_W", KeyForm::number, "9000",
            "Power of a node under load, with its share of switches if that is known.",
            "HPL's power in the TOP500 over its nodes, or the site's meters.",
            "Energy in `advise`; nothing else.", Presence::optional},
           {"node_failures_per_day", KeyForm::number, "0.0038",
            "How often a node ends a job: failures of a job per day over its nodes.",
            "Interruptions of long jobs over node-days, without planned ones.",
            "Days with failures in `advise`; nothing else.", Presence::optional},
           {"file_system_write_GBps", KeyForm::number, "1000",
            "What all nodes together write to the file system of checkpoints.",
            "IOR with a file a process, or the site's documentation.",
            "Days with failures in `advise`; nothing else.", Presence::optional},
           {"step_p90", KeyForm::number, "1.011",
            "What nine of ten steps of a job take at most, over the median one; at least 1.",
            "The times of all steps of some long trainings, without the first few.",
            "The p90 of a step in records, tables and `advise`; nothing else.", Presence::optional},
           {"step_p99", KeyForm::number, "1.06", "The same of 99 steps of 100.", "As step_p90.",
            "The p99 of a step; nothing else.", Presence::optional}},
          {},
          Presence::optional};
}

}  // namespace

std::vector<KeyTable> machine_keys() {
  return {root_keys(),     processor_keys(), gemm_keys(),     narrow_gemm_keys(),
          product_keys(),  attention_keys(), node_keys(),     link_keys(),
          crowding_keys(), nic_keys(),       operation_keys()};
}

const std::vector<KeyTable>& platform_keys() {
  static const std::vector<KeyTable> all = [] {
    std::vector<KeyTable> tables = machine_keys();
    for (const auto& part : {network_keys(), library_keys()}) {
      tables.insert(tables.end(), part.begin(), part.end());
    }
    return tables;
  }();
  return all;
}

std::vector<std::string> network_kinds() {
  std::vector<std::string> kinds;
  for (const KeyTable& table : platform_keys()) {
    if (table.path == "network") kinds.push_back(table.network);
  }
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

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
  return {
      "network",
      "crossbar",
      "An ideal switch: nothing contends but the ports of the devices. For comparisons.",
      {kind_key("crossbar"),
       {"private_port_per_lane", KeyForm::flag, "false",
        "true: each channel of a device has a port of its own.", "", "Exposed communication."}}};
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

namespace {

KeyTable base_keys() {
  return {"library",
          "",
          "NCCL, RCCL or another collective library. Its latencies are fitted to nccl-tests over "
          "2, 4 and 8 nodes; where nobody could run them, NCCL's below are the ones to take over.",
          {{"name", KeyForm::text, "\"NCCL\"", "Name of the library."},
           {"base_across_us", KeyForm::number, "23.7",
            "What any collective over several nodes takes before its first hop.",
            "8-byte all-gathers over 2, 4, 8 nodes, a device each: the part that does not grow.",
            "Exposed communication of small messages."},
           {"base_in_node_us", KeyForm::number, "8.3", "The same inside one node.",
            "8-byte all-gathers of 2, 4, 8 devices of a node: the part that does not grow.",
            "Exposed communication of small messages."},
           {"overlap_exponent", KeyForm::number, "1.4",
            "How latency and bandwidth of a Simple ring add: (latency^q + bandwidth^q)^(1/q). 1 is "
            "their sum, a large q the longer of the two; at least 1.",
            "Fit to all-gathers of 1 to 256 MB, where both terms count.",
            "Exposed communication of middling messages."},
           {"interference", KeyForm::number, "0.74",
            "Share of its speed that a collective loses to kernels beside it; at least 0, below 1.",
            "Collective and products alone, then at once: what of the lesser time the two save, "
            "with processor.interference.",
            "Exposed communication and compute, where much communication is hidden."}}};
}

// The same constants for both wire protocols.
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
        "All-reduces that no ring suits."},
       {"ring_base_factor", KeyForm::number, typical[6],
        "What a ring takes before its first hop, in bases of the library; 1 if left out.",
        set + ", all-gathers of one size over 2, 4, 8 nodes: what the hops leave.",
        "Exposed communication of middling messages.", Presence::optional},
       {"bandwidth_exponent_across", KeyForm::number, typical[7],
        "How its bandwidth follows library.across below a whole node's row: 1, if left out, in "
        "proportion, 0 not at all.",
        set + ", busbw at 1 GiB with 1, 2, 4 devices a node.", fraction_moves,
        Presence::optional}}};
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
      "Plateaus of rings over nodes that have the nodes to themselves, by members of the group in "
      "each node, ascending; the last row is a whole node, and unless across_at_once says "
      "otherwise "
      "all rings of a node together get no more than it. Rates between rows are interpolated. The "
      "NICs bound them: a rate above those "
      "of its members is refused.",
      {{"devices", KeyForm::column, "", "Members of the group in each node.",
        "1, and all devices of a node, at least."},
       bus_bandwidth_key("nccl-tests, all_gather_perf at 1 GiB over 4 or more nodes (two flatter).",
                         "Exposed communication: a whole node's row that of the axis which leaves "
                         "the node (often "
                         "z), one device's that of the axes outside it (data).")},
      {"{ devices = 1, bus_bandwidth_GBps = 48 }", "{ devices = 8, bus_bandwidth_GBps = 380 }"}};
}

KeyTable at_once_keys() {
  return {
      "library.across_at_once",
      "",
      "The same of each ring while all devices of its nodes are in rings like it, as they are in a "
      "job: where those together get less than one ring of the whole node.",
      {{"devices", KeyForm::column, "", "Members of the group in each node.",
        "1, and all devices of a node, at least."},
       bus_bandwidth_key("nccl-tests with NCCL_TESTS_SPLIT_MASK: one group for each device of a "
                         "node.",
                         "Exposed communication of axes outside the node (data, often z).")},
      {"{ devices = 1, bus_bandwidth_GBps = 48 }", "{ devices = 8, bus_bandwidth_GBps = 380 }"},
      Presence::optional};
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

KeyTable measured_keys() {
  return {
      "library.measured",
      "",
      "Collectives as they were measured, before all constants: rows of one kind and group "
      "stand together and ascend in bytes. Between them the logarithm of the time follows that "
      "of the bytes; beyond the last it is in proportion. Over nodes groups with so many "
      "members a node, and two lengths at least, stand for others: up to pieces of 512 KiB a "
      "member by logarithms, above in proportion.",
      {{"kind", KeyForm::column, "",
        "all-gather, reduce-scatter, all-reduce, send, all-to-all, all-to-all-v, broadcast or "
        "neighbour-exchange."},
       {"members", KeyForm::column, "", "Members of a group."},
       {"devices", KeyForm::column, "",
        "Devices of the node that do the same at once, in as many groups as they make; of a group "
        "over nodes its members in each."},
       {"bytes", KeyForm::column, "", "Buffer, as nccl-tests count it.", "1 KiB to 64 MiB."},
       {"time_us", KeyForm::column, "", "Of the slowest member.", "`fourfold calibrate`.",
        "Exposed communication of such groups."}},
      {"{ kind = \"all-reduce\", members = 8, devices = 8, bytes = 1048576, time_us = 40 }",
       "{ kind = \"all-reduce\", members = 8, devices = 8, bytes = 16777216, time_us = 110 }"},
      Presence::optional};
}

KeyTable cliff_keys() {
  return {
      "library.cliff",
      "",
      "Gathers and reduce-scatters over nodes that take longer where a member's piece is neither "
      "small nor large, beside what was measured without that.",
      {{"from_KiB", KeyForm::number, "60", "The least piece of which that holds.",
        "Gathers over several nodes by size: where their time jumps."},
       {"to_KiB", KeyForm::number, "270", "The largest.", "The same."},
       {"per_member_us", KeyForm::number, "370", "What each member adds.", "The same.",
        "Exposed communication of such groups."}},
      {},
      Presence::optional};
}

}  // namespace

std::vector<KeyTable> library_keys() {
  return {base_keys(),
          protocol_keys("low_latency",
                        "The library's protocol for small messages (NCCL's LL: 4 bytes of data, 4 "
                        "of flag). The faster of the two protocols is taken, message by message.",
                        {"5.1", "0.84", "0.133", "0.346", "1.35", "0.0415", "1", "0.58"}),
          protocol_keys("simple", "The library's protocol for large messages (NCCL's Simple).",
                        {"23.2", "10.7", "1.0", "1.0", "1.79", "0.71", "2.44", "1"}),
          across_keys(),
          at_once_keys(),
          in_node_keys(),
          strided_keys(),
          measured_keys(),
          cliff_keys()};
}

}  // namespace fourfold::inline platforms::inline file
