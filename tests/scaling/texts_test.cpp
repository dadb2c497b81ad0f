// What people and programs get of a record whose numbers are all different: a number in the wrong
// place shows. It is long because every text has its made-up numbers beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "scaling/find/what_if_effect.hpp"
#include "scaling/records/record_json.hpp"
#include "scaling/study/study.hpp"
#include "scaling/study/study_table.hpp"
#include "scaling/text/collective_table.hpp"
#include "scaling/text/detail_text.hpp"
#include "scaling/text/explanation_text.hpp"
#include "scaling/text/point_text.hpp"
#include "scaling/text/what_if_text.hpp"
#include "scaling/words/throughput_text.hpp"
#include "tests/golden.hpp"
#include "tests/scaling/made_up_record.hpp"

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
  return record;
}

// Three stages, whose messages have channels of their own.
Record pipeline_record() {
  Record record = distinct_record();
  record.point.grid = ProcessGrid(2, 8, 32, 8, 2);
  record.point.options.order = PipelineOrder::interleaved;
  record.point.options.chunks = 3;
  record.point.options.zero = 1;
  record.point.options.sequence_parallel = true;
  record.point.options.overlap.messages = false;
  record.point.options.recompute = Recompute::none;
  record.point.options.precision = Precision::fp32;  // gradients, too
  record.point.options.grad_reduce_precision_z = Precision::fp32;
  record.point.what_ifs = {};
  record.uniform.reset();
  record.outcome.channels.push_back(forward_from(0, 2));
  record.outcome.channels.push_back(backward_from(1));
  record.outcome.exposed.insert(record.outcome.exposed.end(), {{0.375}, {0.625}});
  record.outcome.busy.insert(record.outcome.busy.end(), {{0.4375}, {0.6875}});
  record.sent.insert(record.sent.end(), {{6.5e9}, {7.25e9}});
  record.replay->outcome = record.outcome;
  record.best_grids[0].grid = record.point.grid;
  record.verdict = "capped";
  record.tau.reset();
  record.regret.reset();
  record.left_out = 0;
  return record;
}

// Without the options, of which later ones are not to appear here.
std::string golden_json(const Record& record) {
  nlohmann::json json = nlohmann::json::parse(to_json(record));
  json["point"].erase("options");
  return json.dump(1) + '\n';
}

Record estimated_record() {
  Record record = distinct_record();
  record.fidelity = Fidelity::estimated;
  record.point.what_ifs = {};
  record.point.scales.clear();
  record.point.options.overlap = {false, false, false, false};
  record.uniform.reset();
  record.simulated.clear();
  record.verdict.clear();
  record.replay.reset();
  record.memory_by_stage.clear();
  return record;
}

