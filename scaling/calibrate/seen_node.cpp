// Matrices and trees to nodes; see seen_node.hpp.
#include "scaling/calibrate/seen_node.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

#include "scaling/calibrate/log_line.hpp"
#include "scaling/calibrate/toml_edit.hpp"
#include "scaling/calibrate/xml_tags.hpp"
#include "support/text_file.hpp"
#include "support/toml_text.hpp"

namespace fourfold::inline scaling::inline calibrate {
namespace {

// A link of NVLink 2, 3 or 4, each way; a copy over PCIe 4.
constexpr double nvlink_GBps = 25.0, pcie_GBps = 20.0, switch_GBps = 450.0, nic_GBps = 48.0;
constexpr std::int64_t most_nvlinks = 18;  // of a device

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}", where, what));
}

// Each device sends through the nearest NIC, of equally near ones through that which fewest others
// have.
void share_nics(const std::vector<std::vector<std::int64_t>>& nearness, SeenNode& node) {
  for (std::size_t device = 0; device < nearness.size(); ++device) {
    std::optional<std::size_t> best;
    for (std::size_t nic = 0; nic < nearness[device].size(); ++nic) {
      const auto rank = [&](std::size_t one) {
        return std::pair{-nearness[device][one], std::ssize(node.nics[one])};
      };
      if (!best || rank(nic) < rank(*best)) best = nic;
    }
    if (best) node.nics[*best].push_back(static_cast<std::int64_t>(device));
  }
  std::erase_if(node.nics, [](const auto& devices) { return devices.empty(); });
}

