// Writes and reads baselines; see baseline.hpp.
#include "bench/regress/baseline.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/regress/suite.hpp"
#include "support/json_object.hpp"

namespace fourfold {

const char* name(Scale scale) {
  constexpr std::array names{"fma-peak", "absolute", "exact"};
  return names[static_cast<std::size_t>(scale)];
}

Scale scale_named(const std::string& text) {
  for (Scale scale : {Scale::fma_peak, Scale::absolute, Scale::exact}) {
    if (text == name(scale)) return scale;
  }
  throw std::invalid_argument("no scale is called " + text);
}

double lower_bound(Scale scale, double spread) {
  if (scale == Scale::exact) return 0.0;
  if (scale == Scale::fma_peak) return -std::clamp(spread, 0.06, 0.075);
  return -std::clamp(2.0 * spread, 0.15, 0.6);
}

Baseline baseline_of(const std::vector<MachineRun>& runs) {
  MachineRun best = runs.at(0);
  for (const MachineRun& run : runs) best = better_of(best, run);
  Baseline baseline;
  baseline.fma_peak = best.fma_peak;
  baseline.ranks = static_cast<std::int64_t>(best.ranks.size());
  for (std::size_t i = 0; i < best.metrics.size(); ++i) {
    const Metric& quantity = best.metrics[i];
    double worst = quantity.judged;
    for (const MachineRun& run : runs) worst = std::min(worst, run.metrics[i].judged);
    const double lower = lower_bound(quantity.scale, 1.0 - worst / quantity.judged);
    baseline.metrics.push_back({quantity.name,
                                quantity.scale,
                                {quantity.value, lower, -lower, quantity.unit},
                                quantity.judged,
                                quantity.samples});
  }
  return baseline;
}

std::string to_json(const Baseline& baseline) {
  nlohmann::ordered_json references = nlohmann::ordered_json::array();
  for (const BaselineMetric& quantity : baseline.metrics) {
    references.push_back({{"name", quantity.name},
                          {"value", quantity.reference.value},
                          {"lower", quantity.reference.lower},
                          {"upper", quantity.reference.upper},
                          {"unit", quantity.reference.unit},
                          {"scale", name(quantity.scale)},
                          {"on_scale", quantity.judged},
                          {"samples_on_scale", quantity.samples}});
  }
  return nlohmann::ordered_json{
             {"kind", "fourfold regress baseline"},  {"provenance", json_of(baseline.provenance)},
             {"kernels", baseline.libraries},        {"ranks", baseline.ranks},
             {"fma_peak_Gflops", baseline.fma_peak}, {"references", references}}
             .dump(1) +
         "\n";
}

Baseline baseline_from_json(const std::string& text, const std::string& where) {
  const nlohmann::json value = parse_json(text, where);
  JsonObject object(value, where);
  object.one_of("kind", {"fourfold regress baseline"});
  Baseline baseline;
  baseline.provenance = read_provenance(object.get("provenance"));
  baseline.libraries = object.text("kernels");
  baseline.ranks = object.positive("ranks");
  baseline.fma_peak = object.number("fma_peak_Gflops");
  for (const nlohmann::json& one : object.get("references")) {
    JsonObject reference(one, where + ": references");
    BaselineMetric quantity;
    quantity.name = reference.text("name");
    quantity.scale = scale_named(reference.one_of(
        "scale", {name(Scale::fma_peak), name(Scale::absolute), name(Scale::exact)}));
    quantity.reference = {reference.number("value"), reference.number("lower"),
                          reference.number("upper"), reference.text("unit")};
    quantity.judged = reference.number("on_scale");
    for (const nlohmann::json& sample : reference.get("samples_on_scale")) {
      if (!sample.is_number()) reference.fail("samples_on_scale must be numbers");
      quantity.samples.push_back(sample.get<double>());
    }
    reference.finish();
    if (quantity.reference.lower > 0 || quantity.reference.upper < 0) {
      reference.fail(quantity.name + ": lower must be 0 or less, upper 0 or more");
    }
    if (quantity.judged <= 0) reference.fail(quantity.name + ": on_scale must be above 0");
    baseline.metrics.push_back(std::move(quantity));
  }
  object.finish();
  return baseline;
}

}  // namespace fourfold
