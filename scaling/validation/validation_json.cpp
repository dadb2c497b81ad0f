// Written and read; see validation_json.hpp. Keys end in their unit: s, B.
#include "scaling/validation/validation_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scaling/bars/error_bar.hpp"
#include "scaling/words/cell_table.hpp"
#include "scaling/words/percents.hpp"
#include "scaling/words/text_table.hpp"
#include "sim/question/point_json.hpp"
#include "sim/question/provenance.hpp"
#include "support/json_object.hpp"
#include "support/text_file.hpp"

namespace fourfold::inline scaling::inline validation {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* format_name = "fourfold-validation-1";
constexpr double moved = 1e-4;  // of what was before

ordered_json seconds_or_null(const ValidationCase& one) {
  return one.is_published() ? ordered_json(one.published.value) : ordered_json();
}

ordered_json json_of(const CaseResult& result) {
  const ValidationCase& one = result.one;
  ordered_json object{{"id", one.id},
                      {"study", one.study},
                      {"source", one.source},
                      {"platform", one.question.platform},
                      {"devices", one.question.devices},
                      {"options", json_of(one.question.options)},
                      {"published_s", seconds_or_null(one)},
                      {"in_sample", one.in_sample},
                      {"stand_in", one.stand_in},
                      {"projected_without", one.unsaid}};
  object["options"].erase("micro_batches");
  if (!result.projection) {
    object["projected_s"] = nullptr;
    object["why_not"] = result.why_not;
    return object;
  }
  const Projection& projection = *result.projection;
  object["projected_s"] = projection.outcome.total.value;
  object["deviation"] = one.is_published() ? ordered_json(result.deviation()) : ordered_json();
  object["grid"] = projection.grid.str();
  object["micro_batches"] = projection.micro_batches;
  object["compute_s"] = projection.outcome.compute.value;
  object["exposed_s"] = projection.outcome.exposed_total().value;
  object["bubble_s"] = projection.outcome.bubble.value;
  object["memory_B"] = projection.memory.value;
  object["memory_limit_B"] = projection.memory_limit.value;
  return object;
}

ordered_json statistics(const SetResult& result, const std::string& study, SampleSide sample) {
  const std::vector<std::size_t> cases = cases_that_ran(result, study, sample);
  const Deviations found = deviations_of_cases(result, cases);
  ordered_json object{
      {"study", study}, {"sample", sample == SampleSide::in ? "in" : "out"}, {"run", found.count}};
  if (found.count == 0) return object;
  object["mean_absolute"] = found.mean_absolute;
  object["bias"] = found.bias;
  object["median_absolute"] = found.median;
  object["ninetieth_absolute"] = found.ninetieth;
  object["worst"] = result.cases[found.worst].deviation();
  object["worst_id"] = result.cases[found.worst].one.id;
  return object;
}

ordered_json json_of(const SetResult& result) {
  ordered_json cases = ordered_json::array();
  for (const CaseResult& one : result.cases) cases.push_back(json_of(one));
  ordered_json table = ordered_json::array();
  for (SampleSide sample : {SampleSide::out, SampleSide::in}) {
    table.push_back(statistics(result, "", sample));
    for (const std::string& study : studies(result)) {
      table.push_back(statistics(result, study, sample));
    }
  }
  ordered_json ranked = ordered_json::array();
  for (const Ranking& ranking : rankings(result)) {
    ranked.push_back({{"study", ranking.study},
                      {"ids", ranking.ids},
                      {"configurations", ranking.configurations},
                      {"kendall_tau", ranking.tau},
                      {"top1_regret", ranking.regret},
                      {"largest_gain_difference", ranking.gain_difference}});
  }
  return {{"name", result.set.name},
          {"title", result.set.title},
          {"fidelity", name(result.fidelity)},
          {"in_sample", result.set.in_sample},
          {"bound", result.set.bound ? ordered_json(*result.set.bound) : ordered_json()},
          {"least_cases", result.set.least_cases},
          {"worse_than_bound", worse_than_bound(result)},
          {"statistics", table},
          {"rankings", ranked},
          {"cases", cases}};
}

ordered_json json_of(const LeaveOut& intervals) {
  ordered_json sources = ordered_json::array();
  for (const SourceLeftOut& one : intervals.sources) {
    sources.push_back({{"left_out", one.source},
                       {"runs", one.runs},
                       {"like", one.like},
                       {"from_sources", one.from_sources},
                       {"low", one.low},
                       {"high", one.high},
                       {"width", one.width},
                       {"covered", one.covered},
                       {"score", one.score},
                       {"fixed_score", one.fixed_score}});
  }
  return {{"level", error_bar_level},       {"covered", intervals.covered},
          {"score", intervals.score},       {"fixed_score", intervals.fixed_score},
          {"wrong", wrong_with(intervals)}, {"sources", sources}};
}

}  // namespace

