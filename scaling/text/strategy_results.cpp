// JSON, CSV and files of a search over strategies; see strategy_results.hpp.
#include "scaling/text/strategy_results.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "platforms/device_memory.hpp"
#include "scaling/bars/error_bar_json.hpp"
#include "scaling/records/provenance.hpp"
#include "scaling/study/earlier_results.hpp"
#include "scaling/study/plot.hpp"
#include "scaling/words/throughput_text.hpp"
#include "schedule/models/model_flops.hpp"
#include "sim/question/point_json.hpp"
#include "support/own_file.hpp"

namespace fourfold::inline scaling::inline text {
namespace {

using nlohmann::json;

json json_of(const Strategy& strategy, const StrategyAnswer& answer) {
  json choices = json::object();
  for (std::size_t i = 0; i < answer.factors.size(); ++i) {
    choices[answer.factors[i].name] = strategy.words[i];
  }
  return {{"grid", strategy.grid.str()},
          {"devices", strategy.grid.size()},
          {"micro_batches", strategy.micro_batches()},
          {"micro_batch_sequences", strategy.micro_batch_size()},
          {"global_batch_sequences", strategy.global_batch},
          {"options", json_of(strategy.options)},
          {"choices", choices},
          {"estimated_s", strategy.seconds.value},
          {"memory_B", strategy.memory.value},
          {"flop_per_s_per_device", strategy.rate.value},
          {"alike", strategy.alike}};
}

// MFU and the like of one of the answers.
json throughput_of(const Strategy& strategy, const StrategyFinding& finding) {
  return json_of(throughput(point_of(finding.question, strategy), strategy.seconds,
                            finding.platform.processor.advertised_peak));
}

// What runs nowhere in the space is null.
json json_of(const std::vector<double>& means) {
  json list = json::array();
  for (double mean : means) list.push_back(std::isnan(mean) ? json() : json(mean));
  return list;
}

json json_of(const Influence& influence, const std::vector<Factor>& factors) {
  json choices = json::object();
  for (std::size_t i = 0; i < factors.size(); ++i) {
    choices[factors[i].name] = {{"share", influence.shapley[i]},
                                {"alone", influence.alone[i]},
                                {"mean_flop_per_s_per_device", json_of(influence.means[i])}};
  }
  return {{"mean_flop_per_s_per_device", influence.mean},
          {"variance", influence.variance},
          {"choices", choices}};
}

json json_of(const std::vector<Factor>& factors) {
  json object = json::array();
  for (const Factor& factor : factors) {
    object.push_back({{"choice", factor.name}, {"words", factor.words}});
  }
  return object;
}

}  // namespace

std::string to_json(const StrategyFinding& finding) {
  const StrategyAnswer& answer = finding.answer;
  const Point& pattern = finding.question.pattern;
  json best = json::array();
  for (const Strategy& strategy : answer.best) {
    best.push_back(json_of(strategy, answer));
    best.back()["throughput"] = throughput_of(strategy, finding);
    best.back()["chance_to_fit"] = chance_to_fit(strategy.memory, finding.platform);
  }
  json refused = json::object();
  for (const Refusal& refusal : answer.refused) {
    refused[refusal.rule] = {{"strategies", refusal.strategies}, {"example", refusal.example}};
  }
  json object{{"format", "fourfold-strategies-1"},
              {"title", finding.question.title},
              {"platform", pattern.platform},
              {"scales", json_of_scales(pattern.scales)},
              {"what_ifs", json_of(pattern.what_ifs)},
              {"model", json_of(pattern.model)},
              {"model_flop_convention", model_flops_convention(pattern.model, Recompute::none)},
              {"space", json_of(answer.factors)},
              {"best", best},
              {"strategies", answer.strategies},
              {"refused", refused},
              {"out_of_memory", answer.out_of_memory},
              {"beaten", answer.beaten},
              {"estimated", answer.feasible},
              {"memory_limit_B", answer.memory_limit.value},
              {"closest_miss", answer.closest ? json_of(*answer.closest, answer) : json()},
              {"influence", json()},
              {"provenance", json_of(provenance_now())}};
  if (finding.bar) {
    object["error_bar"] = json_of(*finding.bar, answer.best.front().seconds);
  }
  if (finding.influences) {
    const Influences& found = *finding.influences;
    object["influence"] = {{"out_of_memory_is_0", json_of(found.whole, found.factors)},
                           {"feasible", json_of(found.feasible, found.factors)}};
  }
  return object.dump();
}

namespace {

constexpr const char* influence_heading =
    "choice,entries,share,alone,share_feasible,alone_feasible\n";

}  // namespace

std::string influence_csv(const Influences& influences) {
  std::string text = influence_heading;
  for (std::size_t i : influences.by_share()) {
    text += fmt::format("{},{},{:.6f},{:.6f},{:.6f},{:.6f}\n", influences.factors[i].name,
                        influences.factors[i].words.size(), influences.whole.shapley[i],
                        influences.whole.alone[i], influences.feasible.shapley[i],
                        influences.feasible.alone[i]);
  }
  return text;
}

std::string write_strategies(const StrategyFinding& finding, const StrategyFiles& files,
                             const std::string& folder, double width_in) {
  std::filesystem::create_directories(folder);
  write_own_file(folder + "/table.txt", files.table);
  write_own_file(folder + "/answer.json", files.json + '\n');
  const bool earlier = take_away_drawn(folder + "/influence", influence_heading);
  if (!finding.influences) {
    return fmt::format("{0}/table.txt and {0}/answer.json are written{1}", folder,
                       earlier ? "; influence.csv of the answer before is taken away" : "");
  }
  write_own_file(folder + "/influence.csv", influence_csv(*finding.influences));
  if (!(finding.influences->whole.variance > 0.0)) {
    return fmt::format(
        "{0}/table.txt, {0}/answer.json and {0}/influence.csv are written, and no "
        "picture: all strategies do alike, or none can run",
        folder);
  }
  const Point& pattern = finding.question.pattern;
  return draw_influence(folder,
                        finding.question.title.empty()
                            ? pattern.model.name + " on " + pattern.platform
                            : finding.question.title,
                        width_in);
}

}  // namespace fourfold::inline scaling::inline text
