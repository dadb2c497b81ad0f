// Section by section of both files; see machine_file.hpp.
#include "scaling/calibrate/machine_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>

#include "platforms/software.hpp"
#include "scaling/bars/deviations.hpp"
#include "scaling/calibrate/library_fit.hpp"
#include "support/prose.hpp"
#include "support/toml_text.hpp"

namespace fourfold::inline scaling::inline calibrate {
namespace {

using Operations = std::vector<MeasuredOperation>;
using Test = std::function<bool(const MeasuredOperation&)>;

constexpr double tera = 1e12, giga = 1e9, micro = 1e-6, nano = 1e-9;

Operations those(const Operations& all, const Test& test) {
  Operations found;
  std::ranges::copy_if(all, std::back_inserter(found), test);
  return found;
}

Operations of_kind(const Operations& all, const std::string& kind) {
  Operations found = those(all, [&](const MeasuredOperation& one) { return one.is(kind); });
  if (found.empty()) {
    throw std::runtime_error("no " + kind +
                             " is among the measurements; `fourfold calibrate` goes on "
                             "with what is missing");
  }
  return found;
}

std::string number(double value) {
  return fmt::format("{:.4g}", value);
}

std::string fact(const std::string& key, double value, const std::string& source) {
  return fmt::format("{} = {{ value = {}, source = {} }}\n", key, number(value),
                     toml_string(source));
}

std::string assumed(const std::string& key, double value, const std::string& source) {
  return fmt::format("{} = {{ value = {}, source = {}, unconfirmed = true }}\n", key, number(value),
                     toml_string(source));
}

std::string list(const std::string& table, const std::string& source,
                 const std::vector<std::string>& rows) {
  std::string text = fmt::format("\n[{}]\nsource = {}\nentries = [\n", table, toml_string(source));
  for (const std::string& row : rows) text += "  { " + row + " },\n";
  return text + "]\n";
}

double rate_of(const MeasuredOperation& product) {
  return 2.0 * static_cast<double>(product.whole("m")) * static_cast<double>(product.whole("k")) *
         static_cast<double>(product.whole("n")) / product.seconds;
}

// A launch: what is left of the shortest operations.
Operations tiny_maps(const Operations& all) {
  return those(of_kind(all, "operation"),
               [](const MeasuredOperation& one) { return one.word("size") == "tiny"; });
}

double launch_seconds(const Operations& all) {
  std::vector<double> times;
  for (const MeasuredOperation& one : tiny_maps(all)) times.push_back(one.seconds);
  return quantile(times, 0.5);
}

double bytes_per_second(const MeasuredOperation& copy) {
  return 2.0 * static_cast<double>(copy.whole("bytes")) / copy.seconds;
}

MeasuredOperation copy_of(const Operations& all, bool in_memory) {
  const Operations copies = of_kind(all, "copy");
  const auto bytes = [](const MeasuredOperation& one) { return one.whole("bytes"); };
  return in_memory ? std::ranges::max(copies, {}, bytes) : std::ranges::min(copies, {}, bytes);
}

std::string processor_table(const Operations& all, const MachineFacts& facts) {
  const Operations products = of_kind(all, "product");
  const MeasuredOperation fma = of_kind(all, "fma").front();
  const MeasuredOperation best = std::ranges::max(products, {}, rate_of);
  const auto share = facts.memory_bytes / static_cast<double>(2 * facts.cores);
  const Operations attention = of_kind(all, "attention");
  const auto fastest = [&](const char* name) {
    double rate = 0.0;
    for (const MeasuredOperation& one : attention) {
      if (one.word("name") == name) {
        rate = std::max(rate, one.what.at("flops").get<double>() / one.seconds);
      }
    }
    return rate;
  };
  std::string text =
      fmt::format("\n[processor]\nname = {}\n", toml_string(facts.processor + ", a rank"));
  const double peak = std::max(1.0 / fma.seconds, rate_of(best));
  text += fact("advertised_peak_Tflops", peak / tera,
               source_of(fma) + ": fp32 multiply-adds, or the fastest product if that is more");
  text += fact("empirical_peak_Tflops", rate_of(best) / tera,
               fmt::format("{}: {} {}x{}x{}, fp32", source_of(best), best.word("form"),
                           best.whole("m"), best.whole("k"), best.whole("n")));
  for (const char* layout : {"nt", "tn"}) {
    text += fact(fmt::format("layout_penalty_{}", layout), 1.0,
                 "definition: processor.products has every form");
  }
  text += fact("attention_forward_Tflops", fastest("forward") / tera, source_of(attention));
  text += fact("attention_backward_Tflops", fastest("backward") / tera, source_of(attention));
  text += fact("memory_GB", share / giga,
               "the operating system: all of it, shared by two ranks a core");
  text += assumed("usable_memory", 0.85, "assumption: the system and libraries need the rest");
  const MeasuredOperation copy = copy_of(all, true);
  text += fact("memory_bandwidth_GBps", bytes_per_second(copy) / giga,
               source_of(copy) + ": a copy, read and written");
  text += fact("launch_overhead_us", launch_seconds(all) / micro,
               source_of(tiny_maps(all)) + ": operations on hardly any elements, the median");
  return text;
}

// What a collective beside kernels costs, of its time alone. Ranks compute and move bytes with the
// same core, so that waiting is all that can be hidden.
double beside_kernels(const Operations& all, std::int64_t ranks) {
  const auto seconds = [&](const char* name) {
    for (const MeasuredOperation& one : all) {
      if (one.is("overlap") && one.whole("ranks") == ranks && one.word("name") == name) {
        return one.seconds;
      }
    }
    throw std::runtime_error(
        fmt::format("no all-reduce beside a product was measured on {} ranks yet", ranks));
  };
  return (seconds("both") - seconds("product")) / seconds("all-reduce");
}

// With equal losses a of both: a / (1 - a) is that cost.
double interference(double cost) {
  return std::clamp(cost / (1.0 + cost), 0.0, 0.5);
}

std::string product_tables(const Operations& all) {
  const Operations products = of_kind(all, "product");
  std::vector<std::string> cubes, rows;
  for (const MeasuredOperation& one : products) {
    const std::int64_t m = one.whole("m"), k = one.whole("k"), n = one.whole("n");
    const std::string rate = number(rate_of(one) / tera);
    rows.push_back(fmt::format("form = {}, m = {}, k = {}, n = {}, rate_Tflops = {}",
                               toml_string(one.word("form")), m, k, n, rate));
    if (m == k && k == n && one.word("form") == "NN") {
      cubes.push_back(fmt::format("size = {}, rate_Tflops = {}", m, rate));
    }
  }
  const std::string source = source_of(products) + ": fp32, the engine's kernels";
  return list("processor.gemm", source, cubes) + list("processor.products", source, rows);
}

std::string attention_table(const Operations& all) {
  const Operations attention = of_kind(all, "attention");
  std::map<std::int64_t, std::map<std::string, double>> rates;
  for (const MeasuredOperation& one : attention) {
    rates[one.whole("sequence")][one.word("name")] =
        one.what.at("flops").get<double>() / one.seconds / tera;
  }
  std::vector<std::string> rows;
  for (const auto& [sequence, of] : rates) {
    rows.push_back(fmt::format("sequence = {}, forward_Tflops = {}, backward_Tflops = {}", sequence,
                               number(of.at("forward")), number(of.at("backward"))));
  }
  return list("processor.attention", source_of(attention) + ": heads of 64 columns, fp32", rows);
}

// Mean of logarithms over the kernels, by ranks, over all cores busy: CPU time for the same work,
// of which ranks on a core get equal shares. Products count three times: most of a step is theirs.
std::string node_tables(const Operations& all, const MachineFacts& facts) {
  const Operations crowd = of_kind(all, "crowd");
  std::map<std::int64_t, double> logarithms;
  std::map<std::int64_t, double> kernels;
  for (const MeasuredOperation& one : crowd) {
    for (const MeasuredOperation& alone : crowd) {
      if (alone.word("name") != one.word("name") || alone.whole("ranks") != facts.cores) continue;
      const double on_a_core =
          std::max(1.0, static_cast<double>(one.whole("ranks")) / static_cast<double>(facts.cores));
      const double weight = one.word("name") == "product" ? 3.0 : 1.0;
      logarithms[one.whole("ranks")] += weight * std::log(one.seconds / alone.seconds * on_a_core);
      kernels[one.whole("ranks")] += weight;
    }
  }
  const std::int64_t devices = 2 * facts.cores;
  if (!kernels.contains(facts.cores) || !kernels.contains(devices)) {
    throw std::runtime_error(fmt::format(
        "kernels on {} and on {} ranks at once are not measured yet", facts.cores, devices));
  }
  std::vector<std::string> rows;
  for (const auto& [ranks, sum] : logarithms) {
    rows.push_back(fmt::format("devices = {}, slowdown = {}", ranks,
                               number(std::exp(sum / kernels.at(ranks)))));
  }
  const MeasuredOperation copy = copy_of(all, false);
  std::string text = "\n[node]\n";
  text += fact("devices", static_cast<double>(devices), "definition: ranks, at most two a core");
  const double port = bytes_per_second(copy) / giga;
  const std::string of_port =
      source_of(copy) + ": a copy in a core's caches, which no message beats";
  text += fact("switch_port_GBps", port, of_port);
  text += list("node.crowding",
               source_of(crowd) +
                   ": CPU time of a product and a map, of which ranks on a core get equal shares",
               rows);
  std::string all_devices;
  for (std::int64_t device = 0; device < devices; ++device) {
    all_devices += fmt::format("{}{}", device == 0 ? "" : ", ", device);
  }
  // On a crossbar all messages go through these.
  return text +
         list("node.nics", of_port,
              {fmt::format("devices = [{}], bandwidth_GBps = {}", all_devices, number(port))});
}

std::string measured_table(const Operations& all, const MachineFacts& facts) {
  Operations collectives = of_kind(all, "collective");
  const auto order = [](const MeasuredOperation& one) {
    return std::tuple(one.word("name"), one.whole("members"), one.whole("ranks"),
                      one.whole("bytes"));
  };
  std::ranges::sort(collectives, {}, order);
  std::vector<std::string> rows;
  // Ranks that share a core come to a collective one after the other when they have computed.
  const double crowded = std::max(1.0, beside_kernels(all, 2 * facts.cores));
  double least = 0.0;  // more bytes take no less
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const MeasuredOperation& one = collectives[i];
    const bool same = i > 0 && one.word("name") == collectives[i - 1].word("name") &&
                      one.whole("members") == collectives[i - 1].whole("members") &&
                      one.whole("ranks") == collectives[i - 1].whole("ranks");
    const double seconds = one.seconds * (one.whole("ranks") > facts.cores ? crowded : 1.0);
    least = same ? std::max(least, seconds) : seconds;
    rows.push_back(fmt::format("kind = {}, members = {}, devices = {}, bytes = {}, time_us = {}",
                               toml_string(one.word("name")), one.whole("members"),
                               one.whole("ranks"), one.whole("bytes"), number(least / micro)));
  }
  return list("library.measured",
              source_of(collectives) +
                  fmt::format("; with two ranks a core x {:.2f}, as beside a product", crowded),
              rows);
}

}  // namespace

