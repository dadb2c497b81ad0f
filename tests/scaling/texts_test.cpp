// What people and programs get of a record whose numbers are all different, word for word: a number
// in the wrong place shows. It is long because every text has its made-up numbers beside it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "scaling/study/figure.hpp"
#include "scaling/study/record_json.hpp"
#include "scaling/study/report.hpp"
#include "scaling/study/study.hpp"
#include "scaling/study/study_table.hpp"
#include "scaling/study/system_table.hpp"
#include "scaling/text/collective_table.hpp"
#include "scaling/text/detail_text.hpp"
#include "scaling/text/explanation_text.hpp"
#include "scaling/text/point_text.hpp"
#include "scaling/text/throughput_text.hpp"
#include "tests/golden.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold {
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

TEST(Texts, OfARecordAsJsonAreTheGoldenOnes) {
  expect_golden("records.json", golden_json(distinct_record()) + golden_json(pipeline_record()));
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

// What each stage of a pipeline says about its options is left to later options' own tests.
std::string without_options(std::string text) {
  const std::size_t begin = text.find("Options: ");
  const std::size_t end = text.find(".\n", begin);
  EXPECT_NE(end, std::string::npos);
  return text.erase(begin, end + 2 - begin);
}

TEST(Texts, OfAPointAreTheGoldenOnes) {
  std::string text;
  for (const Record& record : {distinct_record(), pipeline_record(), estimated_record()}) {
    text += without_options(point_text(record)) + "\n=====\n";
  }

  expect_golden("points.txt", text);
}

TEST(Texts, OfASearchAreTheGoldenOnes) {
  std::string text;
  for (const Record& record : {distinct_record(), pipeline_record(), estimated_record()}) {
    text += without_options(search_text(record)) + "\n=====\n";
  }

  expect_golden("searches.txt", text);
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
}

Study study_of_two_machines() {
  Record alps = pipeline_record();
  alps.point.platform = "alps";
  Record small = distinct_record();
  small.point.grid = ProcessGrid(2, 8, 32, 2);
  small.model_flops = {1e18};
  small.outcome.total = {21.0};
  small.tau = 0.25;
  small.regret = 0.125;
  Record third = estimated_record();
  third.point.grid = ProcessGrid(2, 8, 32, 4);
  Study study =
      make_study({"", "Two machines", {}, {}, {}, ""}, {small, distinct_record(), third, alps});
  study.published_source = "somebody";
  study.rows[0].published = {{20.0}};
  study.rows[0].published_rate = {{4e16}};
  study.rows[1].published = {{26.0}};
  study.rows[1].derived = true;
  return study;
}

// Two models on a growing machine, each as it is and with half the bandwidth, the latter with three
// seeds; of the smallest job all grids were simulated.
Study study_of_changes() {
  Campaign campaign;
  campaign.title = "Changes";
  campaign.tokens = 2e12;
  campaign.axis = "bandwidth";
  std::vector<Record> records;
  for (const char* model : {"gpt-small", "gpt, \"large\""}) {
    for (std::int64_t devices : {1024, 4096}) {
      for (std::int64_t repetition : {0, 1, 2, 3}) {
        Record one = distinct_record();
        one.point.model.name = model;
        one.point.grid = ProcessGrid(2, 8, 32, devices / 512);
        const double halved = repetition == 0 ? 0.0 : 3.0 + 0.25 * static_cast<double>(repetition);
        one.outcome.total = {20.0 + static_cast<double>(devices) / 1024.0 + halved};
        records.push_back(one);
        campaign.tags.push_back(repetition == 0 ? PointTag{"as it is", 1.0, 1, "as it is"}
                                                : PointTag{"half", 0.5, repetition, "half"});
      }
    }
  }
  return make_study(campaign, records, campaign.tags);
}

Study study_of_all_grids() {
  Record one = distinct_record();
  one.feasible = 3;
  one.left_out = 0;
  one.simulated = {{ProcessGrid(4, 4, 32, 16), 2, {17.0}, {{20.5}}, {3.5}},
                   {ProcessGrid(2, 8, 32, 16), 2, {16.0}, {{21.0}}, {3.75}},
                   {ProcessGrid(8, 2, 32, 16), 1, {18.0}, {{25.0}}, {3.25}}};
  one.point.grid = ProcessGrid(4, 4, 32, 16);
  one.point.options.micro_batches = 2;
  one.paper_choice = one.simulated[2];
  one.tau = 0.3333;
  return make_study({}, {one});
}

TEST(Texts, OfFiguresAreTheGoldenOnes) {
  std::string text;
  for (const Study& study : {study_of_two_machines(), study_of_changes(), study_of_all_grids()}) {
    for (const FigureKind& kind : figure_kinds()) {
      text += fmt::format("== {}\n{}", kind.name, figure_csv(kind.name, study));
    }
    text += "== tables\n" + ranks_text(study) + sweep_table(study) + run_table(study) +
            reference_text(study) + '\n' + unit_text(study) + '\n' +
            system_table(study, Width::whole);
  }
  expect_golden("figures.txt", text);
}

// Without its style and its script.
TEST(Texts, OfReportsAreTheGoldenOnes) {
  const TemporaryFolder folder;
  write_content(folder.file("a & b.svg"), "<svg>4D</svg>");
  const ReportParts parts{"[study]\n",
                          {folder.file("a & b.svg")},
                          {"no grid <fits>", "nor here"},
                          "rows & columns\n",
                          {}};
  std::string text;
  for (const Study& study : {study_of_two_machines(), study_of_changes(), study_of_all_grids()}) {
    const std::string html =
        report_html(study, study.rows.size() == 4 ? parts : ReportParts{"", {}, {}, "", {}});
    const std::size_t body = html.find("<h1"), script = html.find("<script>");
    ASSERT_LT(body, script);
    text += html.substr(body, script - body) + '\n';
  }
  expect_golden("reports.txt", text);
}

TEST(Texts, OfAStudyAreTheGoldenOnes) {
  const Study study = study_of_two_machines();

  expect_golden("studies.txt", study_table(study) + '\n' + study_csv(study));
}

TEST(Texts, OfAStudyNameTheUnitOfItsRates) {
  Record record = distinct_record();
  record.model_flops = {2e12};
  const std::string text = study_table(make_study({"", "A laptop", {}, {}, {}, ""}, {record}));

  EXPECT_EQ(text.find("Pflop/s"), std::string::npos) << text;
  EXPECT_NE(text.find("flop/s and what is published are model flops"), std::string::npos) << text;
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

TEST(Texts, OfADetailAreTheGoldenOnes) {
  const std::vector<Channel> channels = made_up_channels();
  ReplayDetail nobody_waits = detail_of(channels.size());
  for (ClassUse& use : nobody_waits.classes) use.late.assign(channels.size(), {});
  ReplayDetail nobody_is_last = detail_of(channels.size());
  nobody_is_last.latecomers.clear();

  expect_golden("details.txt", detail_text(detail_of(channels.size()), channels) + "=====\n" +
                                   detail_text(nobody_waits, channels) + "=====\n" +
                                   detail_text(nobody_is_last, channels));
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

// Numbers to nine digits: the last ones are the compiler's.
nlohmann::json rounded(nlohmann::json value) {
  if (value.is_structured()) {
    for (nlohmann::json& inner : value) inner = rounded(inner);
    return value;
  }
  if (!value.is_number_float()) return value;
  return nlohmann::json(std::to_string(value.get<double>()) == "0.000000"
                            ? fmt::format("{:.6g}", value.get<double>())
                            : fmt::format("{:.9g}", value.get<double>()));
}

TEST(Texts, OfExplanationsAreTheGoldenOnes) {
  std::string text;
  Point pipeline = small_point("selene", ProcessGrid(2, 2, 1, 4, 2));
  pipeline.options.order = PipelineOrder::interleaved;
  pipeline.options.chunks = 2;
  for (const Point& point :
       {small_point("frontier", ProcessGrid(2, 2, 4, 2)), pipeline,
        small_point("crossbar", ProcessGrid(1, 1, 1, 1)),
        small_point("alps", ProcessGrid(1, 1, 2, 8)), small_point("selene", {1, 1, 1, 1, 4})}) {
    const Explanation one = explain(point, read_platform(point.platform), std::nullopt);
    text += explanation_text(one) + rounded(json_of(one)).dump(1) + "\n=====\n";
  }

  expect_golden("explanations.txt", text);
}

// The simulated seconds are made up: twice the closed form's.
TEST(Texts, OfASimulatedExplanationAreTheGoldenOnes) {
  Point point = small_point("frontier", ProcessGrid(2, 2, 4, 2));
  const Platform platform = read_platform("frontier");
  const Explanation closed = explain(point, platform, std::nullopt);
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
  const Explanation explanation = explain(point, platform, simulated);

  expect_golden("explanation_simulated.txt",
                explanation_text(explanation) + rounded(json_of(explanation)).dump(1) + '\n');
}

TEST(Texts, OfCollectivesAreTheGoldenOnes) {
  std::string text;
  for (const auto& [machine, devices, stride] : {std::tuple{"frontier", 8, 1},
                                                 {"frontier", 64, 8},
                                                 {"frontier", 16, 4},
                                                 {"alps", 64, 1},
                                                 {"perlmutter", 32, 2},
                                                 {"dgx-h100", 128, 1},
                                                 {"summit", 24, 3},
                                                 {"crossbar", 16, 1},
                                                 {"aurora", 36, 2},
                                                 {"selene", 64, 4}}) {
    const CollectiveTable table = collective_table(read_platform(machine), devices, stride);
    text += collective_text(table) + '\n';
    for (const nlohmann::json& one : nlohmann::json::parse(collective_json(table))["collectives"]) {
      const nlohmann::json cell = rounded(one);
      if (cell.contains("refusal")) continue;
      text += cell["collective"].get<std::string>() + ' ' + cell["buffer_bytes"].dump() + ' ' +
              cell["variant"].get<std::string>() + ' ' + cell["protocol"].get<std::string>() + ' ' +
              cell["time_us"].get<std::string>() + (cell["automatic"] ? " *\n" : "\n");
    }
  }

  expect_golden("collectives.txt", text);
}

}  // namespace
}  // namespace fourfold
