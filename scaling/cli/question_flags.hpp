// The command line flags that ask one question: shared by the verbs project, search and show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scaling/records/question.hpp"
#include "scaling/records/verdict.hpp"
#include "support/field.hpp"

namespace CLI {
class App;
}

namespace fourfold::inline scaling::inline cli {

struct QuestionFlags {
  std::string platform, model, grid;
  std::string system;    // a name or a file; empty: any grid, options by default
  std::string software;  // a name or a file; empty: the system's, or the machine's
  std::string stages;    // empty: 1, or the system's
  std::int64_t devices = 0;
  std::int64_t batch_tokens = 16'777'216;
  std::vector<std::string> scales;
  std::string fidelity = "simulated";
  std::int64_t at_most_grids = 0;  // 0: the rule's
  std::int64_t work_limit = 0;     // 0: the rule's
  // What was typed, by keys of model_fields(), step_fields() and what_if_fields().
  FieldValues model_values, options, what_ifs;

  // Searched if absent.
  std::optional<std::int64_t> micro_batches() const;
};

// Platform, devices, grid, batch, scales, fidelity.
void add_machine_flags(CLI::App& verb, QuestionFlags& flags);
// The system whose grids and options are asked for.
void add_system_flag(CLI::App& verb, QuestionFlags& flags);
// Model, vocabulary, grid, stages.
void add_shape_flags(CLI::App& verb, QuestionFlags& flags);
// These, micro-batches and every field of StepOptions.
void add_model_flags(CLI::App& verb, QuestionFlags& flags);
// What if devices, links or placement were not as the platform says.
void add_what_if_flags(CLI::App& verb, QuestionFlags& flags);

// These throw std::runtime_error with a sentence on names and values that are not known.
Model model_of(const QuestionFlags& flags);
Scales scales_of(const QuestionFlags& flags);
StepOptions options_of(const QuestionFlags& flags);
WhatIfs what_ifs_of(const QuestionFlags& flags);
Question question_of(const QuestionFlags& flags);
StoppingRule rule_of(const QuestionFlags& flags);

}  // namespace fourfold::inline scaling::inline cli
