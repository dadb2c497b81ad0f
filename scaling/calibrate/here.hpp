// Simulated against measured on this machine: how far, in what order, and which kind of operation
// is off.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scaling/calibrate/here_runs.hpp"

namespace fourfold::inline scaling::inline calibrate {

struct HereCase {
  HereRun run;
  HereStep measured;
  Seconds simulated;
  std::array<Seconds, kernel_groups> kernels{};  // as projected
  Seconds exposed;

  double speed = 1.0;  // of the machine during the run, over that during calibration

  // At the machine's speed during the run.
  double deviation() const { return at_this_speed() / measured.median - 1.0; }
  double at_this_speed() const { return simulated.value / speed; }
  double raw_deviation() const { return simulated.value / measured.median - 1.0; }
};

// Grids of one model that the measurement tells apart: their quartile ranges do not overlap.
struct GridOrder {
  std::size_t pairs = 0, all = 0;
  double tau = 0.0;  // Kendall's, of measured and simulated steps over those pairs
};
GridOrder order_of(const std::vector<HereCase>& cases);

// What the ladder must hold on a machine that was calibrated; 0.1 = 10 %.
inline constexpr double most_median = 0.10, most_worst = 0.25, least_tau = 0.7;

struct HereOrder {
  std::string platform;  // empty: this machine is calibrated into the folder
  std::string folder = "results/here";
  std::string transport = "ring";
  bool json = false;
};
// Calibrates where nothing is there, trains what is not kept, simulates all, prints. Returns the
// exit status: 1 if a target is missed.
int validate_here(const HereOrder& order);

std::string here_text(const std::vector<HereCase>& cases);
std::string here_json(const std::vector<HereCase>& cases);
// Sentences about targets that are missed.
std::vector<std::string> missed_targets(const std::vector<HereCase>& cases);

}  // namespace fourfold::inline scaling::inline calibrate
