// Nodes as nvidia-smi and hwloc saw them: drawn ones are printed as those programs print them and
// read back the same, and the platform that is written has that node.
#include "scaling/calibrate/seen_node.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <utility>

#include "platforms/platform.hpp"
#include "platforms/show/simgrid_xml.hpp"
#include "scaling/calibrate/log_line.hpp"
#include "scaling/calibrate/seen_simgrid.hpp"
#include "scaling/calibrate/xml_tags.hpp"
#include "support/random.hpp"
#include "tests/paths.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

// So many links between any two devices, and a NIC for `share` neighbours each.
struct DrawnNode {
  std::int64_t devices = 8, nvlinks = 12, share = 2;
  std::int64_t nics() const { return (devices + share - 1) / share; }
};

// As a terminal shows it, as a file has it, and as it is copied from a terminal.
constexpr std::array<std::pair<const char*, const char*>, 3> underlines{
    {{"\x1b[4m", "\x1b[0m"}, {"", ""}, {"[4m", "[0m"}}};

std::string matrix(const DrawnNode& node, std::size_t underlined) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < node.devices; ++i) names.push_back(fmt::format("GPU{}", i));
  for (std::int64_t i = 0; i < node.nics(); ++i) names.push_back(fmt::format("NIC{}", i));
  std::string text = "\t";
  text += underlines.at(underlined).first;
  text += fmt::format("{}\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID", fmt::join(names, "\t"));
  text += std::string(underlines.at(underlined).second) + "\n";
  const auto of = [&](std::int64_t i) {
    return i < node.devices ? i / node.share : i - node.devices;
  };
  for (std::int64_t i = 0; i < std::ssize(names); ++i) {
    text += names[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j < std::ssize(names); ++j) {
      const bool both = i < node.devices && j < node.devices;
      text += i == j                     ? "\t X "
              : both && node.nvlinks > 0 ? fmt::format("\tNV{}", node.nvlinks)
              : of(i) == of(j)           ? "\tPXB"
                                         : "\tSYS";
    }
    text += i < node.devices ? "\t0-31,64-95\t0\t\tN/A\n" : "\t\t\t\n";
  }
  return text +
         "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n\n"
         "NIC Legend:\n\n  NIC0: mlx5_0\n";
}