std::vector<CollectiveSample> collective_samples(const Operations& all) {
  std::vector<CollectiveSample> samples;
  for (const MeasuredOperation& one : of_kind(all, "collective")) {
    if (one.whole("members") != one.whole("ranks")) continue;
    if (const auto kind = kind_named(one.word("name"), around_rows)) {
      samples.push_back({*kind,
                         1,
                         one.whole("members"),
                         {static_cast<double>(one.whole("bytes"))},
                         {one.seconds}});
    }
  }
  return samples;
}

std::string machine_toml(const Operations& all, const MachineFacts& facts) {
  const Operations collectives = of_kind(all, "collective");
  std::string text = fmt::format(
      "# This machine, measured operation by operation by `fourfold calibrate`. A device is a "
      "rank; "
      "rates are\n# those with a rank on every core.\n"
      "title = {}\n",
      toml_string(fmt::format("{} of {}, measured by fourfold calibrate on {}",
                              counted(facts.cores, "core"), facts.processor,
                              of_kind(all, "fma").front().date)));
  text += fact("nodes", 1, "definition: this machine alone");
  text += fmt::format("software = {}\n", toml_string(facts.software));
  const Operations overlap = those(of_kind(all, "overlap"), [&](const MeasuredOperation& one) {
    return one.whole("ranks") == std::max<std::int64_t>(facts.cores, 2);
  });
  const double lost = interference(beside_kernels(all, std::max<std::int64_t>(facts.cores, 2)));
  text += processor_table(all, facts);
  const std::string beside = source_of(overlap) +
                             ": products and an all-reduce, alone and at once; kernels and "
                             "collectives lose equal shares";
  text += fact("interference", lost, beside);
  text += product_tables(all) + attention_table(all) + node_tables(all, facts);
  text += "\n[network]\nkind = \"crossbar\"\nprivate_port_per_lane = true\n\n";

  LibraryFit fit = fit_library(collective_samples(all));
  fit.library.interference = lost;
  fit.interference_source = beside;
  const std::string transport = collectives.front().word("transport");
  text +=
      library_toml(fit,
                   transport == "auto" ? "Fourfold's ring, window or MPI, for each size the fastest"
                                       : fmt::format("Fourfold's {} over MPI", transport),
                   source_of(collectives));
  const std::string nowhere = "definition: nothing leaves this machine, which is one node";
  text += list("library.across", nowhere,
               {"devices = 1, bus_bandwidth_GBps = 1",
                fmt::format("devices = {}, bus_bandwidth_GBps = 1", 2 * facts.cores)});
  return text + measured_table(all, facts);
}

