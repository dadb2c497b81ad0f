// A study as CSV; see study.hpp.
#include <fmt/format.h>

#include "scaling/study.hpp"

namespace fourfold {
namespace {

std::string number(double value) {
  return fmt::format("{:.9g}", value);
}

template <typename Value>
std::string number_or_nothing(const std::optional<Value>& value) {
  return value ? number(value->value) : "";
}

}  // namespace

std::string study_csv(const Study& study) {
  std::string text =
      "machine,devices,model,vocabulary,fidelity,grid,micro_batches,best_grids_least_s,"
      "best_grids_most_s,batch_s,model_flop,flop_per_s,ideal_flop_per_s,of_advertised_peak,"
      "of_empirical_peak,exposed_share,memory_B,memory_limit_B,compute_s,exposed_x_s,exposed_y_s,"
      "exposed_z_s,exposed_data_s,estimated_s,kendall_tau,top1_regret,grids_simulated,"
      "published_batch_s,published_is_derived,published_flop_per_s,deviation,"
      "model_flop_convention\n";
  for (const StudyRow& row : study.rows) {
    const Record& record = row.record;
    const Spread best = spread(record);
    const auto exposed = [&](Lane lane) {
      return record.outcome.exposed[static_cast<int>(lane)].value;
    };
    const auto optional_number = [](const std::optional<double>& value) {
      return value ? number(*value) : std::string();
    };
    const std::vector<std::string> cells{
        row.machine,
        fmt::to_string(record.devices()),
        record.point.model.name,
        fmt::to_string(record.point.model.vocabulary),
        name(record.fidelity),
        record.point.grid.str(),
        fmt::to_string(record.point.options.micro_batches),
        number(best.least.value),
        number(best.most.value),
        number(record.seconds().value),
        number(record.model_flops.value),
        number(record.rate().value),
        number(row.ideal_rate.value),
        number(record.of_advertised()),
        number(record.of_empirical()),
        number(record.exposed_share()),
        number(record.memory.value),
        number(record.memory_limit.value),
        number(record.outcome.compute.value),
        number(exposed(Lane::x)),
        number(exposed(Lane::y)),
        number(exposed(Lane::z_gather) + exposed(Lane::z_reduce)),
        number(exposed(Lane::data)),
        number(record.estimated.value),
        optional_number(record.tau),
        optional_number(record.regret),
        fmt::to_string(record.simulated.size()),
        number_or_nothing(row.published),
        row.published ? (row.derived ? "1" : "0") : "",
        number_or_nothing(row.published_rate),
        optional_number(row.deviation()),
        '"' + model_flops_convention(record.point.options.recompute) + '"'};
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

}  // namespace fourfold
