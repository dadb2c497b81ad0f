// A record is one answer at one fidelity, with everything it depended on: what the tables, the CSV
// and the plots are made of.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "scaling/bars/error_bar.hpp"
#include "scaling/records/finding.hpp"
#include "scaling/records/provenance.hpp"
#include "scaling/records/question.hpp"
#include "schedule/program/program.hpp"
#include "sim/estimate/step_spread.hpp"
#include "sim/question/throughput.hpp"

namespace fourfold::inline scaling::inline records {

struct GridSeconds {
  ProcessGrid grid;
  std::int64_t micro_batches = 1;
  Seconds estimated;
  std::optional<Seconds> simulated;
  Seconds paper;  // communication by the paper's own model, sim/cost/paper_model.hpp
};

// What a training on this machine was, besides its seconds.
struct MeasuredStep {
  Seconds low, high;       // quartiles of the steps that count
  std::int64_t steps = 0;  // that count
  std::uint64_t seed = 1;
  std::string transport, cpu, libraries;
  std::map<std::string, double> kernels_s;  // of a step, mean over ranks
  double reference_s = 0.0;                 // of a small product beside the steps
  double foreign_cores = 0.0;               // that other processes kept busy
};

struct Record {
  std::string key;  // equal keys: same question, same platform file, same executables
  Fidelity fidelity = Fidelity::estimated;
  Point point;  // with the grid and micro-batches that won
  Outcome outcome;
  Seconds estimated;                               // of the same point
  Bytes memory;                                    // peak per device, without the reserve
  std::vector<Bytes> memory_by_stage;              // of a pipeline; the fullest one's is `memory`
  Bytes memory_limit;                              // what the reserve leaves
  std::optional<double> chance_to_fit;             // absent in records of old
  Bytes memory_on_host;                            // per device, of what is offloaded
  std::array<Bytes, role_count> memory_by_role{};  // at the peak
  Flops executed;                                  // per device, what the kernels do
  std::vector<Bytes> sent;                         // per device, by rings; as Outcome::channels
  Flops model_flops;  // all devices, in the convention named beside it in every file
  FlopsPerSecond advertised_peak, empirical_peak;  // per device

  std::int64_t tried = 0;     // grids x micro-batches
  std::int64_t feasible = 0;  // of them
  std::map<std::string, std::int64_t> rejected;
  std::vector<GridSeconds>
      best_grids;                      // the ten best by estimate, each with its best micro-batches
  GridSeconds paper_choice;            // the feasible grid that the paper's model ranks first
  std::vector<GridSeconds> simulated;  // in the order they were simulated
  std::int64_t left_out = 0;           // simulations given up at the rule's limit of work
  std::string verdict;                 // why no more were: settled, exhausted, capped; or empty
  std::optional<double> tau, regret;   // over those simulated
  std::optional<ReplayAnswer> replay;  // of the winner; its outcome is the record's
  std::optional<Seconds> uniform;      // simulated, of the same point without its what-ifs, if any
  // Of a measured record alone, which has no estimate, search or replay: total is the median step,
  // and both peaks are the one that was measured beside it.
  std::optional<MeasuredStep> measured;

  std::optional<ErrorBar> bar;  // of the seconds; absent in records of old, and without sources
  // Absent of measured records, in those of old, and where the machine says nothing of it.
  std::optional<StepSpread> varies;

  std::string system;                 // a name; empty: none
  std::string software, software_by;  // a name, and who chose it: "machine", "system", ...
  SetBy set_by;                       // who set which option; with a system only
  std::string platform_title, platform_digest;
  Provenance provenance;

  Seconds seconds() const { return outcome.total; }
  std::int64_t devices() const { return point.grid.size(); }
  FlopsPerSecond rate() const { return {model_flops.value / outcome.total.value}; }  // all devices
  double of_advertised() const { return rate().value / (advertised_peak.value * devices()); }
  double of_empirical() const { return rate().value / (empirical_peak.value * devices()); }
  Throughput throughput() const { return fourfold::throughput(point, seconds(), advertised_peak); }
  // Without the bubble of a pipeline, which is waiting for another stage.
  double exposed_share() const {
    return (outcome.exposed_total() - outcome.bubble) / outcome.total;
  }
};

// Least and most seconds of the ten best grids: simulated ones count as simulated, the others as
// their estimate times simulated / estimated of the winner.
struct Spread {
  Seconds least, most;
};
Spread spread(const Record& record);

// A record's seconds as grids are chosen and compared: what-ifs that tell ranks or links apart are
// of a last simulation only.
Seconds seconds_without_what_ifs(const Record& record);

// The seconds of one of the ten best grids, as a spread counts them: without such what-ifs.
Seconds seconds_of(const GridSeconds& grid, const Record& record);

// Whether a lead that small is a tie by the bar: seconds over those of the faster one.
bool ties(const std::optional<ErrorBar>& bar, Seconds faster, Seconds slower);

// What decides whether a record answers a question again: the question, its files, and who answers.
std::string record_key(const Question& question, Fidelity fidelity, const StoppingRule& rule,
                       const std::string& executables = digest_of_executables());

// The record of a finding at a fidelity that it reached: a simulated finding gives both.
Record make_record(const Question& question, const Finding& finding, Fidelity fidelity,
                   const StoppingRule& rule);

}  // namespace fourfold::inline scaling::inline records