std::string software_toml(const Operations& all, const MachineFacts& facts) {
  const Operations operations = of_kind(all, "operation");
  const double launch = launch_seconds(all);
  std::string text = fmt::format(
      "# What the engine's kernels take on {}, by element of their first operand, in fp32.\n"
      "title = {}\n"
      "attention = {{ kernel = \"flash-2\", source = \"engine/cpu/attention_kernels.cpp: blocks of "
      "scores, recomputed backward\" }}\n"
      "products = {{ layouts = \"tuned\", source = \"the machine's file has every form\" }}\n"
      "dispatch_us = {{ value = 0, source = \"definition: it is in launch_overhead_us\" }}\n\n"
      "[maps]\n",
      facts.processor,
      toml_string("Fourfold's engine, measured by fourfold calibrate on " +
                  operations.front().date));
  for (const std::string& name : known_maps()) {
    Operations of = those(operations, [&](const MeasuredOperation& one) {
      const std::string said = one.word("name");
      return said.substr(0, said.find(' ')) == name && one.word("size") != "tiny";
    });
    if (of.empty()) continue;
    // Between a size that stays in a core's caches and one that does not.
    double sum = 0.0;
    for (const MeasuredOperation& one : of) {
      sum += std::max(one.seconds - launch, 0.01 * one.seconds) /
             static_cast<double>(one.whole("elements"));
    }
    text += fmt::format("{} = {{ kernels = [\"{} ns\"], source = {} }}\n", name,
                        number(sum / static_cast<double>(of.size()) / nano),
                        toml_string(source_of(of)));
  }
  return text;
}

}  // namespace fourfold::inline scaling::inline calibrate
