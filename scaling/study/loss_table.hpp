// The losses of a training run as CSV: what the loss curve is drawn from.
#pragma once

#include <string>

namespace fourfold::inline scaling::inline study {

inline constexpr const char* loss_columns =
    "step,training_loss,validation_loss,unigram_nats,resumed\n";

struct LossTable {
  std::string csv;
  std::string model, data;  // what was trained on what
  std::string word;         // what a loss is of: "byte" or "token"
  std::string left_out;     // which lines are damaged, as a sentence; empty: none
};

// Reads the log that fourfold-engine wrote (JSON lines) and makes, below a header line, step,
// training loss, validation loss and the entropy of single words (the loss of guessing by
// frequency, on the data of the step's run); what a step has no value of is empty. Of a run that
// was resumed, steps after the one resumed from are those that it trained then, not earlier ones;
// likewise where it went back from a bad step. `earlier` is the CSV that the run had before, whose
// steps up to a resume stay where it is newer than what the log has of them. Damaged lines are left
// out and spoken of. Throws std::runtime_error with a sentence if the log is unreadable or no line
// of it says what was trained.
LossTable loss_table(const std::string& log_path, const std::string& earlier = "");

}  // namespace fourfold::inline scaling::inline study
