// One estimate for each other value; see granted.hpp.
#include "scaling/find/granted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "schedule/models/fit.hpp"
#include "sim/estimate/estimate.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

using Way = std::function<void(Point&)>;

struct Other {
  std::string what;
  std::vector<Way> ways;  // to have it, of which the fastest that fits counts
};

// In as many micro-batches, and in equal ones, where their number goes along.
std::vector<Way> of_batch(const Point& now, std::int64_t sequences) {
  const Way in_as_many = [sequences](Point& p) { p.global_batch = sequences; };
  const std::int64_t parts = now.options.micro_batches * sequences / now.global_batch;
  if (parts == 0 || parts * now.global_batch != now.options.micro_batches * sequences) {
    return {in_as_many};
  }
  return {in_as_many, [=](Point& p) {
            in_as_many(p);
            p.options.micro_batches = parts;
          }};
}

std::vector<Other> others(const Record& record, const Platform& platform) {
  std::vector<Other> all;
  const Point& point = record.point;
  if (point.global_batch % 2 == 0) {
    all.push_back({"half the batch", of_batch(point, point.global_batch / 2)});
  }
  all.push_back({"twice the batch", of_batch(point, 2 * point.global_batch)});
  if (point.model.sequence % 2 == 0) {
    // As many tokens a step: where one of each sequence is decoded, as many sequences.
    all.push_back({fmt::format("sequences of {} tokens", point.model.sequence / 2), {[](Point& p) {
                     p.model.sequence /= 2;
                     if (p.options.phase != Phase::decode) p.global_batch *= 2;
                   }}});
  }
  for (const Precision precision : {Precision::bf16, Precision::fp8, Precision::fp32}) {
    const bool known = precision != Precision::fp8 || !platform.processor.gemm_fp8.empty();
    if (precision == point.options.precision || !known) continue;
    all.push_back({name(precision), {[precision](Point& p) { p.options.precision = precision; }}});
  }
  if (record.software_by != "machine") return all;
  for (const char* software : {"megatron-core", "pytorch-fsdp", "torchtune-eager"}) {
    if (software == record.software) continue;
    all.push_back({fmt::format("software {}", software), {[software](Point& p) {
                     p.software = software;
                     const Platform with = read_platform(p.platform, p.scales, software);
                     if (with.software.attention == AttentionSoftware::unfused) {
                       p.options.attention = AttentionKernel::unfused;
                     }
                   }}});
  }
  return all;
}

double tokens(const Point& point) {
  return static_cast<double>(point.global_batch) *
         static_cast<double>(tokens_of_sequence(point.model, point.options));
}

}  // namespace

std::vector<Granted> granted_changes(const Record& record) {
  Point uniform = record.point;
  uniform.what_ifs = {};
  const Platform platform = read_platform(uniform.platform, uniform.scales, uniform.software);
  const double before = estimate_step(uniform, platform).outcome.total.value / tokens(uniform);
  std::vector<Granted> changes;
  for (const Other& other : others(record, platform)) {
    std::optional<double> least;  // seconds of a token
    for (const Way& way : other.ways) {
      Point point = uniform;
      try {
        way(point);
        const Estimate estimate =
            estimate_step(point, read_platform(point.platform, point.scales, point.software));
        if (estimate.memory.peak > record.memory_limit) continue;
        const double one = estimate.outcome.total.value / tokens(point);
        least = std::min(one, least.value_or(one));
      } catch (const std::exception&) {
        continue;  // the grid or the machine does not take it
      }
    }
    if (least) changes.push_back({other.what, *least / before - 1.0});
  }
  return changes;
}

namespace {

constexpr double usual_tie = 0.05;

// "+3 %", and 0 without a sign.
std::string change_text(double change) {
  const double percent = std::round(100.0 * change);
  return percent == 0.0 ? "0 %" : fmt::format("{:+.0f} %", percent);
}

}  // namespace

bool matters(const Granted& one, const Record& record) {
  const double tie = record.bar ? record.bar->tie : usual_tie;
  return std::max(1.0 + one.change, 1.0 / (1.0 + one.change)) - 1.0 >= tie;
}

nlohmann::json granted_json(const Record& record) {
  nlohmann::json list = nlohmann::json::array();
  for (const Granted& one : granted_changes(record)) {
    list.push_back({{"what", one.what}, {"change", one.change}, {"matters", matters(one, record)}});
  }
  return list;
}

std::string granted_text(const std::vector<Granted>& changes, const Record& record) {
  std::vector<std::string> much, little;
  for (const Granted& one : changes) {
    (matters(one, record) ? much : little)
        .push_back(fmt::format("{} ({})", one.what, change_text(one.change)));
  }
  const std::string than = record.bar ? "a tie" : change_text(usual_tie).substr(1);
  if (much.empty() && little.empty()) return "";
  std::string text = " On this grid, by estimate,";
  if (!much.empty()) {
    text += fmt::format(" the seconds of a token would change by more than {} with {}", than,
                        fmt::join(much, ", "));
  }
  if (!little.empty()) {
    text += much.empty()
                ? fmt::format(" the seconds of a token would change by less than {} with {}", than,
                              fmt::join(little, ", "))
                : fmt::format("; by less with {}", fmt::join(little, ", "));
  }
  return text + '.';
}

}  // namespace fourfold::inline scaling::inline find
