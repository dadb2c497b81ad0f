// Puts judgements into words; see report.hpp.
#include "bench/regress/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scaling/words/text_table.hpp"
#include "support/exit_status.hpp"
#include "support/markup_text.hpp"
#include "support/prose.hpp"

namespace fourfold::inline bench::inline regress {

namespace {

bool failed(const Judgement& judgement) {
  return judgement.standing == Standing::slower || judgement.standing == Standing::changed;
}

std::string number(double value) {
  return value < 10 ? fmt::format("{:.3f}", value) : fmt::format("{:.1f}", value);
}

std::string beside_own(Scale scale, double judged) {
  return scale == Scale::own_product ? fmt::format("{:.3f}", judged) : "-";
}

std::string words(const Judgement& j) {
  if (j.standing == Standing::missing) return "was not measured in this run";
  if (j.standing == Standing::changed) {
    return fmt::format("is {:.17g} {}, recorded as {:.17g}", j.value, j.reference.unit,
                       j.reference.value);
  }
  return fmt::format("{:+.1f} % {}, allowed {:+.0f} %; rank test {:.1e}", 100 * j.change,
                     j.scale == Scale::own_product ? "beside our own product" : "of the reference",
                     100 * j.reference.lower, j.chance);
}

std::string words(const Straggler& straggler) {
  return fmt::format("{} is {:.0f} % below the median of its peers in {}: {} against {}",
                     straggler.who, 100 * (1 - straggler.rate / straggler.median_of_peers),
                     straggler.what, number(straggler.rate), number(straggler.median_of_peers));
}

std::string measured_table(const MachineRun& run) {
  TextTable table{{{"quantity", "", Align::left},
                   {"median", ""},
                   {"unit", "", Align::left},
                   {"beside", "our own"},
                   {"p50", "of best"},
                   {"n", ""}},
                  {}};
  for (const Metric& q : run.metrics) {
    const bool exact = q.scale == Scale::exact;
    table.rows.push_back(
        {q.name, number(q.value), q.unit, beside_own(q.scale, q.judged),
         exact ? "-" : fmt::format("{:.2f}", median(q.samples) / nearest_rank(q.samples, 1.0)),
         exact ? "-" : std::to_string(q.samples.size())});
  }
  return format(table);
}

// What is judged, on its scale.
std::string compared_table(const std::vector<Judgement>& judgements) {
  TextTable table{{{"quantity", "", Align::left},
                   {"old", ""},
                   {"new", ""},
                   {"in", "", Align::left},
                   {"ratio", ""},
                   {"interval", "95 %"},
                   {"allowed", "ratio"},
                   {"", "", Align::left}},
                  {}};
  for (const Judgement& j : judgements) {
    const bool exact = j.scale == Scale::exact, missing = j.standing == Standing::missing;
    table.rows.push_back(
        {j.name, number(j.recorded), missing ? "-" : number(j.judged),
         j.scale == Scale::own_product ? "own products" : j.reference.unit,
         exact || missing ? "-" : fmt::format("{:.3f}", 1.0 + j.change),
         exact || missing ? "-" : fmt::format("{:.3f}-{:.3f}", j.least_ratio, j.most_ratio),
         exact ? "bit by bit" : fmt::format("{:.3f}", 1.0 + j.reference.lower), name(j.standing)});
  }
  return format(table);
}

nlohmann::ordered_json json_of(const Judgement& j) {
  return {{"name", j.name},
          {"reference",
           {{"value", j.reference.value},
            {"lower", j.reference.lower},
            {"upper", j.reference.upper},
            {"unit", j.reference.unit}}},
          {"scale", name(j.scale)},
          {"value", j.value},
          {"on_scale", j.judged},
          {"recorded_on_scale", j.recorded},
          {"change", j.change},
          {"ratio_interval", {j.least_ratio, j.most_ratio}},
          {"chance", j.chance},
          {"standing", name(j.standing)}};
}

// Why nobody knows.
std::string disturbance(const MachineRun& run) {
  if (run.stolen_cores > run.lost_cores() / 2) {
    return fmt::format(
        "could not judge: the hypervisor kept {:.1f} cores for other machines, which nobody here "
        "can hold off;\nmeasure again later, or on a host of its own\n",
        run.stolen_cores);
  }
  return fmt::format(
      "could not judge: other processes held {:.1f} cores; measure again while the machine is "
      "idle\n",
      run.foreign_cores);
}

}  // namespace

bool RegressReport::undecided() const {
  constexpr double quiet = 0.25;  // cores; an idle machine has a few hundredths
  if (run.lost_cores() < quiet) return false;
  const auto standing = [this](Standing of) {
    return std::any_of(judgements.begin(), judgements.end(),
                       [of](const Judgement& j) { return j.standing == of; });
  };
  return !standing(Standing::changed) && (!stragglers.empty() || standing(Standing::slower));
}

int RegressReport::status() const {
  if (recorded) return 0;
  if (undecided()) return status_not_judged;
  if (!stragglers.empty() || std::any_of(judgements.begin(), judgements.end(), failed)) return 1;
  const bool missing = std::any_of(judgements.begin(), judgements.end(), [](const Judgement& j) {
    return j.standing == Standing::missing;
  });
  return missing ? 2 : 0;
}

std::string regress_text(const RegressReport& report) {
  std::string text =
      fmt::format("{}, {}; {}\nFMA peak {:.0f} Gflop/s of all ranks", report.provenance.cpu,
                  counted(static_cast<std::int64_t>(report.run.ranks.size()), "rank"),
                  report.libraries, report.run.fma_peak);
  if (report.compared) {
    text += fmt::format(", {:+.0f} % of the baseline's; products are judged beside one of our own",
                        100 * (report.run.fma_peak / report.baseline_fma - 1));
  }
  text += "\n\n";
  text += report.compared ? compared_table(report.judgements) : measured_table(report.run);
  text += "\n";
  if (!report.wider.empty()) {
    text += fmt::format(
        "--allow holds not for these, which differ by more on a machine that has not changed: {}; "
        "--allow 'NAME=5%' would.\n",
        fmt::join(report.wider, "; "));
  }
  for (const Judgement& j : report.judgements) {
    if (failed(j) || j.standing == Standing::missing) text += j.name + " " + words(j) + "\n";
  }
  for (const Straggler& straggler : report.stragglers) text += words(straggler) + "\n";
  if (report.status() == 0 && report.stragglers.empty()) {
    text += report.compared ? fmt::format("no regression against {}\n", report.baseline)
                            : "no rank and no node lies behind its peers\n";
  }
  if (report.attempts > 1) {
    text += fmt::format("measured {} times, because the first looked slower; the best counts\n",
                        report.attempts);
  }
  if (report.undecided()) text += disturbance(report.run);
  return hanging(text, 0);
}

std::string regress_json(const RegressReport& report) {
  nlohmann::ordered_json metrics = nlohmann::ordered_json::array();
  for (const Metric& q : report.run.metrics) {
    metrics.push_back({{"name", q.name},
                       {"value", q.value},
                       {"unit", q.unit},
                       {"scale", name(q.scale)},
                       {"on_scale", q.judged},
                       {"n", q.samples.size()}});
  }
  nlohmann::ordered_json judgements = nlohmann::ordered_json::array();
  for (const Judgement& j : report.judgements) judgements.push_back(json_of(j));
  nlohmann::ordered_json behind = nlohmann::ordered_json::array();
  for (const Straggler& s : report.stragglers) {
    behind.push_back({{"who", s.who},
                      {"what", s.what},
                      {"rate", s.rate},
                      {"median_of_peers", s.median_of_peers}});
  }
  nlohmann::ordered_json line{{"provenance", json_of(report.provenance)},
                              {"kernels", report.libraries},
                              {"ranks", report.run.ranks.size()},
                              {"fma_peak_Gflops", report.run.fma_peak},
                              {"attempts", report.attempts},
                              {"others_held_off", report.run.held_off},
                              {"foreign_cores", report.run.foreign_cores},
                              {"stolen_cores", report.run.stolen_cores},
                              {"undecided", report.undecided()},
                              {"status", report.status()},
                              {"metrics", metrics},
                              {"judgements", judgements},
                              {"stragglers", behind}};
  if (report.compared) line["baseline"] = report.baseline;
  return line.dump() + "\n";
}

std::string regress_junit(const RegressReport& report) {
  std::string cases;
  std::int64_t failures = 0, errors = 0;
  const auto add = [&cases](const std::string& name, const std::string& inner) {
    cases +=
        fmt::format("  <testcase classname=\"fourfold.regress\" name=\"{}\"", markup_text(name));
    cases += inner.empty() ? std::string("/>\n") : ">" + inner + "</testcase>\n";
  };
  for (const Judgement& j : report.judgements) {
    std::string inner;
    if (failed(j)) {
      ++failures;
      inner = fmt::format("<failure message=\"{}\"/>", markup_text(words(j)));
    } else if (j.standing == Standing::missing) {
      ++errors;
      inner = fmt::format("<error message=\"{}\"/>", markup_text(words(j)));
    }
    add(j.name, inner);
  }
  std::string inner;
  for (const Straggler& straggler : report.stragglers) {
    inner += fmt::format("<failure message=\"{}\"/>", markup_text(words(straggler)));
  }
  failures += inner.empty() ? 0 : 1;
  add("ranks and nodes keep up with their peers", inner);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"fourfold regress\" "
      "tests=\"{}\" failures=\"{}\" errors=\"{}\" timestamp=\"{}\" hostname=\"{}\">\n{}"
      "</testsuite>\n",
      report.judgements.size() + 1, failures, errors, markup_text(report.provenance.time),
      markup_text(report.provenance.host), cases);
}

}  // namespace fourfold::inline bench::inline regress
