// Text of one record; see point_text.hpp.
#include "scaling/text/point_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "platforms/device_memory.hpp"
#include "scaling/records/time_parts.hpp"
#include "scaling/words/amounts.hpp"
#include "scaling/words/percents.hpp"
#include "scaling/words/text_table.hpp"
#include "scaling/words/throughput_text.hpp"
#include "schedule/models/gpt.hpp"
#include "schedule/models/model_flops.hpp"
#include "schedule/models/vocabulary.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline text {
namespace {

const char* on_or_off(bool value) {
  return value ? "on" : "off";
}

std::string phase_text(const Point& point) {
  switch (point.options.phase) {
    case Phase::training:
      return "";
    case Phase::evaluation:
      return "An evaluation: forward passes and their loss.\n";
    case Phase::prefill:
      return "A prefill: all tokens are read, their keys and values kept, one token drawn.\n";
    case Phase::decode:
      return fmt::format("A decoding step: the next token of each sequence, after {} tokens.\n",
                         point.model.sequence);
  }
  return "";
}

std::string headline(const Record& record) {
  const Point& point = record.point;
  std::string text = fmt::format(
      "{} on {} of {}\n{}\nGlobal batch {} of {} tokens, vocabulary {}.\n", point.model.name,
      counted(record.devices(), "device"), point.platform, record.platform_title,
      counted(point.global_batch, "sequence"), point.model.sequence, point.model.vocabulary);
  text += phase_text(point);
  if (!record.software.empty()) {
    text += fmt::format("Software {} (set by the {}).\n", record.software, record.software_by);
  }
  for (const auto& [key, factor] : point.scales) {
    text += fmt::format("What if: {} times {:g}.\n", key, factor);
  }
  for (const std::string& sentence : sentences(point.what_ifs, record.devices())) {
    text += wrapped(fmt::format("What if: {}.", sentence)) + '\n';
  }
  return text + '\n';
}

std::string precision_text(const StepOptions& options) {
  if (options.precision == Precision::fp32) return "fp32 throughout";
  return fmt::format("gradient reduction precision {} along z, {} along data",
                     name(options.reduce_precision_z()), name(options.reduce_precision_data()));
}

// What the published code has nothing of.
std::string further_text(const Point& point) {
  const StepOptions& options = point.options;
  std::string text;
  if (options.attention == AttentionKernel::unfused) text += "; attention unfused";
  if (options.gathers_masters()) text += "; weights gathered in fp32";
  if (options.zero > 0) text += fmt::format("; ZeRO {}", options.zero);
  if (!options.rank_order.as_numbered()) {
    text += fmt::format("; ranks lie in the order {}", options.rank_order.str());
  }
  const std::int64_t bucket = with_buckets(options, point.grid).data_bucket;
  if (bucket > 0) text += fmt::format("; along data in buckets of {} elements", bucket);
  if (options.offloads()) {
    text += fmt::format("; optimizer on the host, buckets of {} elements", options.offload_bucket);
  }
  if (options.offloads_inputs()) text += "; inputs of recomputed blocks on the host";
  if (options.sequence_parallel) text += "; sequence parallelism";
  if (point.grid.extent(Axis::pipe) == 1) return text;
  text += fmt::format(";\n  order {}{}; overlap of messages {}", name(options.order),
                      options.chunks == 1 ? "" : fmt::format(" of {} chunks", options.chunks),
                      on_or_off(options.overlap.messages));
  if (options.cuts_messages()) text += "; messages cut along x";
  if (!row_of(options.order).queue) return text;
  const std::int64_t stages = point.grid.extent(Axis::pipe);
  return text + fmt::format("; at most {} micro-batches in flight",
                            options.pipeline_limit == 0 ? stages : options.pipeline_limit);
}

// Layers that the stages do not share evenly, by chunk in the order of the model.
std::string layers_text(const Point& point) {
  const std::int64_t stages = point.grid.extent(Axis::pipe);
  const std::int64_t chunks = stages * point.options.chunks;
  const bool said = point.options.layers_per_stage.said() && stages > 1;
  if (point.model.layers % chunks == 0 && !said) return "";
  std::vector<std::string> runs;
  std::int64_t alike = 0;
  for (std::int64_t c = 0; c < chunks; ++c) {
    const auto count = [&](std::int64_t chunk) {
      const auto [first, next] = layers_of_chunk(point.model, point.options, stages, chunk);
      return next - first;
    };
    ++alike;
    if (c + 1 < chunks && count(c) == count(c + 1)) continue;
    runs.push_back(alike == 1 ? fmt::format("{}", count(c))
                              : fmt::format("{} times {}", alike, count(c)));
    alike = 0;
  }
  if (said) return wrapped(fmt::format("Layers, as given: {}.", fmt::join(runs, ", "))) + '\n';
  return wrapped(fmt::format(
             "Layers: {} are not shared evenly by {}{}: {}. The rest is assumed to lie in the "
             "middle, as the ends have the vocabulary's work; Megatron-LM takes only what its "
             "flags "
             "say.",
             point.model.layers, counted(stages, "stage"),
             point.options.chunks == 1 ? "" : fmt::format(" of {} chunks", point.options.chunks),
             fmt::join(runs, ", "))) +
         '\n';
}

// A vocabulary that is padded, or whose rows of logits fit no load of 16 bytes.
std::string vocabulary_text(const Point& point) {
  const std::int64_t x = point.grid.extent(Axis::x), vocabulary = point.model.vocabulary;
  const std::int64_t unit = point.options.pad_vocabulary;
  const std::int64_t padded = padded_vocabulary(point.model, point.options, x);
  if (unit > 1 && padded != vocabulary) {
    return wrapped(fmt::format("Vocabulary: {} padded to {}, a whole number of {} columns on each "
                               "device along x; --pad-vocabulary 0 adds none.",
                               vocabulary, padded, unit)) +
           '\n';
  }
  if (padded % (8 * x) == 0) return "";
  return wrapped(fmt::format("Vocabulary: {} over x = {} is no whole number of 8 columns, so that "
                             "products with the logits are slow; Megatron-LM would pad it: "
                             "--pad-vocabulary 128.",
                             vocabulary, x)) +
         '\n';
}

// "full", or "full of 12 of 48 layers".
std::string recompute_text(const Point& point) {
  const std::string how = name(point.options.recompute);
  const std::int64_t layers = point.model.layers;
  const std::int64_t some =
      recomputed_layers(point.model, point.options, point.grid.extent(Axis::pipe));
  if (point.options.recompute == Recompute::none || some == layers) return how;
  return how + fmt::format(" of {} of {} layers", some, layers);
}

// Of a phase that trains nothing: what is left to choose.
std::string forward_options_text(const Point& point) {
  Point forward = point;
  forward.options = forward_alone(point.options);
  const StepOptions& options = forward.options;
  return hanging(fmt::format("Options: {}; {}; overlap of all-gathers {}; weight gather {}{}.\n",
                             counted(options.micro_batches, "micro-batch"),
                             options.precision == Precision::fp32 ? "fp32 throughout" : "bf16",
                             on_or_off(options.overlap.all_gather), name(options.weight_gather),
                             further_text(forward)),
                 2);
}

std::string options_text(const Point& point) {
  if (!point.options.trains()) return forward_options_text(point);
  const StepOptions& options = point.options;
  const Overlap& overlap = options.overlap;
  const std::string further = further_text(point);
  const std::string text = fmt::format(
      "Options: {}; recompute {};\n"
      "  overlap of all-reduce {}, reduce-scatter {}, all-gather {}, recompute's gathers {}{};\n"
      "  in-flight blocks {}; weight gather {}; gradient reduction {}; data reduction {};\n"
      "  {}{}.\n",
      counted(options.micro_batches, "micro-batch"), recompute_text(point),
      on_or_off(overlap.all_reduce), on_or_off(overlap.reduce_scatter),
      on_or_off(overlap.all_gather), on_or_off(overlap.recompute_gather),
      overlap.across_blocks == overlap.recompute_gather
          ? ""
          : fmt::format(", across blocks {}", on_or_off(overlap.across_blocks)),
      options.in_flight_blocks, name(options.weight_gather), name(options.gradient_reduction),
      name(options.data_reduction), precision_text(options), further);
  return hanging(text, 2);
}

// Who set which option, of those that a system or a person had a word in.
std::string system_text(const Record& record) {
  if (record.system.empty()) return "";
  std::map<std::string, std::vector<std::string>> keys;  // by who set them
  for (const auto& [key, who] : record.set_by) keys[who].push_back(key);
  keys.erase("default");
  std::vector<std::string> parts;
  for (const auto& [who, set] : keys) {
    const std::string what = who == "system"   ? "set by the system"
                             : who == "search" ? "searched among the system's"
                                               : "set by the " + who;
    parts.push_back(fmt::format("{}: {}", what, fmt::join(set, ", ")));
  }
  parts.emplace_back("all others by default");
  return wrapped(fmt::format("System {}; {}.", record.system, fmt::join(parts, "; "))) + '\n';
}

std::string breakdown(const Record& record) {
  TextTable table;
  table.columns = {{"part of the step", "", Align::left},
                   {"seconds", ""},
                   {"% of step", ""},
                   {"sent/device", "GB"}};
  const auto add = [&](const std::string& part, Seconds seconds, const std::string& sent) {
    table.rows.push_back({part, seconds_text(seconds, record.outcome.total),
                          percent(seconds / record.outcome.total), sent});
  };
  add("compute", record.outcome.compute, "");
  const Outcome& outcome = record.outcome;
  const std::vector<TimePart> parts = time_parts(outcome);
  const auto part = [&](const char* called) {
    return std::ranges::find(parts, called, &TimePart::name)->seconds;
  };
  Bytes of_messages;
  for (std::size_t c = 0; c < outcome.channels.size(); ++c) {
    if (outcome.channels[c].axis == Axis::pipe) {
      of_messages += record.sent.at(c);
      continue;
    }
    add(fmt::format("exposed communication, {}", name(outcome.channels[c])), outcome.exposed[c],
        fmt::format("{:.2f}", record.sent.at(c).value / 1e9));
  }
  if (record.point.grid.extent(Axis::pipe) > 1) {
    add("exposed messages between stages", part("messages"),
        fmt::format("{:.2f}", of_messages.value / 1e9));
    add("pipeline bubble", outcome.bubble, "");
  }
  // Parts are means over the devices; the step ends with the last of them.
  if (part("other") > Seconds{}) add("until the last device ends", part("other"), "");
  table.rows.emplace_back();
  add("one batch", record.outcome.total, "");
  return format(table);
}

// What of the parts above is waiting, and how steps vary.
std::string variation(const Record& record) {
  if (!record.varies) return "";
  const StepSpread& varies = *record.varies;
  const Seconds total = record.seconds();
  const auto text = [total](Seconds seconds) { return seconds_text(seconds, total); };
  return wrapped(fmt::format(
      "Waiting: {} s for the slowest device, in compute, and {} s for the last members of "
      "groups, in communication. The median step takes {} s, nine of ten at most {} s "
      "(p90), 99 of 100 at most {} s (p99).\n",
      text(varies.for_slowest), text(varies.for_last), text(total), text(total * varies.p90),
      text(total * varies.p99)));
}

std::string memory_by_role(const Record& record) {
  std::vector<std::string> parts;
  for (Role role : roles_in(record.memory_by_role)) {
    parts.push_back(fmt::format("{} {:.1f} GB", name(role),
                                record.memory_by_role[static_cast<int>(role)].value / 1e9));
  }
  return wrapped(fmt::format("  At the peak: {}.", fmt::join(parts, ", "))) + '\n';
}

std::string memory_by_stage(const Record& record) {
  if (record.memory_by_stage.empty()) return "";
  std::vector<std::string> stages;
  for (Bytes bytes : record.memory_by_stage) {
    stages.push_back(fmt::format("{:.1f}", bytes.value / 1e9));
  }
  return wrapped(fmt::format("  By stage: {} GB.", fmt::join(stages, ", "))) + '\n';
}

std::string memory_of(const Record& record) {
  const std::string fits = record.chance_to_fit ? ": " + fits_text(*record.chance_to_fit) : "";
  return fmt::format("Memory per device {:.1f} GB of the {:.1f} GB that the reserve leaves{}.\n",
                     record.memory.value / 1e9, record.memory_limit.value / 1e9, fits) +
         memory_by_role(record) + memory_by_stage(record);
}

std::string cache_memory(const Record& record) {
  const Bytes cache = record.memory_by_role[static_cast<int>(Role::cache)];
  if (cache.value <= 0) return "";
  return fmt::format("  Of that {:.1f} GB are keys and values in the cache.\n", cache.value / 1e9);
}

std::string host_memory(const Record& record) {
  if (record.memory_on_host.value <= 0) return "";
  const StepOptions& options = record.point.options;
  std::string what = options.offloads() ? "optimizer state" : "";
  if (options.offloads_inputs())
    what += what.empty() ? "inputs of blocks" : " and inputs of blocks";
  return fmt::format("  On the host: {:.1f} GB of {} a device.\n",
                     record.memory_on_host.value / 1e9, what);
}

std::string search_counts(const Record& record) {
  std::string text = fmt::format("{} of grid and micro-batches tried, {} feasible",
                                 counted(record.tried, "combination"), record.feasible);
  for (const auto& [reason, count] : record.rejected) {
    text += fmt::format(", {} rejected by {}", count, reason);
  }
  text = wrapped(text + '.') + '\n';
  if (!record.simulated.empty()) {
    const std::string why = record.verdict == "settled" ? "the next estimate cannot win"
                            : record.verdict == "exhausted"
                                ? "there are no more"
                                : "the limit was reached, the next might still win";
    text += fmt::format("{} simulated: {}.", record.simulated.size(), why);
    if (record.left_out > 0) {
      text += fmt::format(" {} left out: too long to simulate.", record.left_out);
    }
    if (record.tau && record.regret) {
      text += fmt::format(
          " The estimate orders these as the simulation does to a Kendall tau of {:.2f} (1: alike, "
          "-1: the other way round); its first choice takes {:.2f} % longer, simulated, than the "
          "best (top-1 regret).",
          *record.tau, 100.0 * *record.regret);
    }
    text = wrapped(text) + '\n';
  }
  return text;
}

// The winner in the units that people compare, with its bar.
std::string best_answer(const Record& record, const std::string& effect) {
  std::string text = fmt::format("Best: {} s per batch, {}.\n", seconds_text(record.seconds()),
                                 name(record.fidelity));
  if (record.bar) text += error_bar_text(*record.bar, record.seconds());
  return text + effect + throughput_text(record.throughput()) + '\n';
}

}  // namespace

