// What if the job lay elsewhere, devices were not alike, or links were worse than they should be:
// the conditions of a point that its platform file does not say. One word each, the same on the
// command line, in campaigns, in points and in records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cost/collective_tuning.hpp"

namespace fourfold::inline sim::inline conditions {

// "packed", "spread" and "random", or a list in the order of ranks: "nodes=0-127,130",
// "devices=...".
enum class Placing : std::uint8_t { packed, spread, random, nodes, devices };

struct Placement {
  Placing by = Placing::packed;
  std::vector<std::int64_t> list;  // nodes, devices

  bool operator==(const Placement&) const = default;
};

// "COUNT:SPEED", spread evenly over the ranks, or devices by number: "17,4000=0.5". A device at
// speed 0.5 computes twice as long.
struct SlowDevices {
  std::int64_t count = 0;
  std::vector<std::int64_t> devices;  // of the machine; then there is no count
  double speed = 1.0;

  bool none() const { return count == 0 && devices.empty(); }
  bool operator==(const SlowDevices&) const = default;
};

// "LINK=SPEED": the link, in both directions, has this part of its bandwidth.
struct Degradation {
  std::string link;
  double speed = 1.0;

  bool operator==(const Degradation&) const = default;
};

// "LINK" or "LINK=COUNT": so many of the link's cables are gone.
struct Failure {
  std::string link;
  std::int64_t cables = 1;

  bool operator==(const Failure&) const = default;
};

struct WhatIfs {
  Placement placement;
  double jitter_percent = 0.0;  // "2%": see Jitter
  SlowDevices slow_devices;
  std::vector<Degradation> degrade;  // sim/conditions/link_faults.hpp knows the links' names
  std::vector<Failure> fail;
  CollectiveTuning collective;
  std::uint64_t seed = 1;  // of jitter and of random placement

  // Whether all ranks and links still behave alike, so that the closed form holds.
  bool uniform() const {
    return placement.by == Placing::packed && jitter_percent == 0.0 && slow_devices.none() &&
           degrade.empty() && fail.empty();
  }
  bool needs_seed() const { return jitter_percent > 0.0 || placement.by == Placing::random; }
  bool operator==(const WhatIfs&) const = default;
};

const char* name(Placing placing);

// Numbers as words and back: "0-127,130,5". Order is kept; ranges go up. Throws std::runtime_error.
std::string words_of(const std::vector<std::int64_t>& numbers);
std::vector<std::int64_t> numbers_in(const std::string& words);

// One sentence for each what-if, without the full stop's line end; none if there is none. `ranks`
// is the size of the job.
std::vector<std::string> sentences(const WhatIfs& what_ifs, std::int64_t ranks);

// The ranks that SlowDevices::count stands for: the middles of `count` equal parts of the job.
std::vector<std::int64_t> evenly_spread_ranks(std::int64_t count, std::int64_t ranks);

}  // namespace fourfold::inline sim::inline conditions