// Terminals underline the heading; what is copied from one may have lost the letter that begins it.
std::string without_escapes(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t open = text[i] == '\x1b' ? i + 1 : i;
    const std::size_t end = text.find_first_not_of("0123456789;", open + 1);
    if (open < text.size() && text[open] == '[' && end != std::string::npos && text[end] == 'm') {
      i = end;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// The number in "NV12"; 0 for another relation.
std::int64_t nvlinks_of(const std::string& relation) {
  const std::string count = relation.starts_with("NV") ? relation.substr(2) : "";
  return is_count(count) && count.size() < 4 ? std::stoll(count) : 0;
}

using Relations = std::map<std::pair<std::string, std::string>, std::string>;

// A switch where every device reaches every other faster than its own links go; else the links, and
// PCIe between all others. NVLink 4 has 26.6 GB/s a link by hwloc.
void put_links(const std::vector<SeenNode::Link>& links, const std::vector<SeenNode::Link>& others,
               SeenNode& node) {
  constexpr double most_GBps = 1.07 * nvlink_GBps * static_cast<double>(most_nvlinks);
  const std::int64_t pairs = node.devices * (node.devices - 1) / 2;
  const bool alike = pairs > 0 && std::ssize(links) == pairs &&
                     std::ranges::all_of(links, [&](const SeenNode::Link& link) {
                       return link.bandwidth_GBps == links[0].bandwidth_GBps;
                     });
  if (alike && links[0].bandwidth_GBps * static_cast<double>(node.devices - 1) > most_GBps) {
    node.switch_port_GBps = links[0].bandwidth_GBps;
    return;
  }
  node.links = links;
  node.links.insert(node.links.end(), others.begin(), others.end());
}

void put_links(const Relations& relations, SeenNode& node) {
  std::vector<SeenNode::Link> nvlinks, others;
  for (std::int64_t a = 0; a < node.devices; ++a) {
    for (std::int64_t b = a + 1; b < node.devices; ++b) {
      const std::string& relation =
          relations.at({fmt::format("GPU{}", a), fmt::format("GPU{}", b)});
      const std::int64_t count = nvlinks_of(relation);
      if (count > 0) {
        nvlinks.push_back({a, b, relation, nvlink_GBps * static_cast<double>(count)});
      } else {
        others.push_back({a, b, "PCIe " + relation, pcie_GBps});
      }
    }
  }
  put_links(nvlinks, others, node);
}

// An object of hwloc's tree: where it stands, and what it is.
struct SeenObject {
  std::vector<std::int64_t> path;  // numbers of the objects around it, outermost first
  std::string name, index;         // hwloc's own number of it, as text
  std::string kind;                // "3" in hwloc 2, "OpenFabrics" in 3
};

std::vector<SeenObject> devices_in(const std::vector<XmlTag>& tags) {
  std::vector<SeenObject> found;
  std::vector<std::int64_t> around;
  std::int64_t number = 0;
  for (const XmlTag& tag : tags) {
    if (tag.name == "/object" && !around.empty()) around.pop_back();
    if (tag.name != "object") continue;
    if (tag["type"] == "OSDev") {
      found.push_back({around, tag["name"], tag["gp_index"], tag["osdev_type"]});
    }
    if (!tag.closed) around.push_back(number++);
  }
  return found;
}

bool is_called(const std::string& name, const std::string& kind) {
  return name.starts_with(kind) && is_count(name.substr(kind.size()));
}

// Of one family of names, one of each PCI device, in the order of the tree.
template <std::size_t n>
std::vector<SeenObject> of_family(const std::vector<SeenObject>& all,
                                  const std::array<const char*, n>& families) {
  for (const char* family : families) {
    std::vector<SeenObject> found;
    for (const SeenObject& one : all) {
      const bool again = std::ranges::find(found, one.path, &SeenObject::path) != found.end();
      if (is_called(one.name, family) && !again) found.push_back(one);
    }
    if (!found.empty()) return found;
  }
  return {};
}

// Adapters of whatever name that hwloc takes for such of a fast network; by their names those that
// it takes for Ethernet's.
std::vector<SeenObject> adapters_in(const std::vector<SeenObject>& all) {
  std::vector<SeenObject> found;
  for (const SeenObject& one : all) {
    const bool fabric = one.kind == "3" || one.kind.find("OpenFabrics") != std::string::npos;
    const bool again = std::ranges::find(found, one.path, &SeenObject::path) != found.end();
    if (fabric && !again) found.push_back(one);
  }
  if (!found.empty()) return found;
  return of_family(all, std::array{"mlx5_", "cxi", "hsi", "hsn", "hfi1_", "bnxt_re", "ib"});
}

// A matrix of bandwidths between objects, in MB/s: NVLinkBandwidth, XGMIBandwidth, XeLinkBandwidth.
struct SeenMatrix {
  std::string kind;  // "NVLink"
  std::vector<std::string> objects;
  std::vector<double> values;
};

std::optional<SeenMatrix> matrix_in(const std::vector<XmlTag>& tags) {
  std::optional<SeenMatrix> matrix;
  for (const XmlTag& tag : tags) {
    constexpr std::string_view what = "Bandwidth";
    const std::string name = tag["name"];
    if (tag.name.starts_with("distances2") && name.ends_with(what)) {
      if (matrix) break;  // of links of another kind
      matrix.emplace().kind = name.substr(0, name.size() - what.size());
    }
    if (tag.name.starts_with("/distances2") && matrix) break;
    if (!matrix) continue;
    for (const std::string& word : words_of(tag.text)) {
      if (tag.name == "indexes") matrix->objects.push_back(word.substr(word.find(':') + 1));
      if (tag.name == "u64values") matrix->values.push_back(number_in(word).value_or(0.0));
    }
  }
  return matrix;
}

// What devices have between them, or with what is no device, as a switch is.
void put_links(const SeenMatrix& matrix, const std::vector<SeenObject>& all,
               const std::vector<SeenObject>& devices, const std::string& where, SeenNode& node) {
  const std::size_t count = matrix.objects.size();
  if (matrix.values.size() != count * count) {
    fail(where, fmt::format("{}Bandwidth has {} values for {} objects: the file is damaged",
                            matrix.kind, matrix.values.size(), count));
  }
  // Of each object the device of the same PCI address; one more is no device.
  std::vector<std::size_t> device_of;
  for (const std::string& index : matrix.objects) {
    const auto object = std::ranges::find(all, index, &SeenObject::index);
    const auto device = object == all.end()
                            ? devices.end()
                            : std::ranges::find(devices, object->path, &SeenObject::path);
    device_of.push_back(static_cast<std::size_t>(device - devices.begin()));
  }
  std::vector<SeenNode::Link> links, others;
  std::vector<double> switched(devices.size(), 0.0);
  std::set<std::pair<std::size_t, std::size_t>> joined;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      const std::size_t a = device_of[i], b = device_of[j];
      const double rate = matrix.values[i * count + j] / 1e3;
      if (a == devices.size() || a == b || rate <= 0.0) continue;
      if (b == devices.size()) switched[a] += rate;
      if (a < b && b < devices.size() && joined.insert({a, b}).second) {
        links.push_back(
            {static_cast<std::int64_t>(a), static_cast<std::int64_t>(b), matrix.kind, rate});
      }
    }
  }
  if (const double least = *std::ranges::min_element(switched); least > 0.0) {
    node.switch_port_GBps = least;
    return;
  }
  if (links.empty()) return;
  for (std::size_t a = 0; a < devices.size(); ++a) {
    for (std::size_t b = a + 1; b < devices.size(); ++b) {
      if (joined.contains({a, b})) continue;
      others.push_back(
          {static_cast<std::int64_t>(a), static_cast<std::int64_t>(b), "PCIe", pcie_GBps});
    }
  }
  put_links(links, others, node);
}

}  // namespace