std::string point_text(const Record& record, const std::string& effect, const std::string& memory) {
  std::string text = headline(record);
  text += fmt::format("Grid {}{}, {}: {} s per batch, {}", record.point.grid.str(),
                      record.point.grid.extent(Axis::pipe) == 1 ? " (x, y, z, data)" : "",
                      counted(record.point.options.micro_batches, "micro-batch"),
                      seconds_text(record.seconds()), name(record.fidelity));
  if (simulates(record.fidelity)) {
    text += fmt::format(" (estimated {} s)", seconds_text(record.estimated, record.seconds()));
  }
  if (record.bar) text += '\n' + error_bar_text(*record.bar, record.seconds());
  text += (record.bar ? "\n" : "\n\n") + breakdown(record) + '\n' + variation(record) + effect;
  text += wrapped(fmt::format("{} of model flops ({}): {:.1f} % of the empirical peak.\n",
                              rate_text(record.rate(), petaflops),
                              model_flops_convention(record.point.model, record.point.options),
                              100.0 * record.of_empirical()));
  text +=
      rate_text(record.executed / record.seconds(), teraflops) + " per device of executed flops.\n";
  text += throughput_text(record.throughput());
  text +=
      (memory.empty() ? memory_of(record) : memory) + cache_memory(record) + host_memory(record);
  return text + layers_text(record.point) + vocabulary_text(record.point) +
         options_text(record.point) + system_text(record) + search_counts(record);
}

