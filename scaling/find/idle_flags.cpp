// One estimate without each flag, and where a simulation answered what it says; see idle_flags.hpp.
#include "scaling/find/idle_flags.hpp"

#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <functional>

#include "scaling/find/find_answer.hpp"
#include "schedule/fold/print.hpp"
#include "schedule/fold/short_folds.hpp"
#include "schedule/models/model_flops.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "sim/conditions/conditions.hpp"
#include "sim/estimate/estimate.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

bool estimated_alike(const Estimate& one, const Estimate& other) {
  return one.outcome.total == other.outcome.total && one.outcome.compute == other.outcome.compute &&
         one.outcome.busy == other.outcome.busy && one.memory.peak == other.memory.peak;
}

Flops flops_of(const Point& point) {
  return model_flops(point.model, point.global_batch, point.options, point.grid.extent(Axis::pipe));
}

// Up to so many units of work a simulation is done again, which takes a second or two.
constexpr std::int64_t quick_work = 50'000'000;

std::vector<Folded> program_of(const Point& point) {
  return folded_stages(point.model, in_effect(point.options, point.grid),
                       point.grid.extent(Axis::pipe));
}

// Whether the simulation would have answered the same: surely where each device does the same, and
// else only by another one.
bool simulated_alike(const Record& record, const Point& other, const Platform& platform) {
  const std::vector<std::int64_t> devices = mapping_of(record.point, platform).devices;
  const bool alike = devices == mapping_of(other, platform).devices;
  if (alike && program_of(record.point) == program_of(other)) return true;
  if (!record.replay || record.replay->work > quick_work) return false;
  std::vector<std::string> arguments;
  if (record.fidelity != Fidelity::simulated) arguments = {"--fidelity", name(record.fidelity)};
  const Outcome without = simulate(other, arguments, [](double) {}).outcome;
  const auto same = [](Seconds a, Seconds b) { return std::abs((a - b).value) <= 1e-9 * a.value; };
  return same(record.outcome.total, without.total) && same(record.outcome.compute, without.compute);
}

// Of the flags that were typed and say what is not usual those without which `options` do the same.
// Where there is no such step, `same` throws.
std::vector<std::string> idle_of(const StepOptions& options, const FieldValues& typed,
                                 const std::function<bool(const StepOptions& without)>& same) {
  const std::vector<FieldFacts>& facts = step_fields().facts();
  const FieldValues usual = step_fields().values({});
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
    StepOptions without = options;
    step_fields().set(without, instead);
    try {
      if (!same(without)) continue;
    } catch (const std::exception&) {
      continue;
    }
    idle.push_back(flag + ' ' + flag_word(facts, flag, typed));
  }
  return idle;
}

}  // namespace

std::vector<std::string> idle_flags(const Record& record, const FieldValues& typed) {
  Point point = record.point;  // as estimates take it
  point.what_ifs = {};
  point.what_ifs.collective = record.point.what_ifs.collective;
  const Platform platform = read_platform(point.platform, point.scales, point.software);
  const Estimate with = estimate_step(point, platform);
  return idle_of(point.options, typed, [&](const StepOptions& without) {
    Point other = point;
    other.options = without;
    if (!estimated_alike(with, estimate_step(other, platform))) return false;
    if (flops_of(other) != flops_of(point)) return false;
    other.what_ifs = record.point.what_ifs;
    return !simulates(record.fidelity) || simulated_alike(record, other, platform);
  });
}

std::vector<std::string> idle_flags(const Model& model, const StepOptions& options,
                                    const FieldValues& typed) {
  const std::string with = print_program(model, options);
  return idle_of(options, typed,
                 [&](const StepOptions& without) { return print_program(model, without) == with; });
}

std::string idle_text(const std::vector<std::string>& flags, const std::string& on) {
  if (flags.empty()) return "";
  return wrapped(fmt::format("Without effect on this {}: {}.", on, fmt::join(flags, ", "))) + '\n';
}

}  // namespace fourfold::inline scaling::inline find