// Bandwidths in MB/s as hwloc writes them, ten values a line; of a device with itself a large one.
std::string nvlinks(const DrawnNode& node) {
  if (node.nvlinks == 0) return "";
  std::string text = fmt::format(
      " <distances2 type=\"OSDev\" nbobjs=\"{}\" kind=\"38\" name=\"NVLinkBandwidth\" "
      "indexing=\"gp\">\n  <indexes length=\"9\">",
      node.devices);
  for (std::int64_t i = 0; i < node.devices; ++i) text += fmt::format("{} ", 100 + i);
  text += "</indexes>\n";
  for (std::int64_t i = 0; i < node.devices; ++i) {
    text += "  <u64values length=\"9\">";
    for (std::int64_t j = 0; j < node.devices; ++j) {
      text += fmt::format("{} ", i == j ? 1'000'000 : 25'000 * node.nvlinks);
    }
    text += "</u64values>\n";
  }
  return text + " </distances2>\n";
}

// Adapters are known by their kind, as hwloc 2 and 3 write it, whatever they are called.
struct DrawnAdapter {
  const char *name, *kind;
};
constexpr std::array<DrawnAdapter, 6> adapters{{{"mlx5_", "3"},
                                                {"cxi", "3"},
                                                {"rdmap16s", "3"},
                                                {"irdma", "OpenFabrics"},
                                                {"mlx4_", "OpenFabrics"},
                                                {"bxi", "Network|OpenFabrics"}}};

std::string tree(const DrawnNode& node, const DrawnAdapter& adapter = adapters[0]) {
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
      "<topology version=\"2.0\">\n <object type=\"Machine\" os_index=\"0\">\n";
  for (std::int64_t nic = 0; nic < node.nics(); ++nic) {
    text +=
        "  <object type=\"Bridge\" bridge_type=\"0-1\">\n   <object type=\"PCIDev\" "
        "pci_busid=\"0\">\n";
    text += fmt::format(
        "    <object type=\"OSDev\" name=\"hsn{0}\" osdev_type=\"2\"/>\n"
        "    <object type=\"OSDev\" name=\"{1}{0}\" osdev_type=\"{2}\"/>\n   </object>\n",
        nic, adapter.name, adapter.kind);
    for (std::int64_t i = nic * node.share; i < std::min((nic + 1) * node.share, node.devices);
         ++i) {
      text += fmt::format(
          "   <object type=\"PCIDev\" pci_busid=\"1\">\n    <object type=\"OSDev\" "
          "name=\"opencl0d{0}\"/>\n    <object type=\"OSDev\" name=\"cuda{0}\" osdev_type=\"5\">"
          "\n     <info name=\"GPUModel\" value=\"A100\"/>\n    </object>\n"
          "    <object type=\"OSDev\" gp_index=\"{1}\" name=\"nvml{0}\" osdev_type=\"1\"/>\n"
          "   </object>\n",
          i, 100 + i);
    }
    text += "  </object>\n";
  }
  return text + " </object>\n" + nvlinks(node) + "</topology>\n";
}

TEST(SeenNodes, AreReadAsTheyWerePrintedAndWritten) {
  const TemporaryFolder folder;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const auto draw = [&](std::uint64_t place, std::uint64_t limit) {
      return static_cast<std::int64_t>(random_at(seed, 2, place) % limit);
    };
    const DrawnNode node{1 + draw(0, 8), draw(1, 3) * 6, 1 + draw(2, 3)};
    for (const SeenNode& seen :
         {node_of_nvidia_smi(matrix(node, seed % underlines.size()), "it"),
          node_of_hwloc(tree(node, adapters.at(seed % adapters.size())), "it")}) {
      EXPECT_EQ(seen.devices, node.devices);
      ASSERT_EQ(std::ssize(seen.nics), node.nics());
      for (std::int64_t nic = 0; nic < node.nics(); ++nic) {
        for (const std::int64_t device : seen.nics[static_cast<std::size_t>(nic)]) {
          EXPECT_EQ(device / node.share, nic);
        }
      }
      write_content(folder.file("seen.toml"), template_of_node(seen, {}));
      const Platform platform = read_platform(folder.file("seen.toml"));
      EXPECT_EQ(platform.node.devices, node.devices);
      EXPECT_EQ(std::ssize(platform.node.nics), node.nics());
      // Without NVLink hwloc tells of no links, and that is said.
      const bool saw = node.nvlinks > 0 || node.devices == 1 || !seen.source.starts_with("hwloc");
      EXPECT_EQ(taken_for_granted(seen).empty(), saw);
      const bool switched = node.nvlinks * (node.devices - 1) > 18;
      const auto pairs = switched ? 0 : node.devices * (node.devices - 1) / 2;
      EXPECT_EQ(std::ssize(platform.node.links), pairs);
      if (switched) {
        EXPECT_EQ(platform.node.switch_port->value, 25e9 * static_cast<double>(node.nvlinks));
      }
      if (pairs > 0 && node.nvlinks > 0) {
        EXPECT_EQ(platform.node.links[0].bandwidth.value, 25e9 * static_cast<double>(node.nvlinks));
      }
    }
  }
}

// A node without adapters is said to have none, and what is taken instead names no source.
TEST(SeenNodes, WithoutNicsSaySo) {
  for (const std::string one :
       {"GPU0 CPU\nGPU0 X 0-7\n", "GPU0 GPU1 CPU\nGPU0 X NV4 0\nGPU1 NV4 X 0\n"}) {
    const SeenNode node = node_of_nvidia_smi(one, "it");
    EXPECT_THAT(taken_for_granted(node), HasSubstr("nvidia-smi topo -m shows no NIC"));
    EXPECT_THAT(template_of_node(node, {}),
                HasSubstr("assumption: nvidia-smi topo -m shows no NIC"));
  }
}