// Reproductions want to know what the authors' own ranking leads to.
std::string paper_choice(const Record& record) {
  const GridSeconds& choice = record.paper_choice;
  if (choice.grid.extent(Axis::pipe) > 1) return "";
  return wrapped(fmt::format(
      "The paper's model (SC24 eqs. (1)-(7): ring bytes over bandwidth, no latency, nothing "
      "hidden) ranks {} first of all that fit, with {:.2f} s of communication; estimated here at "
      "{} s per batch.\n",
      choice.grid.str(), choice.paper.value, seconds_text(choice.estimated)));
}

std::string search_text(const Record& record, const std::string& effect,
                        const std::string& memory) {
  TextTable table;
  table.columns = {{"grid", "", Align::left}, {"micro-", "batches"},        {"estimated", "s"},
                   {"simulated", "s"},        {"simulated /", "estimated"}, {"paper's", "model, s"},
                   {"", "", Align::left}};
  for (const GridSeconds& grid : record.best_grids) {
    const bool chosen =
        grid.grid == record.point.grid && grid.micro_batches == record.point.options.micro_batches;
    table.rows.push_back(
        {grid.grid.str(), fmt::to_string(grid.micro_batches),
         seconds_text(grid.estimated, record.seconds()),
         grid.simulated ? seconds_text(*grid.simulated, record.seconds()) : "-",
         grid.simulated ? fmt::format("{:.3f}", *grid.simulated / grid.estimated) : "-",
         grid.grid.extent(Axis::pipe) > 1 ? "-" : fmt::format("{:.2f}", grid.paper.value),
         chosen                                                                         ? "<- best"
         : ties(record.bar, seconds_without_what_ifs(record), seconds_of(grid, record)) ? "tie"
                                                                                        : ""});
  }
  const std::string without = record.uniform ? " (without the what-if)" : "";
  return headline(record) + "The ten best grids by estimate" + without +
         ", each with its best micro-batches:\n" + format(table) +
         (record.bar ? tie_text(*record.bar) : "") + '\n' + best_answer(record, effect) +
         (memory.empty() ? memory_of(record) : memory) + host_memory(record) +
         paper_choice(record) + search_counts(record) + options_text(record.point) +
         system_text(record);
}

}  // namespace fourfold::inline scaling::inline text
