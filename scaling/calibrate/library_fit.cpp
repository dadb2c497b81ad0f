// Plateaus first, then a descent; see library_fit.hpp.
#include "scaling/calibrate/library_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

#include "scaling/bars/deviations.hpp"
#include "scaling/calibrate/plateaus.hpp"
#include "scaling/calibrate/toml_edit.hpp"
#include "sim/cost/protocol.hpp"
#include "support/toml_text.hpp"

namespace fourfold::inline scaling::inline calibrate {
namespace {

constexpr double micro = 1e-6, giga = 1e9;

// A constant of the library, by its key in the file.
struct Constant {
  std::string key;
  double* value;
  double unit;
};

std::vector<Constant> constants(CollectiveLibrary& library) {
  std::vector<Constant> all{{"base_across_us", &library.base_across.value, micro},
                            {"base_in_node_us", &library.base_in_node.value, micro},
                            {"overlap_exponent", &library.overlap_exponent, 1.0}};
  const auto add = [&](const std::string& table, Protocol& protocol) {
    all.push_back({table + ".hop_across_us", &protocol.hop_across.value, micro});
    all.push_back({table + ".hop_in_node_us", &protocol.hop_in_node.value, micro});
    all.push_back({table + ".bandwidth_fraction_across", &protocol.bandwidth_fraction_across, 1.0});
    all.push_back(
        {table + ".bandwidth_fraction_in_node", &protocol.bandwidth_fraction_in_node, 1.0});
    all.push_back({table + ".tree_hop_factor", &protocol.tree_hop_factor, 1.0});
    all.push_back({table + ".tree_bandwidth_fraction", &protocol.tree_bandwidth_fraction, 1.0});
    all.push_back({table + ".ring_base_factor", &protocol.ring_base_factor, 1.0});
    all.push_back({table + ".bandwidth_exponent_across", &protocol.bandwidth_exponent_across, 1.0});
  };
  add("low_latency", library.low_latency);
  add("simple", library.simple);
  return all;
}

bool is_definition(const std::string& key) {
  return key == "simple.bandwidth_fraction_across" || key == "simple.bandwidth_fraction_in_node";
}

// Constants that these samples can say something about.
std::set<std::string> speakable(const std::vector<CollectiveSample>& samples) {
  bool in_node = false, across = false, tree = false, several = false;
  std::set<std::int64_t> widths;
  for (const CollectiveSample& one : samples) {
    (one.nodes > 1 ? across : in_node) = true;
    if (one.nodes > 1) widths.insert(one.in_each);
    tree |= one.nodes > 1 && one.kind == CollectiveKind::all_reduce;
    several |= one.in_each > 1;
  }
  std::set<std::string> keys{"overlap_exponent", "simple.ring_base_factor"};
  const auto add = [&](bool known, std::initializer_list<const char*> more) {
    if (known) keys.insert(more.begin(), more.end());
  };
  add(in_node, {"base_in_node_us", "low_latency.bandwidth_fraction_in_node"});
  add(several, {"low_latency.hop_in_node_us", "simple.hop_in_node_us"});
  add(across, {"base_across_us", "low_latency.hop_across_us", "simple.hop_across_us",
               "low_latency.bandwidth_fraction_across"});
  add(tree, {"low_latency.tree_hop_factor", "low_latency.tree_bandwidth_fraction",
             "simple.tree_hop_factor", "simple.tree_bandwidth_fraction"});
  add(widths.size() > 1, {"low_latency.bandwidth_exponent_across"});
  return keys;
}

double loss(const CollectiveLibrary& library, const std::vector<CollectiveSample>& samples) {
  double sum = 0.0;
  for (const CollectiveSample& one : samples) {
    sum += std::abs(std::log(modelled(library, one) / one.time));
  }
  return sum / static_cast<double>(samples.size());
}

// What a constant may be in a file: fractions are at most 1, the exponent at least 1.
bool allowed(const Constant& constant) {
  constexpr double least = 1e-6, most = 1e6;
  const double in_file = *constant.value / constant.unit;
  if (in_file < least || in_file > most) return false;
  const bool fraction = constant.key.find("fraction") != std::string::npos ||
                        constant.key.find("exponent_across") != std::string::npos;
  if (fraction && *constant.value > 1.0) return false;
  return constant.key != "overlap_exponent" || *constant.value >= 1.0;
}

void descend(CollectiveLibrary& library, const std::set<std::string>& keys,
             const std::vector<CollectiveSample>& samples) {
  constexpr int rounds = 60;
  constexpr double first_step = 0.2, longer = 1.3, shorter = 0.6, least = 1e-4;
  std::vector<Constant> varied = constants(library);
  std::erase_if(varied, [&](const Constant& one) { return !keys.contains(one.key); });
  std::vector<double> steps(varied.size(), first_step);
  double best = loss(library, samples);
  for (int round = 0; round<rounds&& * std::ranges::max_element(steps)> least; ++round) {
    for (std::size_t i = 0; i < varied.size(); ++i) {
      const double before = *varied[i].value;
      bool moved = false;
      for (double factor : {1.0 + steps[i], 1.0 / (1.0 + steps[i])}) {
        *varied[i].value = before * factor;
        const double tried =
            allowed(varied[i]) ? loss(library, samples) : std::numeric_limits<double>::max();
        moved = tried < best;
        if (moved) {
          best = tried;
          break;
        }
        *varied[i].value = before;
      }
      steps[i] *= moved ? longer : shorter;
    }
  }
}

std::string number(double value) {
  return fmt::format("{:.4g}", value);
}

std::string fact(const std::string& key, double value, const std::string& source, bool known) {
  return fmt::format("{} = {{ value = {}, source = {}{} }}\n", key, number(value),
                     toml_string(source), known ? "" : ", unconfirmed = true");
}

std::string row_key(const std::string& table, const Plateau& row) {
  return fmt::format("{}.{}", table, row.devices);
}

// The rows of the samples, and those of the base machine for other numbers of members and where no
// plateau was reached.
void put_plateaus(const GroupKind& kind, const std::vector<CollectiveSample>& samples,
                  const CollectiveLibrary& base, LibraryFit& fit) {
  std::vector<Plateau> rows = base.*kind.rows;
  for (const MeasuredPlateau& one : plateaus(samples, kind)) {
    const auto known = std::ranges::find(rows, one.row.devices, &Plateau::devices);
    const std::string key = row_key(kind.table, one.row);
    if (one.reached) {
      fit.chosen.push_back(key);
    } else {
      const bool alone = known == rows.end();
      fit.rising[key] = {
          fmt::format("{:.0f} bytes, the largest buffer of groups with {} member{} a node, are no "
                      "plateau yet: {:.4g} GB/s, {}",
                      one.bytes, one.row.devices, one.row.devices == 1 ? "" : "s",
                      one.row.bus_bandwidth.value / giga,
                      alone ? "which is a lower bound" : "and the rate is left " + fit.whose),
          alone};
    }
    if (known == rows.end()) {
      rows.push_back(one.row);
    } else if (one.reached) {
      *known = one.row;
    }
  }
  std::ranges::sort(rows, {}, &Plateau::devices);
  fit.library.*kind.rows = rows;
}

bool is_whole_node(const CollectiveLibrary& library, const std::string& table, const Plateau& row) {
  return table == "across_at_once" && !library.across.empty() &&
         row.devices == library.across.back().devices;
}

// Where one group has all devices of a node, none is beside it.
void put_whole_node(CollectiveLibrary& library) {
  std::vector<Plateau>& rows = library.across_at_once;
  if (rows.empty() || library.across.empty()) return;
  if (rows.back().devices < library.across.back().devices) rows.push_back(library.across.back());
}

std::string unsaid(const LibraryFit& fit) {
  return fit.whose + ": nothing that was measured says more";
}

bool is_chosen(const LibraryFit& fit, const std::string& key) {
  return std::ranges::find(fit.chosen, key) != fit.chosen.end();
}

std::string plateau_table(const LibraryFit& fit, const GroupKind& kind, const std::string& source) {
  const std::string name = kind.table;
  std::string text = fmt::format("\n[library.{}]\nsource = {}\nentries = [\n", name,
                                 toml_string(source + ", largest buffers"));
  for (const Plateau& row : fit.library.*kind.rows) {
    text += fmt::format("  {{ devices = {}, bus_bandwidth_GBps = {}", row.devices,
                        number(row.bus_bandwidth.value / giga));
    if (const std::string key = row_key(name, row); !is_chosen(fit, key)) {
      const auto rises = fit.rising.find(key);
      if (is_whole_node(fit.library, name, row) && rises == fit.rising.end()) {
        text += ", source = \"definition: a group of all devices of a node has it to itself\" },\n";
        continue;
      }
      text +=
          fmt::format(", source = {}, unconfirmed = true",
                      toml_string(rises == fit.rising.end() ? unsaid(fit) : rises->second.words));
    }
    text += " },\n";
  }
  return text + "]\n";
}

}  // namespace

Seconds modelled(const CollectiveLibrary& library, const CollectiveSample& sample) {
  const GroupShape shape{sample.nodes * sample.in_each, sample.nodes, 1};
  if (sample.at_once > 1 && library.sharing_a_node == 0) {
    CollectiveLibrary shared = library;
    shared.sharing_a_node = static_cast<int>(sample.at_once * sample.in_each);
    return modelled(shared, sample);
  }
  return choose_collective(library, sample.kind, sample.buffer, shape,
                           {std::numeric_limits<double>::max()})
      .uncontended;
}

// As platforms/machines/perlmutter.toml has them.
LibraryBase nccl_on_perlmutter() {
  CollectiveLibrary library;
  library.base_across = {19.4 * micro};
  library.base_in_node = {8.15 * micro};
  library.overlap_exponent = 1.52;
  library.low_latency = {{6.13 * micro}, {0.873 * micro}, 0.113, 0.346, 1.76, 0.0406, 1.0, 0.381};
  library.simple = {{26.7 * micro}, {12.2 * micro}, 1.0, 1.0, 1.67, 0.815, 2.48, 1.0};
  return {library, "NCCL's on Perlmutter"};
}

LibraryFit fit_library(const std::vector<CollectiveSample>& samples, const LibraryBase& base) {
  if (samples.empty()) throw std::invalid_argument("no collective was measured: nothing to fit to");
  LibraryFit fit;
  fit.library = nccl_on_perlmutter().library;
  fit.whose = base.whose;
  for (const GroupKind& kind : group_kinds()) put_plateaus(kind, samples, base.library, fit);
  put_whole_node(fit.library);
  fit.library.interference = base.library.interference;
  if (!fit.library.across_at_once.empty() && fit.library.across.empty()) {
    throw std::invalid_argument(
        "no log is of a group that has its nodes to itself, only of groups at once; give one, or "
        "--platform, whose rates then stay");
  }
  const bool enters_nodes = std::ranges::any_of(
      samples, [](const CollectiveSample& one) { return one.nodes > 1 && one.in_each > 1; });
  if (enters_nodes && fit.library.in_node.empty()) {
    throw std::invalid_argument(
        "no log is of a run inside one node, through which collectives over nodes pass, too; give "
        "one, or --platform, whose rates then stay");
  }
  // Each group has its nodes to itself, and a lone plateau holds for all widths.
  const std::set<std::string> keys = speakable(samples);
  CollectiveLibrary known = base.library;
  const std::vector<Constant> from = constants(known), to = constants(fit.library);
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (!keys.contains(to[i].key) && !is_definition(to[i].key)) *to[i].value = *from[i].value;
  }
  descend(fit.library, keys, samples);
  fit.chosen.insert(fit.chosen.begin(), keys.begin(), keys.end());
  for (const CollectiveSample& one : samples) {
    fit.mean_error += std::abs(modelled(fit.library, one) / one.time - 1.0);
  }
  fit.mean_error /= static_cast<double>(samples.size());
  return fit;
}

