// A platform is a machine as data: processor, node graph, NICs, network and collective library,
// each number with the source it was taken from. Values only; `read_platform` fills them from TOML.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platforms/network/network.hpp"
#include "platforms/software.hpp"
#include "schedule/collectives/collective.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline platforms {

// One sustained matrix-product rate: all devices of a node busy, bf16 in, fp32 accumulation,
// on a product of m = n = k = size (rectangular products enter by their geometric mean).
struct GemmPoint {
  std::int64_t size = 0;
  FlopsPerSecond rate;
};

// Rates of products m x k times k x n in one form that were measured one by one, for all
// combinations of some m, k and n, ascending: the one of m[i], k[j] and n[l] stands at
// (i x k.size() + j) x n.size() + l.
struct ProductGrid {
  std::vector<double> m, k, n;
  std::vector<FlopsPerSecond> rates;

  bool empty() const { return rates.empty(); }
};

// Fused attention as measured on sequences of so many tokens.
struct AttentionPoint {
  std::int64_t sequence = 0;
  FlopsPerSecond forward, backward;
};

// How a product of many small matrices fills the device: in tiles of its result, one a unit at a
// time, after a start that takes as long as summing over `start_up` elements.
struct ProductTiles {
  std::int64_t units = 1;  // streaming multiprocessors, compute units
  std::int64_t edge = 1;   // of a tile
  double start_up = 0.0;
};

struct Processor {
  std::string name;
  FlopsPerSecond advertised_peak;   // bf16 dense, data sheet
  FlopsPerSecond empirical_peak;    // best matrix product anybody measured, the paper's convention
  std::vector<GemmPoint> gemm;      // ascending size
  std::vector<GemmPoint> gemm_fp8;  // the same with factors of 8 bits; empty: it has none
  // Of those with a scale for each 32 elements over them; empty: it has none.
  std::optional<double> mxfp8_over_fp8;
  // By form: NN, NT, TN. Where one is known, it goes before gemm and the layout's penalty.
  std::array<ProductGrid, 3> products;
  double layout_penalty_nt = 1.0;  // factors on gemm time when A or B is read transposed
  double layout_penalty_tn = 1.0;
  std::optional<ProductTiles> tiles;  // of the products of heads; without: as one large product
  // FlashAttention-2, sustained, counting the flops a causal kernel executes.
  FlopsPerSecond attention_forward;
  FlopsPerSecond attention_backward;
  std::vector<AttentionPoint> attention;   // ascending; where it is known, instead of those
  std::optional<double> flash_1, flash_3;  // those versions' rates over that
  Bytes memory;                            // HBM per device
  double usable_memory = 0.85;      // the rest is reserve: fragmentation, libraries, contexts
  BytesPerSecond memory_bandwidth;  // sustained, all devices of a node busy
  // A copy from the host's memory or to it, sustained, all devices of a node doing the same.
  std::optional<BytesPerSecond> host_link;
  Seconds launch_overhead;    // per kernel, where it is not hidden behind the previous one
  double interference = 0.0;  // share of their speed that kernels lose to a collective beside them
  // Standard deviation of the seconds that devices take for the same product, over their median.
  double spread = 0.0;
  // The same of one product done again and again on one device.
  double repetition_spread = 0.0;
};

// A direct connection of two devices of one node, full duplex; bandwidth is per direction.
struct InnerLink {
  int a = 0;
  int b = 0;
  BytesPerSecond bandwidth;  // what a kernel copy sustains
  std::string kind;          // "in-package x4", "x2", "x1", "nvlink"
};

struct Nic {
  BytesPerSecond bandwidth;  // per direction, sustained
  std::vector<int> devices;  // which devices of the node send through it
};

// What kernels take where so many devices of a node compute, over what the processor's rates give:
// above 1 where devices are ranks that share cores.
struct Crowding {
  int devices = 1;
  double slowdown = 1.0;
};

struct Node {
  static constexpr int most_devices = 128;  // one domain of NVLink in a rack has 72

  int devices = 1;
  std::vector<Crowding> crowding;  // ascending; none: devices do not slow each other down
  std::vector<InnerLink> links;
  // A switch that joins all devices (NVSwitch): what each can send into it, and take out of it.
  std::optional<BytesPerSecond> switch_port;
  std::vector<Nic> nics;
};