std::string validation_json(const std::vector<SetResult>& results, const LeaveOut& intervals) {
  ordered_json object{{"format", format_name}, {"commit", build().commit}};
  object["sets"] = ordered_json::array();
  for (const SetResult& result : results) object["sets"].push_back(json_of(result));
  if (!intervals.sources.empty()) object["intervals"] = json_of(intervals);
  if (intervals.sources.empty()) object["intervals"] = nullptr;
  return object.dump() + '\n';
}

std::string validation_csv(const std::vector<SetResult>& results) {
  std::string text =
      "set,study,id,platform,devices,grid,micro_batches,fidelity,published_s,projected_s,"
      "deviation,compute_s,exposed_s,bubble_s,memory_B,in_sample,stand_in,why_not\n";
  for (const SetResult& result : results) {
    for (const CaseResult& one : result.cases) {
      const Question& question = one.one.question;
      std::string grid = question.grid ? question.grid->str() : "";
      std::string numbers = ",,,,,";
      std::string micro_batches;
      if (one.projection) {
        const Outcome& outcome = one.projection->outcome;
        grid = one.projection->grid.str();
        micro_batches = fmt::to_string(one.projection->micro_batches);
        const bool known = one.one.is_published();
        numbers = fmt::format("{:.6g},{},{:.6g},{:.6g},{:.6g},{:.6g}", outcome.total.value,
                              known ? fmt::format("{:.5f}", one.deviation()) : "",
                              outcome.compute.value, outcome.exposed_total().value,
                              outcome.bubble.value, one.projection->memory.value);
      }
      text += fmt::format(
          "{},{},{},{},{},{},{},{},{},{},{},{},{}\n", result.set.name, quoted_cell(one.one.study),
          quoted_cell(one.one.id), quoted_cell(question.platform), question.devices,
          quoted_cell(grid), micro_batches, name(result.fidelity),
          one.one.is_published() ? fmt::format("{:.6g}", one.one.published.value) : "", numbers,
          quoted_cell(one.one.in_sample), quoted_cell(one.one.stand_in), quoted_cell(one.why_not));
    }
  }
  return text;
}

EarlierValidation read_validation_json(const std::string& path) {
  const json object = parse_json(read_text_file(path, "the earlier validation in"), path);
  if (!object.is_object() || object.value("format", json()) != json(format_name)) {
    throw std::runtime_error(path + " is not what fourfold validate --json prints");
  }
  EarlierValidation earlier;
  try {
    for (const json& set : object.at("sets")) {
      EarlierSet& of = earlier[set.at("name").get<std::string>()];
      of.fidelity = set.at("fidelity").get<std::string>();
      for (const json& one : set.at("cases")) {
        EarlierCase read{{}, {}, one.at("in_sample").get<std::string>(), {}};
        const json& published = one.at("published_s");
        if (!published.is_null()) read.published = {published.get<double>()};
        const json& projected = one.at("projected_s");
        if (!projected.is_null()) read.projected = Seconds{projected.get<double>()};
        if (read.projected) read.memory = Bytes{one.at("memory_B").get<double>()};
        of.cases[one.at("id").get<std::string>()] = read;
      }
    }
  } catch (const json::exception& error) {
    throw std::runtime_error(path + " is not what fourfold validate --json prints");
  }
  return earlier;
}