// Whatever part of whatever machine is exported: what is made of the file exports the same links
// and, but for the switches where cables between groups end, the same ways.
TEST(SeenNodes, OfSimgridFilesAreExportedAgainTheSame) {
  const TemporaryFolder folder;
  const auto parts = [](const std::string& xml) {
    std::map<std::string, double> links;
    std::string routes;
    for (const XmlTag& tag : xml_tags(xml)) {
      if (tag.name == "link") {
        links[tag["id"]] =
            number_in(tag["bandwidth"].substr(0, tag["bandwidth"].find('B'))).value();
      }
      if (tag.name == "route") routes += tag["src"] + " to " + tag["dst"] + '\n';
      if (tag.name == "link_ctn") routes += tag["id"] + '\n';
    }
    return std::pair(links, routes);
  };
  std::vector<std::string> machines = known_platforms();
  for (const char* name : {"dragonfly", "dragonfly-plus", "fat-tree-2", "fat-tree-3", "torus"}) {
    machines.push_back(source_path(fmt::format("tests/machines/{}.toml", name)));
  }
  for (const std::string& name : machines) {
    const Platform machine = read_platform(name);
    if (name == "crossbar") continue;  // whose ports no route tells apart
    for (const std::int64_t devices : {2, 7, 24, 64, 160}) {
      if (devices > machine.devices()) continue;
      SCOPED_TRACE(fmt::format("{} devices of {}", devices, name));
      const std::string xml = simgrid_xml(machine, devices);
      write_content(folder.file("seen.toml"), template_of_simgrid(xml, "it.xml", {}));
      const Platform seen = read_platform(folder.file("seen.toml"));
      const auto [links, routes] = parts(xml);
      const auto [again, ways] = parts(simgrid_xml(seen, devices));
      const bool grouped = xml.find("-&gt; group") != std::string::npos;
      if (!grouped) {
        EXPECT_EQ(ways, routes);
        EXPECT_EQ(again.size(), links.size());
      }
      for (const auto& [link, rate] : links) {
        if (grouped && link.find("switch") != std::string::npos && !again.contains(link)) continue;
        ASSERT_TRUE(again.contains(link)) << link;
        EXPECT_NEAR(again.at(link) / rate, 1.0, 1e-9) << link;
      }
    }
  }
}

TEST(SeenNodes, ThatAreNoneAreRefusedInASentence) {
  const std::string good = matrix({4, 4, 1}, 1);
  const auto smi = [](const std::string& text) { node_of_nvidia_smi(text, "topo.txt"); };
  const auto hwloc = [](const std::string& text) { node_of_hwloc(text, "tree.xml"); };
  const auto simgrid = [](const std::string& xml) { template_of_simgrid(xml, "it.xml", {}); };
  struct Case {
    std::function<void(const std::string&)> read;
    std::string text;
    const char* why;
  };
  for (const Case& one : std::vector<Case>{
           {smi, good, "accepted"},
           {smi, "hello", "topo.txt: no line names GPU0"},
           {smi, good.substr(0, good.find("GPU3\tNV4")), "no line of GPU3"},
           {smi, good.substr(0, good.find("GPU3\tNV4") + 12), "of 8 columns"},
           {hwloc, "Machine (16GB)", "`lstopo FILE.xml` writes one"},
           {hwloc, "<topology></topology>", "has no cuda0"},
           {simgrid, "<platform><zone><cluster id=\"c\"/></zone></platform>",
            "it.xml: <cluster> describes routes by a rule"},
           {simgrid, "<host id=\"tremblay\" speed=\"1Gf\"/>", "host 'tremblay' is not device-0"},
           {simgrid, "hello", "no two hosts with a route"}}) {
    EXPECT_THAT(refusal<std::runtime_error>([&] { one.read(one.text); }), HasSubstr(one.why));
  }
}

}  // namespace
}  // namespace fourfold::tests
