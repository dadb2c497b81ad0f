// Figures as text; see step_report.hpp.
#include "engine/train/run/step_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "support/clock_text.hpp"

namespace fourfold::inline engine::inline train::inline run {

std::string executed_flops_convention() {
  return "executed by the schedule: matrix products and attention (of a fused one the unmasked "
         "half), multiply-add counted as two";
}

KernelSeconds kernel_seconds(const Program& program, const std::vector<OpSpan>& spans) {
  KernelSeconds sums{};
  for (const OpSpan& span : spans) {
    const Op& op = program.ops[static_cast<std::size_t>(span.op)];
    if (is_posted(op.kind) || op.kind == OpKind::choose) continue;
    sums[kernel_group(op.kind, *op.function)] += span.end - span.start;
  }
  return sums;
}

double StepReport::exposed() const {
  return std::accumulate(exposed_seconds.begin(), exposed_seconds.end(), 0.0);
}

void add_ranks(StepReport& report, const std::vector<RankStep>& ranks) {
  report.seconds = 0.0;
  report.exposed_seconds.assign(report.channels.size(), 0.0);
  report.staged_bytes = 0;
  report.kernels = {};
  for (const RankStep& rank : ranks) {
    report.seconds = std::max(report.seconds, rank.seconds);
    report.staged_bytes += rank.staged_bytes;
    for (std::size_t i = 0; i < kernel_groups; ++i) {
      report.kernels[i] += rank.kernels[i] / static_cast<double>(ranks.size());
    }
    for (std::size_t i = 0; i < report.channels.size(); ++i) {
      report.exposed_seconds[i] += rank.exposed_seconds[i] / static_cast<double>(ranks.size());
    }
  }
}

std::string screen_line(const StepReport& report) {
  const double peak_part = report.rate() / report.work.peak;
  return fmt::format(
      "step {:5}  loss {}  norm {:5.3f}  {:7.1f} ms  {:7.0f} tokens/s  {:4.1f} % of peak  "
      "exposed {:5.1f} ms  {:3.0f} %, {} left",
      report.step, report.loss ? fmt::format("{:.4f}", *report.loss) : "  none",
      report.gradient_norm, report.seconds * 1e3, report.tokens_per_second(), 100.0 * peak_part,
      report.exposed() * 1e3, 100.0 * report.done, clock_text(report.seconds_left));
}

std::string json_line(const StepReport& report) {
  nlohmann::ordered_json exposed;
  for (std::size_t i = 0; i < report.channels.size(); ++i) {
    exposed[name(report.channels[i])] = report.exposed_seconds[i];
  }
  nlohmann::ordered_json kernels;
  for (std::size_t i = 0; i < kernel_groups; ++i) {
    kernels[group_key(i)] = report.kernels[i];
  }
  nlohmann::ordered_json line{{"kind", "step"},
                              {"step", report.step},
                              {"loss", nullptr},
                              {"gradient_norm", report.gradient_norm},
                              {"learning_rate", report.learning_rate},
                              {"seconds", report.seconds},
                              {"tokens_per_s", report.tokens_per_second()},
                              {"executed_flop_per_s", report.rate().value},
                              {"model_flop_per_s", report.work.model.value / report.seconds},
                              {"part_of_peak", report.rate() / report.work.peak},
                              {"kernels_s", kernels},
                              {"exposed_s", exposed},
                              {"done", report.done},
                              {"epochs", report.epochs}};
  if (report.loss) line["loss"] = *report.loss;
  if (!report.bad.empty()) line["bad"] = report.bad;
  if (report.reference_seconds > 0.0) line["reference_s"] = report.reference_seconds;
  if (report.targets) line["targets"] = *report.targets;
  if (report.staged_bytes > 0) line["staged_B"] = report.staged_bytes;
  return line.dump();
}

std::string amount(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace fourfold::inline engine::inline train::inline run