namespace {

std::string before_and_after(const Deviations& before, const Deviations& after) {
  return fmt::format(
      "{} -> {} cases run out of sample, mean |dev.| {:.2f} -> {:.2f} %, bias {:+.2f} -> {:+.2f} %",
      before.count, after.count, 100.0 * before.mean_absolute, 100.0 * after.mean_absolute,
      100.0 * before.bias, 100.0 * after.bias);
}

Deviations earlier_deviations(const EarlierSet& set) {
  std::vector<double> values;
  for (const auto& [id, one] : set.cases) {
    if (one.projected && one.published.value > 0.0 && one.in_sample.empty()) {
      values.push_back(*one.projected / one.published - 1.0);
    }
  }
  return deviations_of(values);
}

// Of both where there are both; whether it stayed as it was.
template <typename Amount>
bool stayed(const std::optional<Amount>& then, const std::optional<Amount>& now) {
  return then && now ? std::abs(*now / *then - 1.0) <= moved : !then && !now;
}

template <typename Amount>
std::string change_of(const std::optional<Amount>& then, const std::optional<Amount>& now) {
  return then && now ? signed_percent(*now / *then - 1.0) : "-";
}

// The cells of a row that moved; empty if it did not.
std::vector<std::string> moved_row(const EarlierCase* before, const CaseResult& after) {
  const auto seconds = [](const std::optional<Seconds>& of) {
    return of ? fmt::format("{:.2f}", of->value) : std::string("-");
  };
  std::optional<Seconds> then, now;
  if (before != nullptr) then = before->projected;
  if (after.projection) now = after.projection->outcome.total;
  if (stayed(then, now)) return {};
  return {
      after.one.id,
      seconds(then),
      seconds(now),
      change_of(then, now),
      then && before->published.value > 0.0 ? signed_percent(*then / before->published - 1.0) : "-",
      now && after.one.is_published() ? signed_percent(after.deviation()) : "-"};
}

// The same of the memory of a row whose peak was measured.
std::vector<std::string> moved_memory(const EarlierCase* before, const CaseResult& after) {
  if (!after.one.memory || !after.one.memory->has_peak()) return {};
  const auto gigabytes = [](const std::optional<Bytes>& of) {
    return of ? fmt::format("{:.3f}", of->value / 1e9) : std::string("-");
  };
  std::optional<Bytes> then, now;
  if (before != nullptr) then = before->memory;
  if (after.projection) now = after.projection->memory;
  if (stayed(then, now)) return {};
  return {after.one.id, gigabytes(then), gigabytes(now), change_of(then, now)};
}

std::string rows_text(const EarlierSet& before, const SetResult& now) {
  TextTable seconds, memory;
  seconds.columns = {
      {"row", "", Align::left},   {"before", "s"},        {"now", "s"}, {"change", "%"},
      {"deviation", "before, %"}, {"deviation", "now, %"}};
  memory.columns = {{"row", "", Align::left}, {"before", "GB"}, {"now", "GB"}, {"change", "%"}};
  std::map<std::string, EarlierCase> gone = before.cases;
  for (const CaseResult& one : now.cases) {
    const auto earlier = gone.find(one.one.id);
    const EarlierCase* then = earlier == gone.end() ? nullptr : &earlier->second;
    if (auto row = moved_row(then, one); !row.empty()) seconds.rows.push_back(row);
    if (auto row = moved_memory(then, one); !row.empty()) memory.rows.push_back(row);
    if (earlier != gone.end()) gone.erase(earlier);
  }
  std::string text;
  if (!seconds.rows.empty()) text += format(seconds);
  if (!memory.rows.empty()) text += "memory of a device at its peak:\n" + format(memory);
  if (text.empty()) text = "no row moved\n";
  for (const auto& [id, one] : gone) text += id + " is no longer in the set\n";
  return text;
}

}  // namespace

void refuse_other_fidelity(const EarlierValidation& before, const std::string& set,
                           Fidelity fidelity) {
  const auto found = before.find(set);
  if (found == before.end() || found->second.fidelity == name(fidelity)) return;
  throw std::runtime_error(
      fmt::format("the earlier {} is {} and this one would be {}; --fidelity {} compares them", set,
                  found->second.fidelity, name(fidelity), found->second.fidelity));
}

std::string changes_text(const EarlierValidation& before, const std::vector<SetResult>& now) {
  std::string text;
  for (const SetResult& result : now) {
    const auto found = before.find(result.set.name);
    if (found == before.end()) {
      text += result.set.name + " was not validated before\n\n";
      continue;
    }
    text +=
        result.set.name + ": " +
        before_and_after(earlier_deviations(found->second),
                         deviations_of_cases(result, cases_that_ran(result, "", SampleSide::out))) +
        '\n' + rows_text(found->second, result) + '\n';
  }
  return text;
}

}  // namespace fourfold::inline scaling::inline validation