// Latency and bandwidth constants of one wire protocol of the collective library (NCCL's LL,
// Simple).
struct Protocol {
  Seconds hop_across;                       // one ring hop between nodes
  Seconds hop_in_node;                      // one ring hop inside a node
  double bandwidth_fraction_across = 1.0;   // of the plateau, when the group spans nodes
  double bandwidth_fraction_in_node = 1.0;  // of the plateau, in one node
  double tree_hop_factor = 1.0;             // a tree hop between nodes, in ring hops
  double tree_bandwidth_fraction = 1.0;     // of the plateau, in a tree
  double ring_base_factor = 1.0;            // the base of a ring, in bases of the library
  // How its bandwidth follows the plateaus of few devices a node: fraction x plateau of a whole
  // node x (plateau / that) ^ exponent. 1: in proportion; 0: not at all.
  double bandwidth_exponent_across = 1.0;
};

// A measured plateau of ring bus bandwidth for groups with `devices` members per node.
struct Plateau {
  int devices = 1;
  BytesPerSecond bus_bandwidth;
};

// A plateau for members that are not neighbours: `stride` devices apart in one node.
struct StridedPlateau {
  int stride = 1;
  int devices = 1;
  BytesPerSecond bus_bandwidth;
};

// Collectives of one kind as they were measured: in a node by groups of `members` on `devices` of
// it at once, or over nodes by one group with `devices` members in each.
struct MeasuredCollectives {
  struct Row {
    double bytes = 0.0;  // of the buffer, as nccl-tests count it
    Seconds time;
  };
  CollectiveKind kind = CollectiveKind::all_reduce;
  int members = 2;
  int devices = 2;
  std::vector<Row> rows;  // ascending bytes

  bool over_nodes() const { return members > devices; }
};

// What a gather or reduce-scatter over nodes takes longer where a member's piece is neither small
// nor large: so much for each member.
struct PieceCliff {
  Bytes from, to;
  Seconds per_member;
};

struct CollectiveLibrary {
  std::string name;  // "NCCL", "RCCL"
  Seconds base_across;
  Seconds base_in_node;
  Protocol low_latency;
  Protocol simple;
  // Share of its speed that a collective inside a node loses to kernels beside it. Of one over
  // nodes: of what its in-node copies could carry, which may still be more than its NICs do.
  double interference = 0.0;
  double overlap_exponent = 1.0;  // q: latency and bandwidth of a Simple ring overlap partly
  // Groups over several nodes, by members per node, ascending, each with the network to itself.
  std::vector<Plateau> across;
  // Devices of a node that do the same in other groups at once, with the group's own; 0: none do.
  int sharing_a_node = 0;
  // What each of them gets then, where it was measured. Otherwise all rings of a node together get
  // no more than one ring of the whole node.
  std::vector<Plateau> across_at_once;
  std::vector<Plateau> in_node;  // groups of neighbours inside one node, by size, ascending
  // Where a stride was measured it goes before `in_node`; empty where the node is symmetric.
  std::vector<StridedPlateau> in_node_by_stride;
  // What was measured goes before all constants; over nodes by members, ascending, of each kind.
  std::vector<MeasuredCollectives> measured;
  std::optional<PieceCliff> cliff;

  bool measured_in_node() const;
};

// One number of a platform file: where it stands, what it is, who says so.
struct Fact {
  // "processor.memory_GB", with its unit as last part; an entry of a list is named by its label:
  // "processor.gemm.6400.rate_Tflops", "node.links.0-1.bandwidth_GBps".
  std::string key;
  double value = 0.0;  // as written, in the key's unit
  std::string source;
  bool unconfirmed = false;
};

// Factors on facts by key, for what-if questions. A key without the label of an entry scales the
// whole list ("processor.gemm.rate_Tflops"); "network.global_bandwidth" scales every link between
// groups of a dragonfly, and the links to the topmost switches of a fat tree.
using Scales = std::map<std::string, double>;

struct Platform {
  std::string name;   // "frontier"
  std::string title;  // "Frontier, ORNL: 4x MI250X per node, Slingshot-11 dragonfly"
  std::string path;   // the file it was read from
  std::int64_t nodes = 0;
  Processor processor;
  Node node;
  Network network;
  CollectiveLibrary library;
  Software software;             // what it is asked about with
  std::string default_software;  // unless another is asked for
  std::vector<Fact> facts;       // as written, before scaling
  Scales scales;                 // what was scaled when it was read

  std::int64_t devices() const { return nodes * node.devices; }
};

// Reads a platform by name (looked up in the platforms folder) or by path to a .toml file, with
// another library that was measured on it where its name follows ("frontier+pccl"), and with the
// software of that name or path; empty: the machine's default.
// Throws std::runtime_error with one sentence: unknown name (nearest known), unknown key (nearest
// known), missing or impossible value, number without a source; a scale whose key does not exist.
Platform read_platform(const std::string& name_or_path, const Scales& scales = {},
                       const std::string& software = {});

// Names of the platforms that come with Fourfold, sorted.
std::vector<std::string> known_platforms();

}  // namespace fourfold::inline platforms
