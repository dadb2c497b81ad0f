// What has been measured on this machine, one JSON object a line, kept as it goes: a run that is
// stopped goes on behind its last line.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "engine/cpu/reference_product.hpp"
#include "engine/train/run/world.hpp"

namespace fourfold::inline engine::inline train::inline measure {

// Seconds of each repetition.
using Times = std::vector<double>;

// The quartiles of all ranks' repetitions, and how many of one rank there were.
struct Timing {
  double median = 0.0, low = 0.0, high = 0.0;
  std::int64_t repetitions = 0;
  double reference = 0.0;  // of the reference product between repetitions; 0: before and after
};
Timing timing_of(Times times);

class Measurements {
 public:
  // Collective: rank 0 reads what the file has and writes to it, and says how far it is, of
  // `all`, on standard error. Throws std::runtime_error with a sentence if the file is of something
  // else or cannot be written.
  Measurements(const World& world, std::string path, std::string activity);

  // Calls `measure` unless the file has that measurement, which `what` names, made on as many
  // ranks. Collective.
  void want(nlohmann::ordered_json what, const std::function<Timing()>& measure);
  // How many will be wanted in all, for the time that is left.
  void expect(std::int64_t all) { all_ = all; }

  const World& world() const { return world_; }

 private:
  struct Measured {
    Timing timing;
    double reference = 0.0;      // seconds of the reference product, before and after
    double foreign_cores = 0.0;  // that other processes kept busy meanwhile
  };
  Measured measured(const std::function<Timing()>& measure);
  // Again while other processes keep a good part of a core busy, but not for ever.
  Measured undisturbed(const std::function<Timing()>& measure);
  void keep(const nlohmann::ordered_json& what, const Measured& measured);
  void say();

  const World& world_;
  ReferenceProduct reference_;
  std::string path_, activity_;
  std::set<std::string> known_;
  std::int64_t all_ = 0, seen_ = 0, made_ = 0;
  double began_ = 0.0, said_ = 0.0;  // on the wall clock
};

// What a rank does again and again, in seconds of its thread's CPU time: at least `least` times and
// for so many seconds. Each time the processor's own caches are filled with something else first,
// as they are in a step.
struct TimingPatience {
  std::int64_t least = 7;
  double seconds = 0.03;
};
Times repeated(const std::function<void()>& work, const TimingPatience& patience);

// The mean over ranks of their quartiles: each has timed itself, all at once. Collective.
Timing on_all_ranks(const World& world, const Times& own);
Timing on_all_ranks(const World& world, const Timing& own);

}  // namespace fourfold::inline engine::inline train::inline measure
