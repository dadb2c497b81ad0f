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

// "COUNT:SPEED" or "PERCENT%:SPEED", spread evenly over the ranks, or devices by number:
// "17,4000=0.5"; those of several speeds with + between them. A device at speed 0.5 computes twice
// as long.
struct SlowDevices {
  std::int64_t count = 0;
  std::vector<std::int64_t> devices;  // of the machine; then there is no count
  double speed = 1.0;
  double percent = 0.0;              // of the job; then there is no count
  std::vector<SlowDevices> besides;  // of other speeds

  bool none() const { return count == 0 && percent == 0.0 && devices.empty(); }
  bool operator==(const SlowDevices&) const = default;
};

// "LINK=SPEED": the link, in both directions, has this part of its bandwidth.
struct Degradation {
  std::string link;
  double speed = 1.0;

  bool operator==(const Degradation&) const = default;
};

// "KIND=PART": other jobs take this part of every link of the kind: "global=30%".
struct Background {
  std::string kind;  // "local", "global", "leaf", "spine", "core", "torus"
  double percent = 0.0;

  bool operator==(const Background&) const = default;
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
  bool draws_spreads = false;   // "machine": its own spreads are drawn, not expected
  SlowDevices slow_devices;
  std::vector<Degradation> degrade;  // sim/conditions/link_faults.hpp knows the links' names
  std::vector<Failure> fail;
  std::vector<Background> background;
  CollectiveTuning collective;
  std::uint64_t seed = 1;  // of jitter and of random placement

  // Whether all ranks and links still behave alike, so that the closed form holds.
  bool uniform() const {
    return placement.by == Placing::packed && !jitters() && slow_devices.none() &&
           degrade.empty() && fail.empty() && background.empty();
  }
  bool jitters() const { return jitter_percent > 0.0 || draws_spreads; }
  bool needs_seed() const { return jitters() || placement.by == Placing::random; }
  bool operator==(const WhatIfs&) const = default;
};

const char* name(Placing placing);

// Numbers as words and back: "0-127,130,5". Order is kept; ranges go up. Throws std::runtime_error.
std::string words_of(const std::vector<std::int64_t>& numbers);
std::vector<std::int64_t> numbers_in(const std::string& words);

// One sentence for each what-if, without the full stop's line end; none if there is none. `ranks`
// is the size of the job.
std::vector<std::string> sentences(const WhatIfs& what_ifs, std::int64_t ranks);

// The middles of `count` equal parts of a job of so many ranks.
std::vector<std::int64_t> evenly_spread_ranks(std::int64_t count, std::int64_t ranks);

// Of each speed, in order: the ranks that a count or a percentage stands for, none for listed
// devices. They are spread evenly over those of `free` that no speed before them took.
struct SlowRanks {
  std::vector<std::int64_t> ranks;
  double speed = 1.0;
};
std::vector<SlowRanks> counted_slow_ranks(const SlowDevices& slow, std::vector<std::int64_t> free);

}  // namespace fourfold::inline sim::inline conditions
