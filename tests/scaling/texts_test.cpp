// What people and programs get of a record whose numbers are all different: a number in the wrong
// place shows. It is long because every text has its made-up numbers beside it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <tuple>

#include "scaling/find/what_if_effect.hpp"
#include "scaling/records/record_json.hpp"
#include "scaling/study/study.hpp"
#include "scaling/study/study_table.hpp"
#include "scaling/text/detail_text.hpp"
#include "scaling/text/explanation_text.hpp"
#include "scaling/text/point_text.hpp"
#include "scaling/text/what_if_text.hpp"
#include "scaling/words/throughput_text.hpp"
#include "tests/golden.hpp"
#include "tests/points.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/scaling/said_entries.hpp"

namespace fourfold::tests {
namespace {

// Every optional part is there, and no number stands twice.
Record distinct_record() {
  Record record = made_up_record();
  record.point.scales = {{"nodes", 0.5}, {"network.link_bandwidth_GBps", 2.0}};
  record.point.what_ifs.slow_devices.count = 3;
  record.point.what_ifs.slow_devices.speed = 0.25;
  record.outcome.bubble = {0.125};
  record.memory_by_stage = {{11e9}, {12e9}, {13e9}};
  record.left_out = 7;
  record.tau = 0.75;
  record.regret = 0.0625;
  record.paper_choice = {ProcessGrid(1, 8, 64, 16), 4, {21.0}, {{22.0}}, {2.25}};
  record.best_grids[1].paper = {3.25};
  record.best_grids[2].paper = {3.75};
  record.provenance.seed = 12;
  record.varies = StepSpread{{0.375}, {0.4375}, 1.1875, 1.4375};
  return record;
}

// Each number where its key says, of a record in which no number stands twice.
TEST(Texts, OfARecordAsJsonSayEachNumberByItsName) {
  const Record record = distinct_record();
  const nlohmann::json json = nlohmann::json::parse(to_json(record));
  EXPECT_EQ(to_json(record_from_json(to_json(record))), to_json(record));
  expect_says(json, nlohmann::json::parse(R"({
    "advertised_peak_flop_per_s": 191.5e12, "empirical_peak_flop_per_s": 125e12, "devices": 8192,
    "error_bar": {"low": -0.0625, "high": 0.5, "low_s": 18.75, "high_s": 30.0, "runs": 12,
                  "sources": 4, "pairs": 40, "tie_below": 0.03, "runs_least": -0.125,
                  "runs_most": 0.75, "widened_by": ["nodes"]},
    "estimated_s": 16.0, "without_what_ifs_s": 19.5, "executed_flop_per_device": 1.5e15,
    "varies": {"for_slowest_device_s": 0.375, "for_last_member_s": 0.4375, "p90_over_p50": 1.1875,
               "p99_over_p50": 1.4375}, "fidelity": "simulated", "key": "0123456789abcdef", "model_flop": 1e19,
    "memory_B": 30.25e9, "memory_limit_B": 54.4e9, "memory_by_stage_B": [11e9, 12e9, 13e9],
    "memory_by_role_B": {"activations": 15.25e9, "gathered weights": 3e9, "gradients": 4e9,
                         "optimizer state": 6e9, "parameters": 2e9},
    "outcome": {"total_s": 20.0, "compute_s": 15.0, "bubble_s": 0.125,
                "exposed_s": {"x": 1.0, "z_gather": 2.0}, "busy_s": {"x": 2.0, "z_gather": 9.0}},
    "search": {"kendall_tau": 0.75, "top1_regret": 0.0625, "tried": 100, "feasible": 60,
               "left_out_at_work_limit": 7, "verdict": "settled",
               "rejected": {"memory": 30, "heads": 10},
               "paper_choice": {"grid": "1x8x64x16", "micro_batches": 4, "estimated_s": 21.0,
                                "simulated_s": 22.0, "paper_communication_s": 2.25}},
    "provenance": {"seed": 12, "host": "vm", "cpu": "AMD EPYC"},
    "point": {"scales": {"nodes": 0.5}}})"));
  // Tokens of a step a second, and what follows of it.
  const auto tokens = static_cast<double>(record.point.global_batch * record.point.model.sequence);
  for (const auto& [key, value] : {std::pair{"tokens_per_s", tokens / 20.0},
                                   {"tokens_per_s_per_device", tokens / 20.0 / 8192.0},
                                   {"days_per_trillion_tokens", 1e12 * 20.0 / tokens / 86'400.0}}) {
    EXPECT_NEAR(json["throughput"][key].get<double>() / value, 1.0, 1e-9) << key;
  }
}

// Another number anywhere changes what is said of the point or of the search.
TEST(Texts, OfAPointAndItsSearchSayEveryNumber) {
  const Record record = distinct_record();
  const std::string point = point_text(record), search = search_text(record);
  std::vector<std::pair<const char*, std::function<void(Record&)>>> changes{
      {"the step", [](Record& r) { r.outcome.total *= 0.5; }},
      {"compute", [](Record& r) { r.outcome.compute *= 0.5; }},
      {"the estimate", [](Record& r) { r.estimated *= 0.5; }},
      {"memory", [](Record& r) { r.memory *= 0.5; }},
      {"its limit", [](Record& r) { r.memory_limit *= 0.5; }},
      {"caches", [](Record& r) { r.memory_by_role[static_cast<int>(Role::cache)] = {1e9}; }},
      {"flops", [](Record& r) { r.model_flops *= 0.5; }},
      {"the advertised peak", [](Record& r) { r.advertised_peak *= 0.5; }},
      {"the empirical peak", [](Record& r) { r.empirical_peak *= 0.5; }},
      {"tried", [](Record& r) { r.tried /= 2; }},
      {"left out", [](Record& r) { r.left_out = 3; }},
      {"tau", [](Record& r) { r.tau = *r.tau / 2; }},
      {"regret", [](Record& r) { r.regret = *r.regret / 2; }},
      {"the verdict", [](Record& r) { r.verdict = "exhausted"; }},
      {"the bar", [](Record& r) { r.bar->high /= 2; }},
      {"nine of ten", [](Record& r) { r.varies->p90 = 1.0625; }},
      {"its runs", [](Record& r) { r.bar->runs /= 2; }},
      {"the paper's choice", [](Record& r) { r.paper_choice.grid = ProcessGrid(2, 2, 2, 2); }},
      {"what if", [](Record& r) { r.point.scales["nodes"] = 0.25; }},
      {"slow devices", [](Record& r) { r.point.what_ifs.slow_devices.speed = 0.125; }}};
  for (std::size_t c = 0; c < record.outcome.exposed.size(); ++c) {
    changes.emplace_back("exposed", [=](Record& r) { r.outcome.exposed[c] *= 0.5; });
  }
  for (const Role role : roles_in(record.memory_by_role)) {
    changes.emplace_back(name(role),
                         [=](Record& r) { r.memory_by_role[static_cast<int>(role)] *= 0.5; });
  }
  for (std::size_t i = 0; i < record.best_grids.size(); ++i) {
    changes.emplace_back("a grid", [=](Record& r) { r.best_grids[i].estimated *= 0.5; });
  }
  for (const auto& [what, change] : changes) {
    Record other = record;
    change(other);
    EXPECT_TRUE(point_text(other) != point || search_text(other) != search) << what;
  }
}

// Beside the point stands what its what-ifs did.
TEST(Texts, OfAnEffectSayTheTimeWithAndWithoutIt) {
  const Record record = distinct_record();
  Question asked;
  asked.what_ifs = record.point.what_ifs;
  const auto text_of = [&](const Record& one) {
    const auto effect = effect_of_what_ifs(asked, one, {}, [](const std::string&, double) {});
    return effect ? what_if_text(*effect) : "";
  };
  Record faster = record, without = record;
  faster.outcome.total *= 0.5;
  *without.uniform *= 0.5;

  EXPECT_NE(text_of(record), "");
  EXPECT_NE(text_of(faster), text_of(record));
  EXPECT_NE(text_of(without), text_of(record));
}

TEST(Texts, OfRatesAreInTheUnitAskedForOrOneThatShowsThem) {
  EXPECT_EQ(rate_text({1.3815e18}, petaflops), "1381.5 Pflop/s");
  EXPECT_EQ(rate_text({1.5e14}, petaflops), "0.1 Pflop/s");
  EXPECT_EQ(rate_text({9.9e13}, petaflops), "99.0 Tflop/s");
  EXPECT_EQ(rate_text({5.5e10}, petaflops), "55.0 Gflop/s");
  EXPECT_EQ(rate_text({1.5e14}, teraflops), "150.0 Tflop/s");
  EXPECT_EQ(rate_text({5.5e10}, teraflops), "55.0 Gflop/s");
}

// Turning an option turns the word that stands for it.
TEST(Texts, OfAPointSayEachOption) {
  const auto options_of = [](const StepOptions& options) {
    Record record = distinct_record();
    record.point.options = options;
    record.point.options.micro_batches = 2;
    const std::string text = point_text(record);
    return text.substr(text.find("Options: "));
  };
  const std::string usual = options_of({});
  for (const auto& [words, turn] : std::vector<std::pair<const char*, void (*)(StepOptions&)>>{
           {"overlap of all-reduce off", [](StepOptions& o) { o.overlap.all_reduce = false; }},
           {"reduce-scatter off", [](StepOptions& o) { o.overlap.reduce_scatter = false; }},
           {"all-gather off", [](StepOptions& o) { o.overlap.all_gather = false; }},
           {"recompute's gathers off, across blocks on;",
            [](StepOptions& o) { o.overlap.recompute_gather = false; }},
           {"gathers on, across blocks off;",
            [](StepOptions& o) { o.overlap.across_blocks = false; }},
           {"recompute none;", [](StepOptions& o) { o.recompute = Recompute::none; }},
           {"in-flight blocks 5;", [](StepOptions& o) { o.in_flight_blocks = 5; }},
           {"weight gather keep;", [](StepOptions& o) { o.weight_gather = WeightGather::keep; }},
           {"gradient reduction accumulated;",
            [](StepOptions& o) { o.gradient_reduction = GradientReduction::accumulated; }},
           {"data reduction beside-backward;",
            [](StepOptions& o) { o.data_reduction = DataReduction::beside_backward; }},
           {"fp32 throughout", [](StepOptions& o) { o.precision = Precision::fp32; }},
           {"fp32 along z", [](StepOptions& o) { o.grad_reduce_precision_z = Precision::fp32; }},
           {"bf16 along data",
            [](StepOptions& o) { o.grad_reduce_precision_data = Precision::bf16; }},
           {"ZeRO 2", [](StepOptions& o) { o.zero = 2; }},
           {"sequence parallelism", [](StepOptions& o) { o.sequence_parallel = true; }},
           {"recomputed", [](StepOptions& o) { o.offload_activations = true; }}}) {
    StepOptions options;
    turn(options);
    EXPECT_EQ(usual.find(words), std::string::npos) << words;
    EXPECT_NE(options_of(options).find(words), std::string::npos) << words;
  }
}

TEST(Texts, OfWhatIsOnTheHostSayWhatItIs) {
  Record record = distinct_record();
  EXPECT_EQ(point_text(record).find("On the host"), std::string::npos);
  record.memory_on_host = {2.5e9};
  for (const auto& [bucket, inputs, what] :
       {std::tuple{1000, false, "optimizer state"},
        {0, true, "inputs of blocks"},
        {1000, true, "optimizer state and inputs of blocks"}}) {
    record.point.options = {};
    record.point.options.offload_bucket = bucket;
    record.point.options.offload_activations = inputs;
    const std::string text = point_text(record);
    EXPECT_NE(text.find(fmt::format("On the host: 2.5 GB of {} a device.", what)),
              std::string::npos);
  }
}

TEST(Texts, OfAStudyNameTheUnitOfItsRates) {
  Record record = distinct_record();
  record.model_flops = {2e12};
  const std::string text = study_table(make_study({"", "A laptop", {}, {}, {}, ""}, {record}));

  EXPECT_EQ(text.find("Pflop/s"), std::string::npos) << text;
  EXPECT_NE(text.find("flop/s are model flops"), std::string::npos) << text;
}

ReplayDetail detail_of(std::size_t channels) {
  ReplayDetail detail;
  detail.links = {{"NIC", {25e9}, 64, {3e12}, 0.125, "node 3 nic 1 out", {5.5e10}, 0.875},
                  {"global", {100e9}, 8, {1.5e12}, 0.25, "group 0 -> group 1", {2.5e11}, 0.5}};
  for (int i = 0; i < 2; ++i) {
    ClassUse& use = detail.classes.emplace_back();
    use.name = i == 0 ? "the slow device" : "all others";
    use.devices = i == 0 ? 1 : 15;
    use.compute = {2.5 - i};
    for (std::size_t c = 0; c < channels; ++c) {
      use.exposed.push_back({0.5 + 0.25 * static_cast<double>(c) + i});
      use.late.push_back({0.0625 * static_cast<double>(c + 1) * (1 + i)});
    }
  }
  detail.latecomers = {{8, {0.625}}, {3, {0.375}}};
  detail.longest_compute = {2.75};
  return detail;
}

// The table of waits is there where somebody waits, and the latecomers where somebody is late.
TEST(Texts, OfADetailSayWhoWaitsIfAnybodyDoes) {
  const std::vector<Channel> channels = made_up_channels();
  ReplayDetail nobody_waits = detail_of(channels.size());
  for (ClassUse& use : nobody_waits.classes) use.late.assign(channels.size(), {});
  ReplayDetail nobody_is_last = detail_of(channels.size());
  nobody_is_last.latecomers.clear();

  const std::string text = detail_text(detail_of(channels.size()), channels);

  EXPECT_NE(text.find("node 3 nic 1 out"), std::string::npos) << text;
  EXPECT_NE(text.find("the slow device"), std::string::npos) << text;
  EXPECT_NE(detail_text(nobody_waits, channels), text);
  EXPECT_LT(detail_text(nobody_is_last, channels).size(), text.size());
}

Point small_point(const std::string& platform, const ProcessGrid& grid) {
  return made_up_point(platform, {"gpt-tiny", 5, 1024, 8, 256, 4096}, grid, 96,
                       with_micro_batches(6));
}

double number(const nlohmann::json& value) {
  return value.get<double>();
}

// What the JSON says by name is what was found, and its parts add up; the text has a line for each
// part and each lane.
TEST(Texts, OfExplanationsSayWhatWasFound) {
  Point pipeline = small_point("selene", ProcessGrid(2, 2, 1, 4, 2));
  pipeline.options.order = PipelineOrder::interleaved;
  pipeline.options.chunks = 2;
  for (const Point& point :
       {small_point("frontier", ProcessGrid(2, 2, 4, 2)), pipeline,
        small_point("crossbar", ProcessGrid(1, 1, 1, 1)),
        small_point("alps", ProcessGrid(1, 1, 2, 8)), small_point("selene", {1, 1, 1, 1, 4})}) {
    SCOPED_TRACE(point.platform + " " + point.grid.str());
    const Explanation one = explain_step(point, read_platform(point.platform), std::nullopt);
    const nlohmann::json json = json_of(one);
    const std::string text = explanation_text(one);
    const double total = one.outcome.total.value;
    expect_says(json, {{"total_s", total}, {"verdict", one.verdict()}});
    double path = 0.0;
    for (const auto& item : json["critical_path_s"].items()) path += number(item.value());
    EXPECT_NEAR(path / total, 1.0, 1e-9);
    for (const auto& [part, time] : one.parts()) {
      EXPECT_EQ(number(json["critical_path_s"][part]), time.value) << part;
      EXPECT_TRUE(time.value < 0.001 * total || text.find(part) != std::string::npos) << part;
    }
    EXPECT_EQ(json["lanes"].size(), one.outcome.channels.size());
    for (std::size_t c = 0; c < one.channels.size(); ++c) {
      const ChannelUse& use = one.channels[c];
      if (use.collectives == 0) continue;
      const std::string lane = name(one.outcome.channels[c]);
      expect_says(json["lanes"][lane], {{"exposed_s", use.exposed.value},
                                        {"hidden_s", use.hidden.value},
                                        {"in_flight_s", use.busy.value},
                                        {"latency_s", use.latency.value},
                                        {"waiting_for_devices_s", use.waiting.value},
                                        {"sent_on_wire_B_per_device", use.sent.value},
                                        {"members", use.members},
                                        {"collectives_per_device", use.collectives}});
      EXPECT_NE(text.find("\n" + lane + " "), std::string::npos) << lane;
    }
    ASSERT_EQ(json["collectives"].size(), one.collectives.size());
    for (std::size_t i = 0; i < one.collectives.size(); ++i) {
      const CollectiveUse& use = one.collectives[i];
      expect_says(json["collectives"][i], {{"kind", name(use.kind)},
                                           {"algorithm", name(use.algorithm)},
                                           {"buffer_B", use.buffer.value},
                                           {"count_per_device", use.count},
                                           {"each_s", use.each.value},
                                           {"all_s", use.all().value},
                                           {"latency_share", use.latency_share},
                                           {"bus_bandwidth_B_per_s", use.bus_bandwidth.value},
                                           {"names", use.names}});
    }
    for (const Ideal& ideal : one.ideals) {
      expect_says(json["ideals"][ideal.key], {{"step_s", ideal.time.value}, {"by", ideal.by}});
    }
  }
}

TEST(Texts, OfATinyStepAreTheGoldenOnes) {
  Point point = small_point("crossbar", ProcessGrid(2, 2, 2, 2));
  point.model.layers = 4;
  point.global_batch = 64;
  point.options.micro_batches = 2;
  expect_golden("explanation_gpt-tiny.txt",
                explanation_text(explain_step(point, read_platform("crossbar"), std::nullopt)));
}

// The simulated seconds are made up: twice the closed form's.
TEST(Texts, OfASimulatedExplanationAreTheGoldenOnes) {
  Point point = small_point("frontier", ProcessGrid(2, 2, 4, 2));
  const Platform platform = read_platform("frontier");
  const Explanation closed = explain_step(point, platform, std::nullopt);
  point.what_ifs.slow_devices.count = 1;
  point.what_ifs.slow_devices.speed = 0.5;
  point.what_ifs.jitter_percent = 3.0;
  Simulated simulated{closed.outcome, detail_of(closed.channels.size()), {}};
  simulated.outcome.total = closed.outcome.total * 2.0;
  simulated.outcome.compute = closed.outcome.compute * 1.5;
  for (Seconds& time : simulated.outcome.exposed) time *= 2.25;
  for (std::size_t i = 0; i < 40; ++i) {
    const double number = static_cast<double>(i + 1);
    simulated.detail->flights.push_back({{1e-4 * number}, {1e-3 * number}});
  }
  simulated.reruns = {{"network", "a network that takes no time", {0.005}, "simulation"},
                      {"without_slow_devices", "no slow devices", {0.0075}, "simulation"}};
  const Explanation explanation = explain_step(point, platform, simulated);

  expect_golden("explanation_simulated.txt", explanation_text(explanation));
}

// A grid ties that is behind the best by less than the bar tells apart, and none that is further
// behind.
TEST(GridTables, NameTiesWithTheBest) {
  Record record = made_up_record();
  record.bar->tie = 0.03;
  record.uniform.reset();
  record.best_grids[1].simulated = record.outcome.total * 1.02;
  record.best_grids[2].simulated = record.outcome.total * 1.2;

  const std::string text = search_text(record);
  const auto line_of = [&](const GridSeconds& grid) {
    const std::size_t first = text.find(grid.grid.str());
    return text.substr(first, text.find('\n', first) - first);
  };

  EXPECT_TRUE(line_of(record.best_grids[0]).ends_with("<- best"));
  EXPECT_TRUE(line_of(record.best_grids[1]).ends_with(" tie"));
  EXPECT_FALSE(line_of(record.best_grids[2]).ends_with("tie"));
}

}  // namespace
}  // namespace fourfold::tests
