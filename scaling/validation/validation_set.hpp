// Training runs that somebody measured, or might, as questions: one CSV is a set, its rows are
// cases. A row that this version cannot express stays, with the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scaling/records/question.hpp"
#include "scaling/validation/measured_memory.hpp"
#include "schedule/collectives/collective.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline scaling::inline validation {

// What was measured: a step, one layer forward and backward of one micro-batch, or one collective
// of all devices.
enum class Measured : std::uint8_t { step, layer, collective };

struct ValidationCase {
  std::string id;        // of its own in the set
  std::string study;     // rows that go together in the statistics
  std::string source;    // who measured it
  std::string stand_in;  // why the platform is not the machine; empty: it is
  Question question;     // its grid is searched if the row names none
  Measured measured = Measured::step;
  CollectiveKind collective = CollectiveKind::all_gather;
  Bytes buffer;       // of the collective, as nccl-tests count it
  Seconds published;  // 0: nobody has said; it is projected and compared with nothing
  std::optional<MeasuredMemory> memory;
  // Constants that were chosen with this row: then it proves nothing. Empty: out of sample.
  std::string in_sample;
  // Choices of the run that this version has no option for: it is projected without them.
  std::vector<std::string> unsaid;
  std::string left_out;  // why it cannot be projected; empty: it can

  bool is_published() const { return published.value > 0.0; }
};

struct ValidationSet {
  std::string name, title;
  std::string in_sample;  // which values were used to choose a constant, in words
  // The mean absolute deviation beyond which the set has become worse, 0.2 = 20 %, and the fewest
  // cases that must run: by the estimate, out of sample.
  std::optional<double> bound;
  std::int64_t least_cases = 0;
  std::optional<double> memory_bound;  // the same of peaks of memory
  std::vector<ValidationCase> cases;
};

// A set by name (scaling/validation/sets/NAME.csv) or by path to a .csv file; docs/accuracy.md has
// its columns. Throws std::runtime_error with a sentence that names line and column.
ValidationSet read_validation_set(const std::string& name_or_path);
std::vector<std::string> known_validation_sets();  // sorted

}  // namespace fourfold::inline scaling::inline validation