SeenNode node_of_nvidia_smi(const std::string& text, const std::string& where) {
  LogWords columns;
  Relations relations;
  SeenNode node;
  node.source = "nvidia-smi topo -m";
  std::vector<std::string> nics;
  for (const TextLine& line : lines_of(without_escapes(text))) {
    const LogWords words = words_of(line.text);
    if (words.empty()) continue;
    if (columns.empty()) {
      if (words[0] != "GPU0" || (words.size() > 1 && words[1] == "X")) continue;
      columns.assign(words.begin(), std::ranges::find(words, "CPU"));
      continue;
    }
    if (std::ranges::find(columns, words[0]) == columns.end()) continue;
    if (words.size() <= columns.size()) {
      fail(where, fmt::format("line {} has {} of {} columns; give the whole matrix", line.number,
                              words.size() - 1, columns.size()));
    }
    for (std::size_t i = 0; i < columns.size(); ++i)
      relations[{words[0], columns[i]}] = words[i + 1];
  }
  for (const std::string& name : columns) {
    const bool device = is_called(name, "GPU");
    if (device && name != fmt::format("GPU{}", node.devices)) {
      fail(where, fmt::format("GPU{} is missing before {}", node.devices, name));
    }
    if (device) ++node.devices;
    if (!device) nics.push_back(name);
    if (relations.contains({name, columns.front()})) continue;
    fail(where, fmt::format("the matrix has no line of {}; give all that nvidia-smi topo -m prints",
                            name));
  }
  for (const auto& [pair, relation] : relations) {
    const std::string& back = relations.at({pair.second, pair.first});
    if (relation == back) continue;
    fail(where, fmt::format("{} is {} to {}, but {} the other way: the matrix is damaged",
                            pair.first, relation, pair.second, back));
  }
  if (node.devices == 0) {
    fail(where, "no line names GPU0, GPU1, ...: this is not what nvidia-smi topo -m prints");
  }
  put_links(relations, node);
  constexpr std::array nearer{"SYS", "NODE", "PHB", "PXB", "PIX"};
  std::vector<std::vector<std::int64_t>> nearness(static_cast<std::size_t>(node.devices));
  node.nics.resize(nics.size());
  for (std::int64_t device = 0; device < node.devices; ++device) {
    for (const std::string& nic : nics) {
      const std::string& relation = relations.at({fmt::format("GPU{}", device), nic});
      nearness[static_cast<std::size_t>(device)].push_back(std::ranges::find(nearer, relation) -
                                                           nearer.begin());
    }
  }
  share_nics(nearness, node);
  return node;
}

SeenNode node_of_hwloc(const std::string& text, const std::string& where) {
  if (text.find("<topology") == std::string::npos) {
    fail(where, "this is no topology of hwloc as XML; `lstopo FILE.xml` writes one");
  }
  const std::vector<XmlTag> tags = xml_tags(text);
  const std::vector<SeenObject> all = devices_in(tags);
  const auto devices = of_family(all, std::array{"cuda", "rsmi", "ze", "nvml"});
  const auto nics = adapters_in(all);
  if (devices.empty()) {
    fail(where,
         "the topology has no cuda0, rsmi0, ze0 or nvml0; write it on a node with devices, with "
         "an hwloc that knows them");
  }
  SeenNode node;
  node.source = "hwloc (lstopo)";
  node.devices = std::ssize(devices);
  node.nics.resize(nics.size());
  std::vector<std::vector<std::int64_t>> nearness;
  for (const SeenObject& device : devices) {
    auto& near = nearness.emplace_back();
    for (const SeenObject& nic : nics) {
      near.push_back(std::ranges::mismatch(device.path, nic.path).in1 - device.path.begin());
    }
  }
  share_nics(nearness, node);
  if (const auto matrix = matrix_in(tags)) put_links(*matrix, all, devices, where, node);
  node.saw_links = node.devices == 1 || !node.links.empty() || node.switch_port_GBps > 0.0;
  for (std::int64_t a = 0; !node.saw_links && a < node.devices; ++a) {
    for (std::int64_t b = a + 1; b < node.devices; ++b)
      node.links.push_back({a, b, "PCIe", pcie_GBps});
  }
  return node;
}

