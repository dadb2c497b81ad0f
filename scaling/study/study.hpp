// A study is a campaign with its answers beside what was published: the rows of the table, the CSV
// and the plots.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scaling/records/record.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/study/published.hpp"

namespace fourfold::inline scaling::inline study {

struct StudyRow {
  std::string machine;
  Record record;
  bool given = false;                // somebody stated the grid
  std::optional<Seconds> published;  // seconds of one batch
  // Whether the seconds were derived from published flop/s with the record's model flops.
  bool derived = false;
  std::optional<FlopsPerSecond> published_rate;
  std::string label = {};   // of the campaign's sweeps; empty: none
  std::string line = {};    // the label without the value
  std::string rest = {};    // the label without the sweep that gave the value
  std::string stated = {};  // grid and micro-batches that the campaign's point has; empty: none
  std::optional<double> value = {};
  std::int64_t repetition = 1;
  // Of a measured row: the same point simulated, or why it is not, and how fast the machine was
  // meanwhile, against its calibration; absent where the platform is no calibration of it.
  std::optional<Record> twin = {};
  std::string no_twin = {};
  std::optional<double> speed = {};

  // The twin's seconds at that speed.
  std::optional<Seconds> simulated() const {
    return twin ? std::optional(twin->seconds() * (1.0 / speed.value_or(1.0))) : std::nullopt;
  }
  // Projected over published seconds, less 1; absent where nothing was published.
  std::optional<double> deviation() const;
};

// A point that nothing fits.
struct UnfitPoint {
  std::string name, why;  // "frontier 8 gpt-640b", and a sentence
  std::string machine;
  std::int64_t devices = 0;
  std::string model, label, system;  // the label with the value
};

struct Study {
  std::string title;
  std::string published_source;
  std::vector<StudyRow> rows;               // in the order of the campaign
  double tokens = 0.0;                      // of the run whose days are given; 0: none
  std::string axis = {};                    // what the values of the rows are
  std::vector<std::string> unmatched = {};  // published rows that are no point of the campaign
  std::vector<UnfitPoint> unfit = {};       // in the same order
};

// `tags` are the records', one each, or none.
Study make_study(const Campaign& campaign, const std::vector<Record>& records,
                 const std::vector<PointTag>& tags = {});

// The study with the twin of each measured row as a row of its own after all of them.
Study with_twins(const Study& study);

// The label of the row's sweeps, with the number that one of them gave it; empty: none.
std::string label_with_value(const StudyRow& row);
std::string label_with_value(const PointTag& tag);

// Some devices train several models: the model does not just grow with them.
bool several_models(const Study& study);

// Rows of several, or one that has a row and one that nothing fits.
bool several_systems(const Study& study);

// What the rows of one curve share, row by row: the machine; the system, if there are several; the
// label, if there is one; and the model, unless it grows with the devices: "gpt-5b on frontier".
std::vector<std::string> series_of(const Study& study);

// The different words that `word_of` has of the rows, in the order of their first row.
std::vector<std::string> different(const Study& study,
                                   const std::function<std::string(const StudyRow&)>& word_of);
// Machines of a study in the same order.
std::vector<std::string> machines(const Study& study);

}  // namespace fourfold::inline scaling::inline study
