// A campaign is a set of questions that are answered together and compared with what was published.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scaling/records/question.hpp"
#include "scaling/records/verdict.hpp"

namespace fourfold::inline scaling::inline study {

// What a point is called among those of its campaign.
struct PointTag {
  std::string label;            // of its sweeps; empty: none
  std::optional<double> value;  // that a sweep over numbers gave it
  std::int64_t repetition = 1;  // with another seed each, from 1
  std::string line = {};        // the label without that value: what points of one line share
  std::string rest = {};        // the label without that sweep: what lines of one origin share
  std::string stated = {};      // grid and micro-batches of the point, without its sweeps
};

// How measured points are trained.
struct MeasureRule {
  std::int64_t steps = 11;  // the first few of which do not count (settling_steps)
  std::string transport = "ring";
  std::string data;  // a file; empty: text that Debian ships
};

// "here", this machine, as a file: what `fourfold calibrate` writes.
inline constexpr const char* here_platform = "results/here/here.toml";

struct Campaign {
  std::string name;  // of the file, without its ending
  std::string title;
  Fidelity fidelity = Fidelity::simulated;
  StoppingRule rule;
  std::vector<Question> questions;
  std::string published;            // path of a CSV of published rows; empty if none
  std::vector<PointTag> tags = {};  // of the questions, one each; empty: none has any
  // Kinds (scaling/study/figure.hpp); empty: by what it holds.
  std::vector<std::string> figures = {};
  double tokens = 0.0;    // of the run whose days are given; 0: none
  std::string axis = {};  // what the values of the tags are
  MeasureRule measure = {};

  bool is_measured() const { return fidelity == Fidelity::measured; }
};

// False of this machine while its file is not there.
bool is_calibrated(const std::string& platform);

// What a command line says instead of the file; a key that it sets aside is not idle.
struct SaidInstead {
  std::string grids_by = {};  // empty: the file's
  std::optional<Fidelity> fidelity = {};
};

// The campaign has the file's own fidelity. Throws std::runtime_error with a sentence that starts
// with file and line: unknown key (nearest known), platform or model; missing or impossible value;
// more devices than the machine has.
Campaign read_campaign(const std::string& path, const SaidInstead& instead = {});

}  // namespace fourfold::inline scaling::inline study
