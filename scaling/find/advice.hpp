// Which number of devices to ask for: a model, its tokens and what it may cost, answered for
// several numbers with failures and checkpoints counted.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/operation.hpp"
#include "scaling/find/failures.hpp"
#include "scaling/find/find_answer.hpp"
#include "scaling/find/granted.hpp"
#include "scaling/records/record.hpp"

namespace fourfold::inline scaling::inline find {

struct AdviceWish {
  std::vector<Question> questions;  // one for each number of devices, ascending
  double tokens = 0.0;
  std::optional<double> deadline_days;
  std::optional<double> node_hours;
  Seconds restart;  // without reading the checkpoint
  Fidelity fidelity = Fidelity::estimated;
  StoppingRule rule;
};

// Of a job on so many nodes; absent where the platform does not know how often nodes fail.
struct Failures {
  CheckpointCost cost;
  Seconds interval;      // Daly's, or a step where that is longer
  double stretch = 1.0;  // of the days
  double tenfold = 1.0;  // the same with ten times as many failures, at the interval for those
  // What the nodes' adapters send, where the file system would write more.
  std::optional<BytesPerSecond> adapters = {};
};

// A run that takes longer never ends, whatever is asked of it.
inline constexpr double most_days = 1e6;

struct AdviceOption {
  Record record;
  std::int64_t nodes = 0;
  double step_days = 0.0;  // without failures and checkpoints
  std::optional<Failures> failures;
  std::optional<double> energy_MWh;

  double days() const { return step_days * (failures ? failures->stretch : 1.0); }
  double node_hours() const { return 24.0 * days() * static_cast<double>(nodes); }
  bool ends() const { return days() <= most_days; }
};

struct Advice {
  AdviceWish wish;
  Platform platform;
  MachineOperation operation;
  Bytes checkpoint;  // fp32 weights and both moments of AdamW, as the engine writes them
  std::vector<AdviceOption> options;  // ascending devices; empty: nothing fits
  std::vector<std::string> refused;   // why a number of devices is not among them
  bool holds = false;                 // deadline and budget, by the chosen one
  std::size_t chosen = 0;             // the nearest to deadline and budget if none holds
  std::optional<std::size_t> second;

  std::string reasons() const;  // all of refused
};

// With a deadline the fewest node-hours that meet it, with a budget only the fewest days; with
// neither the fewest days for at most a tenth more node-hours than the fewest.
inline constexpr double worth_of_haste = 1.1;

// Tells `watch` which question of how many is at what. Throws FindingFailed with the reasons of all
// if no question has an answer, unless that is because nothing fits any number the machine has.
Advice advise(const AdviceWish& wish, const ProgressWatch& watch);

// Of the options that were found: fills holds, chosen and second.
void choose(Advice& advice);

// Another value of what the advice takes for granted, and the devices that would be advised with
// it, each number of them on its grid by estimate, of those that can run it.
struct OtherAdvice {
  Granted with;  // its change of the seconds of a token on the devices that are advised now
  std::int64_t devices = 0;
};
std::vector<OtherAdvice> other_advice(const Advice& advice);

// One object, for --json.
nlohmann::json json_of(const Advice& advice);

}  // namespace fourfold::inline scaling::inline find
