// One estimate without each flag; see idle_flags.hpp.
#include "scaling/find/idle_flags.hpp"

#include <fmt/format.h>

#include <exception>

#include "schedule/models/model_flops.hpp"
#include "sim/estimate/estimate.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

bool same(const Estimate& one, const Estimate& other) {
  return one.outcome.total == other.outcome.total && one.outcome.compute == other.outcome.compute &&
         one.outcome.busy == other.outcome.busy && one.memory.peak == other.memory.peak;
}

Flops flops_of(const Point& point) {
  return model_flops(point.model, point.global_batch, point.options, point.grid.extent(Axis::pipe));
}

}  // namespace

std::vector<std::string> idle_flags(const Record& record, const FieldValues& typed) {
  const std::vector<FieldFacts>& facts = step_fields().facts();
  const FieldValues usual = step_fields().values({});
  Point point = record.point;
  point.what_ifs = {};
  const Platform platform = read_platform(point.platform, point.scales, point.software);
  const Estimate with = estimate_step(point, platform);
  std::vector<std::string> idle;
  for (const std::string& flag : flags_of(facts)) {
    FieldValues instead;
    bool any = false;
    for (const FieldFacts& field : facts) {
      if (field.flag != flag || field.key == "micro_batches" || !typed.contains(field.key))
        continue;
      instead[field.key] = usual.at(field.key);
      any = any || instead[field.key] != typed.at(field.key);
    }
    if (!any) continue;
    Point other = point;
    step_fields().set(other.options, instead);
    try {
      if (!same(with, estimate_step(other, platform))) continue;
      if (flops_of(other) != flops_of(point)) continue;
    } catch (const std::exception&) {
      continue;  // without it there is no such step
    }
    idle.push_back(flag + ' ' + flag_word(facts, flag, typed));
  }
  return idle;
}

std::string idle_text(const std::vector<std::string>& flags) {
  if (flags.empty()) return "";
  return wrapped(fmt::format("Without effect on this grid: {}.", fmt::join(flags, ", "))) + '\n';
}

}  // namespace fourfold::inline scaling::inline find
