// The keys of machine, processor and node; the other parts are in files of their own.
#include "platforms/key.hpp"

#include <algorithm>

namespace fourfold {
namespace {

KeyTable root_keys() {
  return {"",
          "",
          "",
          {{"title", KeyForm::text, "\"My machine: 8 H100-80GB on NVSwitch per node\"",
            "One line that names the machine wherever it is shown."},
           {"nodes", KeyForm::number, "128", "Nodes that a job can have at most.",
            "The machine's documentation.", "How many devices can be asked for."}}};
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
       {"launch_overhead_us", KeyForm::number, "2",
        "Gap between a kernel and the next that depends on it.",
        "A profile of a training step (Nsight Systems, rocprof).",
        "Compute of small models and many micro-batches."},
       {"interference", KeyForm::number, "0.06",
        "Share of a collective's duration that the kernels beside it lose; at least 0, below 1.",
        "Two profiles: (compute with overlap - compute without) / communication hidden.",
        "Compute, where much communication is hidden."}}};
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

KeyTable node_keys() {
  return {"node",
          "",
          "What is inside a node. Devices are joined by a switch, by links, or by both.",
          {{"devices", KeyForm::number, "8", "Devices of a node, 64 at most.",
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
      "The network adapters of a node, 16 at most. Every device sends through exactly one.",
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

}  // namespace

std::vector<KeyTable> machine_keys() {
  return {root_keys(), processor_keys(), gemm_keys(), node_keys(), link_keys(), nic_keys()};
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

}  // namespace fourfold