std::string taken_for_granted(const SeenNode& node) {
  const std::string nics = node.nics.empty() ? ", no NIC, so each device has one" : "";
  const std::string links = node.saw_links ? "" : ", no links between devices: by PCIe, then";
  const std::string text = nics + links;
  return text.empty() ? "" : node.source + " shows " + text.substr(2);
}

std::string node_toml(const SeenNode& node) {
  const bool told = !node.nic_rates_GBps.empty();
  const std::string seen = toml_string(node.source);
  const std::string rates =
      told ? seen : toml_string(node.source + "; the rate is typical of its kind, not measured");
  const std::string list =
      fmt::format("source = {}\n{}entries = [\n", rates, told ? "" : "unconfirmed = true\n");
  std::string text =
      fmt::format("[node]\ndevices = {{ value = {}, source = {} }}\n", node.devices, seen);
  if (node.devices > 1 && (node.links.empty() || (told && node.switch_port_GBps > 0.0))) {
    text += fmt::format("switch_port_GBps = {{ value = {:.12g}, source = {}{} }}\n",
                        node.switch_port_GBps > 0.0 ? node.switch_port_GBps : switch_GBps, rates,
                        told ? "" : ", unconfirmed = true");
  }
  if (!node.links.empty()) {
    text += "\n[node.links]\n" + list;
    for (const SeenNode::Link& link : node.links) {
      text += fmt::format("  {{ a = {}, b = {}, kind = {}, bandwidth_GBps = {:.12g} }},\n", link.a,
                          link.b, toml_string(link.kind), link.bandwidth_GBps);
    }
    text += "]\n";
  }
  text += "\n[node.nics]\n";
  text += node.nics.empty() && !told
              ? fmt::format("source = {}\nunconfirmed = true\nentries = [\n",
                            toml_string("assumption: " + node.source +
                                        " shows no NIC, so each device has one"))
              : list;
  std::vector<std::vector<std::int64_t>> nics = node.nics;
  for (std::int64_t device = 0; node.nics.empty() && device < node.devices; ++device)
    nics.push_back({device});
  for (std::size_t nic = 0; nic < nics.size(); ++nic) {
    text += fmt::format("  {{ devices = [{}], bandwidth_GBps = {:.12g} }},\n",
                        fmt::join(nics[nic], ", "), told ? node.nic_rates_GBps[nic] : nic_GBps);
  }
  return text + "]\n";
}

double ring_GBps(const SeenNode& node) {
  constexpr double reached = 0.8;  // of what links can carry
  if (node.links.empty()) {
    return reached * (node.switch_port_GBps > 0.0 ? node.switch_port_GBps : switch_GBps);
  }
  std::vector<double> sent(static_cast<std::size_t>(node.devices), 0.0);
  for (const SeenNode::Link& link : node.links) {
    if (link.kind.starts_with("PCIe")) return reached * pcie_GBps;
    for (const std::int64_t end : {link.a, link.b}) {
      sent[static_cast<std::size_t>(end)] += link.bandwidth_GBps;
    }
  }
  return reached * *std::ranges::min_element(sent);
}

std::string template_of_node(const SeenNode& node, TemplateShape shape) {
  shape.devices = node.devices;
  shape.nics = std::ssize(node.nics);
  const std::string text = with_tables(platform_template(shape), "node", node_toml(node), {});
  const std::string plateau = fmt::format("[{{ devices = {}, bus_bandwidth_GBps = {:.4g} }}]",
                                          node.devices, ring_GBps(node));
  const std::string title =
      fmt::format("My machine: {} device{} per node, as {} shows {}", node.devices,
                  node.devices == 1 ? "" : "s", node.source, node.devices == 1 ? "it" : "them");
  const std::string named = with_value(text, {"title"}, toml_string(title)).value_or(text);
  return with_value(named, {"library", "in_node", "entries"}, plateau).value_or(named);
}

}  // namespace fourfold::inline scaling::inline calibrate
