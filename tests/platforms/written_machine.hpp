// A machine file put together of its parts, each of which a test may write anew: four devices
// behind a switch with two unequal NICs, on a fat tree.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/platforms/platform_files.hpp"

namespace fourfold::tests {

// "{ value = 3, source = "made up" }".
inline std::string number(const std::string& value) {
  return "{ value = " + value + ", source = \"made up\" }";
}

// The table of a list.
inline std::string list(const std::string& path, const std::string& rows) {
  return "[" + path + "]\nsource = \"made up\"\nentries = [" + rows + "]\n";
}

struct WrittenMachine {
  std::string title = "written";
  std::string nodes = "12";
  std::string top;  // further lines before the first table
  std::string gemm =
      "{ size = 500, rate_Tflops = 40 }, { size = 2000, rate_Tflops = 100 }, "
      "{ size = 4000, rate_Tflops = 150 }";
  std::string processor;  // further lines of the table
  std::string devices = "4";
  std::string node = "switch_port_GBps = " + number("100") + "\n";
  std::string links;
  std::string nics =
      "{ devices = [0, 2, 3], bandwidth_GBps = 20 }, { devices = [1], bandwidth_GBps = 30 }";
  std::string network = "kind = \"fat-tree\"\nlink_bandwidth_GBps = " + number("40") +
                        "\nrails = " + number("2") + "\n" +
                        list("network.tiers",
                             "{ tier = 1, members = 3, oversubscription = 1.5 }, "
                             "{ tier = 2, members = 4 }");
  std::string overlap = "1.25";
  std::string simple;  // further lines of the table
  std::string across =
      "{ devices = 1, bus_bandwidth_GBps = 18 }, { devices = 4, bus_bandwidth_GBps = 45 }";
  std::string in_node =
      "{ devices = 2, bus_bandwidth_GBps = 80 }, { devices = 4, bus_bandwidth_GBps = 90 }";
  std::string others;  // further tables

  std::string text() const {
    const auto protocol = [](const std::string& name, const std::string& hop) {
      return "[library." + name + "]\nhop_across_us = " + number(hop) +
             "\nhop_in_node_us = " + number(hop + "1") +
             "\nbandwidth_fraction_across = " + number("0.9") +
             "\nbandwidth_fraction_in_node = " + number("0.95") +
             "\ntree_hop_factor = " + number("1.5") +
             "\ntree_bandwidth_fraction = " + number("0.8") + "\n";
    };
    return "title = \"" + title + "\"\nnodes = " + number(nodes) + "\n" + top +
           "[processor]\nname = \"device\"\nadvertised_peak_Tflops = " + number("200") +
           "\nempirical_peak_Tflops = " + number("160") +
           "\nlayout_penalty_nt = " + number("1.25") + "\nlayout_penalty_tn = " + number("1.1") +
           "\nattention_forward_Tflops = " + number("100") +
           "\nattention_backward_Tflops = " + number("80") + "\nmemory_GB = " + number("64") +
           "\nusable_memory = " + number("0.8") + "\nmemory_bandwidth_GBps = " + number("1000") +
           "\nlaunch_overhead_us = " + number("3") + "\ninterference = " + number("0.1") + "\n" +
           processor + list("processor.gemm", gemm) + "[node]\ndevices = " + number(devices) +
           "\n" + node + (links.empty() ? "" : list("node.links", links)) +
           list("node.nics", nics) + "[network]\n" + network +
           "[library]\nname = \"NCCL\"\nbase_across_us = " + number("20") +
           "\nbase_in_node_us = " + number("10") + "\ninterference = " + number("0.5") +
           "\noverlap_exponent = " + number(overlap) + "\n" + protocol("low_latency", "4") +
           protocol("simple", "25") + simple + list("library.across", across) +
           (in_node.empty() ? "" : list("library.in_node", in_node)) + others;
  }

  std::string path() const { return scratch_file(text(), "written.toml"); }
  Platform read(const Scales& scales = {}, const std::string& software = {}) const {
    return read_platform(path(), scales, software);
  }
  // The sentence after "path: " or "path:line: ".
  std::string said(const Scales& scales = {}) const {
    const std::string file = path();
    std::string sentence = refusal(file, scales);
    if (sentence.starts_with(file)) sentence = sentence.substr(sentence.find(": ") + 2);
    return sentence;
  }
};

inline constexpr const char* accepted = "(accepted)";

// What a machine hears whose part has this text.
inline std::string with(std::string WrittenMachine::*part, const std::string& text) {
  WrittenMachine machine;
  machine.*part = text;
  return machine.said();
}

// A text at an edge, and a piece of what is said to it: nothing where it is taken.
struct Edge {
  std::string text, words;
};

inline void expect_edges(const std::function<std::string(const std::string& text)>& said,
                         const std::vector<Edge>& edges) {
  for (const auto& [text, words] : edges) {
    const std::string sentence = said(text);
    if (words.empty()) {
      EXPECT_EQ(sentence, accepted) << text;
    } else {
      EXPECT_NE(sentence.find(words), std::string::npos) << text << " hears: " << sentence;
    }
  }
}

inline void expect_edges(std::string WrittenMachine::*part, const std::vector<Edge>& edges) {
  expect_edges([part](const std::string& text) { return with(part, text); }, edges);
}

}  // namespace fourfold::tests
