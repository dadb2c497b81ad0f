// What a memorisation study has measured: a record a run, and the table, the CSV and the sentences
// that are made of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scaling/study/memorisation.hpp"

namespace fourfold::inline scaling::inline study {

// A run of continued training and what its model then knew by heart.
struct MemorisationRecord {
  std::string key;  // of what was asked
  std::string model;
  double parameters = 0.0;
  std::int64_t seed = 0;
  bool goldfish = false;
  std::vector<std::int64_t> matches;  // documents completed word for word, by bucket
  std::vector<double> equal_words;    // before the first that differs, mean by bucket
  double validation_loss = 0.0;       // nats a byte, of background that nobody trained on
  double words_per_second = 0.0;      // written
  double cpu_seconds = 0.0;
};

std::string to_json(const MemorisationRecord& record);
// Throws std::runtime_error if a line is no record.
MemorisationRecord parse_memorisation_record(const std::string& line);

// One line of the figure: a model with or without Goldfish loss.
struct MemorisationSeries {
  std::string model;
  double parameters = 0.0;
  bool goldfish = false;
  // By bucket, in percent of its documents: over all seeds, of the seed with least, and with most.
  std::vector<double> mean, low, high;
};
std::vector<MemorisationSeries> series_of(const MemorisationStudy& study,
                                          const std::vector<MemorisationRecord>& records);

std::string memorisation_csv(const MemorisationStudy& study,
                             const std::vector<MemorisationSeries>& series);
// The table, and sentences about what it says.
std::string memorisation_table(const MemorisationStudy& study,
                               const std::vector<MemorisationSeries>& series);

}  // namespace fourfold::inline scaling::inline study
