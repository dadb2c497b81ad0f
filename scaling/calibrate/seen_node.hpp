// What is inside a node, as `nvidia-smi topo -m` or `lstopo FILE.xml` (hwloc) saw it: devices,
// links between them, and which NIC is the nearest to each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/file/template.hpp"

namespace fourfold::inline scaling::inline calibrate {

struct SeenNode {
  struct Link {
    std::int64_t a = 0, b = 0;
    std::string kind;  // "NV4", "PCIe PIX"
    double bandwidth_GBps = 0.0;
  };
  std::int64_t devices = 0;
  std::vector<Link> links;
  double switch_port_GBps = 0.0;  // 0: no switch joins all devices, or nobody said so
  // Devices that send through each; without those that no device is nearest to.
  std::vector<std::vector<std::int64_t>> nics;
  // Of the NICs, if the source tells rates; otherwise those of links are typical of their kind.
  std::vector<double> nic_rates_GBps;
  std::string source;  // who saw it
  bool saw_links = true;
};

// Throw std::runtime_error with a sentence that begins with `where`.
SeenNode node_of_nvidia_smi(const std::string& text, const std::string& where);
SeenNode node_of_hwloc(const std::string& text, const std::string& where);

// The tables [node...] of a platform file. Rates are those of the kind of link, and unconfirmed.
std::string node_toml(const SeenNode& node);
// What a ring of all its devices may carry, as typical of its links.
double ring_GBps(const SeenNode& node);
// What was taken for granted, as the source shows no NIC or no link; empty if it shows both.
std::string taken_for_granted(const SeenNode& node);
// A template of a platform file for such nodes, with that node in it.
std::string template_of_node(const SeenNode& node, TemplateShape shape);

}  // namespace fourfold::inline scaling::inline calibrate