std::string library_toml(const LibraryFit& fit, const std::string& name,
                         const std::string& source) {
  CollectiveLibrary library = fit.library;
  std::string text = fmt::format("[library]\nname = {}\n", toml_string(name));
  std::string table;
  for (const Constant& one : constants(library)) {
    const std::size_t dot = one.key.find('.');
    const std::string of = dot == std::string::npos ? "" : one.key.substr(0, dot);
    if (of != table) {
      if (table.empty()) {
        const bool measured = !fit.interference_source.empty();
        const std::string assumed = library.interference > 0.0
                                        ? unsaid(fit)
                                        : "assumption: nothing was measured beside kernels";
        text += fact("interference", library.interference,
                     measured ? fit.interference_source : assumed, measured);
      }
      text += fmt::format("\n[library.{}]\n", of);
      table = of;
    }
    const std::string key = of.empty() ? one.key : one.key.substr(dot + 1);
    const bool defined = is_definition(one.key), known = is_chosen(fit, one.key);
    text += fact(key, *one.value / one.unit,
                 defined ? "definition: the plateaus are Simple's"
                 : known ? source
                         : unsaid(fit),
                 defined || known);
  }
  for (const GroupKind& kind : group_kinds()) {
    // What no log speaks of stays in its own words.
    const bool measured = kind.rows != &CollectiveLibrary::across_at_once ||
                          std::ranges::any_of(fit.chosen, [](const std::string& key) {
                            return key.starts_with("across_at_once.");
                          });
    if (measured && !(fit.library.*kind.rows).empty()) text += plateau_table(fit, kind, source);
  }
  return text;
}

std::string with_library(const std::string& platform, const std::string& library,
                         const KeptMeasurements& measured) {
  std::vector<std::string> kept = measured.tables;
  kept.emplace_back("in_node_by_stride");
  if (library.find("[library.across_at_once]") == std::string::npos) {
    kept.emplace_back("across_at_once");
  }
  return with_tables(platform, "library", library + measured.rows, kept);
}

}  // namespace fourfold::inline scaling::inline calibrate
