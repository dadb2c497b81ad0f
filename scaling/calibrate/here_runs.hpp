// The ladder closed on this machine: short trainings on 1 to 4 ranks, none of which calibration has
// seen, measured with the real engine and kept as they come.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "schedule/models/model.hpp"
#include "schedule/program/process_grid.hpp"
#include "schedule/program/step_options.hpp"
#include "sim/explain/explanation.hpp"

namespace fourfold::inline scaling::inline calibrate {

struct HereRun {
  Model model;
  ProcessGrid grid;
  std::int64_t batch = 8;  // sequences
  StepOptions options;
  std::int64_t steps = 12;  // the first few of which do not count
  std::uint64_t seed = 1;   // of the weights and the order of the data
  // What starts the ranks, such as srun with its flags; empty: mpirun, here.
  std::vector<std::string> launch = {};
  std::string data = {};  // a file; empty: text that Debian ships

  std::string id() const { return model.name + ' ' + grid.str(); }
};

// Three models on ten grids each.
std::vector<HereRun> here_runs();

// What a step of a run took, mean over ranks but for the step itself, which is the slowest rank's.
struct HereStep {
  double median = 0.0, low = 0.0, high = 0.0;  // seconds: quartiles
  std::int64_t steps = 0;
  std::array<double, kernel_groups> kernels{};  // by group
  double exposed = 0.0;
  double reference = 0.0;      // of the reference product beside the steps
  double foreign_cores = 0.0;  // that other processes kept busy meanwhile
  // What the store of a calibration leaves out: the log's first line, and waits by channel.
  nlohmann::json header = nullptr;
  std::map<std::string, double> exposed_by = {};
};

// Of these steps of a run the first do not count: caches, buffers and the clock settle.
inline constexpr std::int64_t settling_steps = 3;

// Trains on this machine, in `folder`, which is taken away afterwards; once more where
// other processes kept a core busy meanwhile, and then the least disturbed run counts. Throws
// std::runtime_error with a sentence if the engine fails, and Interrupted.
HereStep train_here(const HereRun& run, const std::string& transport, const std::string& folder);

// From the training log of a run. Throws std::runtime_error if it has too few steps.
HereStep step_of_log(const std::string& path);

// The file of runs that were measured, a line each; measured again only with other settings
// or on another processor.
class HereStore {
 public:
  explicit HereStore(std::string path);
  // Measures with `measure` and keeps it, unless it is there.
  HereStep step(const HereRun& run, const std::string& transport,
                const std::function<HereStep()>& measure);

 private:
  struct Row {
    std::string key;
    HereStep step;
  };

  std::string path_;
  std::vector<Row> rows_;
};

}  // namespace fourfold::inline scaling::inline calibrate
