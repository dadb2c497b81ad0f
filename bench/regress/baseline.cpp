// Writes and reads baselines; see baseline.hpp.
#include "bench/regress/baseline.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/json_object.hpp"

namespace fourfold::inline bench::inline regress {

const char* name(Scale scale) {
  constexpr std::array names{"own-product", "absolute", "traffic", "exact"};
  return names[static_cast<std::size_t>(scale)];
}

Scale scale_named(const std::string& text) {
  for (Scale scale : {Scale::own_product, Scale::absolute, Scale::traffic, Scale::exact}) {
    if (text == name(scale)) return scale;
  }
  throw std::invalid_argument("no scale is called " + text);
}

double lower_bound(Scale scale, double spread) {
  if (scale == Scale::exact) return 0.0;
  if (scale == Scale::own_product) return -std::clamp(spread, 0.06, 0.075);
  return -std::clamp(2.0 * spread, scale == Scale::traffic ? 0.5 : 0.2, 0.6);
}

Baseline baseline_of(const std::vector<MachineRun>& runs) {
  Baseline baseline;
  Sample peaks;
  for (const MachineRun& run : runs) peaks.push_back(run.fma_peak);
  baseline.fma_peak = median(peaks);
  baseline.ranks = static_cast<std::int64_t>(runs.at(0).ranks.size());
  for (std::size_t i = 0; i < runs[0].metrics.size(); ++i) {
    std::vector<const Metric*> measured;
    for (const MachineRun& run : runs) measured.push_back(&run.metrics[i]);
    std::sort(measured.begin(), measured.end(),
              [](const Metric* a, const Metric* b) { return a->judged < b->judged; });
    const Metric& quantity = *measured[measured.size() / 2];
    const double spread = 1.0 - measured.front()->judged / measured.back()->judged;
    const double lower = lower_bound(quantity.scale, spread);
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

namespace {

// Why no run would be slower than this, or no number of it was ever measured; empty if neither.
std::string why_it_never_fails(const BaselineMetric& quantity, std::int64_t ranks) {
  const Reference& reference = quantity.reference;
  if (!(reference.value > 0)) return "value must be above 0";
  if (!(quantity.judged > 0)) return "on_scale must be above 0";
  if (!(reference.lower <= 0 && reference.upper >= 0)) {
    return "lower must be 0 or less, upper 0 or more";
  }
  if (reference.lower <= -1) return "lower must be above -1, as nothing falls further";
  if (quantity.scale == Scale::exact) return "";
  if (quantity.samples.size() < 2) return "samples_on_scale must be two or more";
  const auto [least, most] = std::ranges::minmax(quantity.samples);
  if (!(least > 0)) return "samples_on_scale must be above 0";
  // Rates are of all ranks together, and a sample may be of one. Not all samples are kept.
  const double together = quantity.scale == Scale::own_product ? 1.0 : static_cast<double>(ranks);
  constexpr double left_out = 1.1;
  if (quantity.judged * left_out < least || quantity.judged > most * together * left_out) {
    return "on_scale lies outside of samples_on_scale";
  }
  return "";
}

}  // namespace

Baseline baseline_from_json(const std::string& text, const std::string& where) {
  const nlohmann::json value = parse_json(text, where);
  JsonObject object(value, where);
  object.one_of("kind", {"fourfold regress baseline"});
  Baseline baseline;
  baseline.provenance = read_provenance(object.object("provenance"));
  baseline.libraries = object.text("kernels");
  baseline.ranks = object.positive("ranks");
  baseline.fma_peak = object.number("fma_peak_Gflops");
  if (!object.get("references").is_array()) object.fail("references must be a list");
  for (const nlohmann::json& one : object.get("references")) {
    JsonObject reference(one, where + ": references");
    BaselineMetric quantity;
    quantity.name = reference.text("name");
    quantity.scale =
        scale_named(reference.one_of("scale", {name(Scale::own_product), name(Scale::absolute),
                                               name(Scale::traffic), name(Scale::exact)}));
    quantity.reference = {reference.number("value"), reference.number("lower"),
                          reference.number("upper"), reference.text("unit")};
    quantity.judged = reference.number("on_scale");
    const nlohmann::json& samples = reference.get("samples_on_scale");
    if (!samples.is_array()) reference.fail("samples_on_scale must be a list");
    for (const nlohmann::json& sample : samples) {
      if (!sample.is_number()) reference.fail("samples_on_scale must be numbers");
      quantity.samples.push_back(sample.get<double>());
    }
    reference.finish();
    const std::string why = why_it_never_fails(quantity, baseline.ranks);
    if (!why.empty()) reference.fail(quantity.name + ": " + why);
    const auto& known = baseline.metrics;
    if (std::ranges::find(known, quantity.name, &BaselineMetric::name) != known.end()) {
      reference.fail(quantity.name + " stands there twice; leave one of the two");
    }
    baseline.metrics.push_back(std::move(quantity));
  }
  if (baseline.metrics.empty()) {
    object.fail("references is empty, so that nothing would be compared; record a baseline anew");
  }
  object.finish();
  return baseline;
}

}  // namespace fourfold::inline bench::inline regress