// Each number where its key says, of a record in which no number stands twice.
TEST(Texts, OfARecordAsJsonSayEachNumberByItsName) {
  const Record record = distinct_record();
  const nlohmann::json json = nlohmann::json::parse(to_json(record));
  for (const auto& [place, value] : std::vector<std::pair<const char*, nlohmann::json>>{
           {"/advertised_peak_flop_per_s", 191.5e12},
           {"/empirical_peak_flop_per_s", 125e12},
           {"/devices", 8192},
           {"/error_bar/low", -0.0625},
           {"/error_bar/high", 0.5},
           {"/error_bar/low_s", 20.0 * (1.0 - 0.0625)},
           {"/error_bar/high_s", 20.0 * 1.5},
           {"/error_bar/runs", 12},
           {"/error_bar/sources", 4},
           {"/error_bar/pairs", 40},
           {"/error_bar/tie_below", 0.03},
           {"/error_bar/runs_least", -0.125},
           {"/error_bar/runs_most", 0.75},
           {"/error_bar/widened_by", {"nodes"}},
           {"/estimated_s", 16.0},
           {"/executed_flop_per_device", 1.5e15},
           {"/fidelity", "simulated"},
           {"/key", "0123456789abcdef"},
           {"/memory_B", 30.25e9},
           {"/memory_limit_B", 54.4e9},
           {"/memory_by_role_B/activations", 15.25e9},
           {"/memory_by_role_B/gathered weights", 3e9},
           {"/memory_by_role_B/gradients", 4e9},
           {"/memory_by_role_B/optimizer state", 6e9},
           {"/memory_by_role_B/parameters", 2e9},
           {"/memory_by_stage_B", {11e9, 12e9, 13e9}},
           {"/model_flop", 1e19},
           {"/outcome/total_s", 20.0},
           {"/outcome/compute_s", 15.0},
           {"/outcome/bubble_s", 0.125},
           {"/outcome/exposed_s/x", 1.0},
           {"/outcome/exposed_s/z_gather", 2.0},
           {"/outcome/busy_s/x", 2.0},
           {"/outcome/busy_s/z_gather", 9.0},
           {"/search/kendall_tau", 0.75},
           {"/search/top1_regret", 0.0625},
           {"/provenance/seed", 12},
           {"/point/scales/nodes", 0.5}}) {
    const nlohmann::json::json_pointer pointer(place);
    ASSERT_TRUE(json.contains(pointer)) << place;
    EXPECT_EQ(json[pointer], value) << place;
  }
  // Tokens of a step a second, and what follows of it.
  const auto tokens = static_cast<double>(record.point.global_batch * record.point.model.sequence);
  const nlohmann::json& throughput = json["throughput"];
  EXPECT_NEAR(throughput["tokens_per_s"].get<double>() / (tokens / 20.0), 1.0, 1e-9);
  EXPECT_NEAR(throughput["tokens_per_s_per_device"].get<double>() / (tokens / 20.0 / 8192.0), 1.0,
              1e-9);
  EXPECT_NEAR(
      throughput["days_per_trillion_tokens"].get<double>() / (1e12 * 20.0 / tokens / 86'400.0), 1.0,
      1e-9);
}

TEST(Texts, RecordsComeBackFromJsonFieldByField) {
  for (const Record& record : {distinct_record(), pipeline_record(), estimated_record()}) {
    const Record again = record_from_json(to_json(record));

    EXPECT_EQ(golden_json(again), golden_json(record));
    EXPECT_EQ(again.left_out, record.left_out);
    EXPECT_EQ(again.tried, record.tried);
    EXPECT_EQ(again.feasible, record.feasible);
    EXPECT_EQ(again.memory_limit, record.memory_limit);
    EXPECT_EQ(again.memory, record.memory);
    EXPECT_EQ(again.memory_by_stage, record.memory_by_stage);
    EXPECT_EQ(again.outcome.bubble, record.outcome.bubble);
    EXPECT_EQ(again.paper_choice.paper, record.paper_choice.paper);
    EXPECT_EQ(again.paper_choice.grid, record.paper_choice.grid);
    EXPECT_EQ(again.simulated.size(), record.simulated.size());
    EXPECT_EQ(again.tau, record.tau);
    EXPECT_EQ(again.regret, record.regret);
    EXPECT_EQ(again.uniform, record.uniform);
    EXPECT_EQ(again.executed.value, record.executed.value);
    EXPECT_EQ(again.advertised_peak.value, record.advertised_peak.value);
    EXPECT_EQ(again.empirical_peak.value, record.empirical_peak.value);
    EXPECT_EQ(again.provenance.host, record.provenance.host);
    EXPECT_EQ(again.provenance.cpu, record.provenance.cpu);
    EXPECT_EQ(again.provenance.seed, record.provenance.seed);
    EXPECT_EQ(again.point.options, record.point.options);
    EXPECT_EQ(again.point.what_ifs, record.point.what_ifs);
    EXPECT_EQ(again.point.scales, record.point.scales);
    EXPECT_EQ(again.replay.has_value(), record.replay.has_value());
  }
}

// Half of any number that was found changes what is said of the point or of the search.
TEST(Texts, OfAPointAndItsSearchSayEveryNumber) {
  const Record record = distinct_record();
  const std::string point = point_text(record), search = search_text(record);
  const auto expect_said = [&](const char* what, const std::function<void(Record&)>& change) {
    Record other = record;
    change(other);
    EXPECT_TRUE(point_text(other) != point || search_text(other) != search) << what;
  };
  expect_said("the step", [](Record& r) { r.outcome.total *= 0.5; });
  expect_said("compute", [](Record& r) { r.outcome.compute *= 0.5; });
  for (std::size_t c = 0; c < record.outcome.exposed.size(); ++c) {
    expect_said("exposed", [=](Record& r) { r.outcome.exposed[c] *= 0.5; });
  }
  expect_said("the estimate", [](Record& r) { r.estimated *= 0.5; });
  expect_said("memory", [](Record& r) { r.memory *= 0.5; });
  expect_said("its limit", [](Record& r) { r.memory_limit *= 0.5; });
  for (Role role : roles_in(record.memory_by_role)) {
    expect_said(name(role), [=](Record& r) { r.memory_by_role[static_cast<int>(role)] *= 0.5; });
  }
  expect_said("caches", [](Record& r) { r.memory_by_role[static_cast<int>(Role::cache)] = {1e9}; });
  expect_said("flops", [](Record& r) { r.model_flops *= 0.5; });
  expect_said("the advertised peak", [](Record& r) { r.advertised_peak *= 0.5; });
  expect_said("the empirical peak", [](Record& r) { r.empirical_peak *= 0.5; });
  expect_said("tried", [](Record& r) { r.tried /= 2; });
  expect_said("left out", [](Record& r) { r.left_out = 3; });
  expect_said("tau", [](Record& r) { r.tau = *r.tau / 2; });
  expect_said("regret", [](Record& r) { r.regret = *r.regret / 2; });
  expect_said("the verdict", [](Record& r) { r.verdict = "exhausted"; });
  expect_said("the bar", [](Record& r) { r.bar->high /= 2; });
  expect_said("its runs", [](Record& r) { r.bar->runs /= 2; });
  for (std::size_t i = 0; i < record.best_grids.size(); ++i) {
    expect_said("a grid", [=](Record& r) { r.best_grids[i].estimated *= 0.5; });
  }
  expect_said("the paper's choice",
              [](Record& r) { r.paper_choice.grid = ProcessGrid(2, 2, 2, 2); });
  expect_said("what if", [](Record& r) { r.point.scales["nodes"] = 0.25; });
  expect_said("slow devices", [](Record& r) { r.point.what_ifs.slow_devices.speed = 0.125; });
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

// Turning an option turns the word that stands for it.
TEST(Texts, OfRatesAreInTheUnitAskedForOrOneThatShowsThem) {
  EXPECT_EQ(rate_text({1.3815e18}, petaflops), "1381.5 Pflop/s");
  EXPECT_EQ(rate_text({1.5e14}, petaflops), "0.1 Pflop/s");
  EXPECT_EQ(rate_text({9.9e13}, petaflops), "99.0 Tflop/s");
  EXPECT_EQ(rate_text({5.5e10}, petaflops), "55.0 Gflop/s");
  EXPECT_EQ(rate_text({1.5e14}, teraflops), "150.0 Tflop/s");
  EXPECT_EQ(rate_text({5.5e10}, teraflops), "55.0 Gflop/s");
}

TEST(Texts, OfAPointSayEachOption) {
  const auto options_of = [](const StepOptions& options) {
    Record record = distinct_record();
    record.point.options = options;
    record.point.options.micro_batches = 2;
    const std::string text = point_text(record);
    return text.substr(text.find("Options: "));
  };
  const std::string usual = options_of({});
  const auto says = [&](void (*turn)(StepOptions&), const std::string& words) {
    StepOptions options;
    turn(options);
    EXPECT_EQ(usual.find(words), std::string::npos) << words;
    EXPECT_NE(options_of(options).find(words), std::string::npos) << words;
  };

  says([](StepOptions& o) { o.overlap.all_reduce = false; }, "overlap of all-reduce off");
  says([](StepOptions& o) { o.overlap.reduce_scatter = false; }, "reduce-scatter off");
  says([](StepOptions& o) { o.overlap.all_gather = false; }, "all-gather off");
  says([](StepOptions& o) { o.overlap.recompute_gather = false; }, "recompute's gathers off");
  says([](StepOptions& o) { o.overlap.across_blocks = false; }, "gathers on, across blocks off;");
  says([](StepOptions& o) { o.overlap.recompute_gather = false; },
       "gathers off, across blocks on;");
  says([](StepOptions& o) { o.recompute = Recompute::none; }, "recompute none;");
  says([](StepOptions& o) { o.in_flight_blocks = 5; }, "in-flight blocks 5;");
  says([](StepOptions& o) { o.weight_gather = WeightGather::keep; }, "weight gather keep;");
  says([](StepOptions& o) { o.gradient_reduction = GradientReduction::accumulated; },
       "gradient reduction accumulated;");
  says([](StepOptions& o) { o.data_reduction = DataReduction::beside_backward; },
       "data reduction beside-backward;");
  says([](StepOptions& o) { o.precision = Precision::fp32; }, "fp32 throughout");
  says([](StepOptions& o) { o.grad_reduce_precision_z = Precision::fp32; }, "fp32 along z");
  says([](StepOptions& o) { o.grad_reduce_precision_data = Precision::bf16; }, "bf16 along data");
  says([](StepOptions& o) { o.zero = 2; }, "ZeRO 2");
  says([](StepOptions& o) { o.sequence_parallel = true; }, "sequence parallelism");
  says([](StepOptions& o) { o.offload_activations = true; }, "recomputed");
}

TEST(Texts, OfWhatIsOnTheHostSayWhatItIs) {
  Record record = distinct_record();
  EXPECT_EQ(point_text(record).find("On the host"), std::string::npos);
  record.memory_on_host = {2.5e9};
  const auto says = [&](std::int64_t bucket, bool inputs, const std::string& what) {
    record.point.options = {};
    record.point.options.offload_bucket = bucket;
    record.point.options.offload_activations = inputs;
    EXPECT_NE(point_text(record).find("On the host: 2.5 GB of " + what + " a device."),
              std::string::npos);
  };
  says(1000, false, "optimizer state");
  says(0, true, "inputs of blocks");
  says(1000, true, "optimizer state and inputs of blocks");
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
  Point point;
  point.platform = platform;
  point.model = {"gpt-tiny", 5, 1024, 8, 256, 4096};
  point.grid = grid;
  point.global_batch = 96;
  point.options.micro_batches = 6;
  return point;
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
    EXPECT_EQ(number(json["total_s"]), total);
    double path = 0.0;
    for (const auto& item : json["critical_path_s"].items()) path += number(item.value());
    EXPECT_NEAR(path / total, 1.0, 1e-9);
    for (const auto& [part, time] : one.parts()) {
      EXPECT_EQ(number(json["critical_path_s"][part]), time.value) << part;
      if (time.value > 0.001 * total) {
        EXPECT_NE(text.find(part), std::string::npos) << part;
      }
    }
    for (std::size_t c = 0; c < one.channels.size(); ++c) {
      const ChannelUse& use = one.channels[c];
      if (use.collectives == 0) continue;
      const std::string lane = name(one.outcome.channels[c]);
      const nlohmann::json& said = json["lanes"][lane];
      EXPECT_EQ(number(said["exposed_s"]), use.exposed.value) << lane;
      EXPECT_EQ(number(said["hidden_s"]), use.hidden.value) << lane;
      EXPECT_EQ(number(said["in_flight_s"]), use.busy.value) << lane;
      EXPECT_EQ(number(said["latency_s"]), use.latency.value) << lane;
      EXPECT_EQ(number(said["waiting_for_devices_s"]), use.waiting.value) << lane;
      EXPECT_EQ(number(said["sent_on_wire_B_per_device"]), use.sent.value) << lane;
      EXPECT_EQ(said["members"], use.members) << lane;
      EXPECT_EQ(said["collectives_per_device"], use.collectives) << lane;
      EXPECT_NE(text.find("\n" + lane + " "), std::string::npos) << lane;
    }
    ASSERT_EQ(json["collectives"].size(), one.collectives.size());
    for (std::size_t i = 0; i < one.collectives.size(); ++i) {
      const CollectiveUse& use = one.collectives[i];
      const nlohmann::json& said = json["collectives"][i];
      EXPECT_EQ(said["kind"], name(use.kind));
      EXPECT_EQ(said["algorithm"], name(use.algorithm));
      EXPECT_EQ(number(said["buffer_B"]), use.buffer.value);
      EXPECT_EQ(said["count_per_device"], use.count);
      EXPECT_EQ(number(said["each_s"]), use.each.value);
      EXPECT_EQ(number(said["all_s"]), use.all().value);
      EXPECT_EQ(number(said["latency_share"]), use.latency_share);
      EXPECT_EQ(number(said["bus_bandwidth_B_per_s"]), use.bus_bandwidth.value);
      EXPECT_EQ(said["names"], nlohmann::json(use.names));
    }
    for (const Ideal& ideal : one.ideals) {
      EXPECT_EQ(number(json["ideals"][ideal.key]["step_s"]), ideal.time.value) << ideal.key;
      EXPECT_EQ(json["ideals"][ideal.key]["by"], ideal.by) << ideal.key;
    }
    EXPECT_EQ(json["verdict"], one.verdict());
    EXPECT_EQ(json["lanes"].size(), one.outcome.channels.size());
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

// Of each collective and buffer one variant is the library's choice; more bytes take no less.
TEST(Texts, OfCollectivesNameOneChoice) {
  for (const auto& [machine, devices, stride] : {std::tuple{"frontier", 8, 1},
                                                 {"frontier", 64, 8},
                                                 {"alps", 64, 1},
                                                 {"perlmutter", 32, 2},
                                                 {"dgx-h100", 128, 1},
                                                 {"summit", 24, 3},
                                                 {"crossbar", 16, 1},
                                                 {"selene", 64, 4}}) {
    SCOPED_TRACE(machine);
    const CollectiveTable table = collective_table(read_platform(machine), devices, stride);
    EXPECT_NE(collective_text(table).find(std::to_string(devices)), std::string::npos);
    std::map<std::pair<std::string, double>, double> fastest, chosen;
    std::map<std::string, double> before;
    const nlohmann::json json = nlohmann::json::parse(collective_json(table));
    for (const nlohmann::json& one : json["collectives"]) {
      if (one.contains("refusal")) continue;
      const auto kind = one["collective"].get<std::string>();
      const double bytes = number(one["buffer_bytes"]), time = number(one["time_us"]);
      const std::string way = kind + one["variant"].get<std::string>();
      EXPECT_GE(time, before[way] * (1.0 - 1e-9)) << way << " of " << bytes;
      before[way] = time;
      double& best = fastest.try_emplace({kind, bytes}, time).first->second;
      best = std::min(best, time);
      if (!one["automatic"].get<bool>()) continue;
      EXPECT_TRUE(chosen.try_emplace({kind, bytes}, time).second) << way << " is chosen besides";
    }
    EXPECT_EQ(chosen.size(), fastest.size());
    for (const auto& [of, time] : chosen) EXPECT_GE(time, fastest.at(of));
    EXPECT_GT(chosen.size(), 5U);
  }
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
