// Points answered several at a time, each answer kept the moment it comes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scaling/records/store.hpp"
#include "scaling/study/campaign.hpp"

namespace fourfold::inline scaling::inline study {

// Points of a campaign that are projected (those of a measured one are twins) or measured.
enum class Rung : std::uint8_t { projected, measured };
struct OpenPoint {
  std::size_t question = 0;
  Rung rung = Rung::projected;
};

struct Answering {
  std::string folder;        // of the campaign: trainings are in it
  std::string failures;      // the log of those that failed
  std::string launch;        // what starts the ranks of measured points; empty: mpirun, here
  std::int64_t retries = 1;  // of what may succeed another time
};

// A point without a record, and why; `is_no`: it was answered, and the answer is that nothing fits.
struct FailedPoint {
  std::string sentence;
  bool is_no = false;
};

// Whatever is projected first, as many at a time as there are cores; then what is measured, alone.
// Returns the points that failed, whose sentences are logged, too. Throws Interrupted.
std::vector<FailedPoint> answer_points(const std::vector<OpenPoint>& open, const Campaign& campaign,
                                       Store& store, const Answering& answering);

// Digests of the executables that answer; empty: of those that are running.
struct Builds {
  std::string projecting = {}, engine = {};
};

// The key of a point's record at a rung.
std::string key_of(const Campaign& campaign, std::size_t question, Rung rung,
                   const Builds& builds = {});

}  // namespace fourfold::inline scaling::inline study
