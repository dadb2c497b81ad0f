// Row by row of the file; see kept_measurements.hpp.
#include "scaling/calibrate/kept_measurements.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "scaling/calibrate/toml_edit.hpp"
#include "schedule/collectives/collective.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline calibrate {
namespace {

bool is_of_such_groups(const CollectiveSample& sample, const toml::table& row) {
  const auto members = row["members"].value_or(std::int64_t{0});
  const auto devices = row["devices"].value_or(std::int64_t{0});
  const bool over_nodes = members > devices;
  return row["kind"].value_or(std::string()) == name(sample.kind) &&
         over_nodes == (sample.nodes > 1) && sample.in_each == (over_nodes ? devices : members);
}

}  // namespace

KeptMeasurements kept_measurements(const std::string& platform,
                                   const std::vector<CollectiveSample>& samples) {
  toml::table whole = toml::parse(platform);
  const auto library = whole["library"];
  KeptMeasurements kept;
  std::vector<std::string> gone;
  if (toml::array* const rows = library["measured"]["entries"].as_array()) {
    const std::size_t all = rows->size();
    for (std::size_t i = all; i-- > 0;) {
      const toml::table* const row = (*rows)[i].as_table();
      const bool goes = row != nullptr && std::ranges::any_of(samples, [&](const auto& sample) {
                          return is_of_such_groups(sample, *row);
                        });
      if (goes) rows->erase(rows->cbegin() + static_cast<std::ptrdiff_t>(i));
    }
    const std::size_t out = all - rows->size();
    if (out == 0) kept.tables.emplace_back("measured");
    if (out > 0) {
      gone.push_back(counted(static_cast<std::int64_t>(out), "row") + " of [library.measured]");
    }
    if (out > 0 && out < all) kept.rows = under_header(whole, "library", "measured");
  }
  if (library["cliff"].is_table()) {
    const bool measured = std::ranges::any_of(samples, [](const CollectiveSample& one) {
      return one.nodes > 1 &&
             (one.kind == CollectiveKind::all_gather || one.kind == CollectiveKind::reduce_scatter);
    });
    if (measured) {
      gone.emplace_back("[library.cliff]");
    } else {
      kept.tables.emplace_back("cliff");
    }
  }
  if (!gone.empty()) {
    kept.said =
        fmt::format("Left out, as the logs measure such groups: {}.", fmt::join(gone, ", "));
  }
  return kept;
}

}  // namespace fourfold::inline scaling::inline calibrate
