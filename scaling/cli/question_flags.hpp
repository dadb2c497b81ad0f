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
  std::string platform, library, model, grid;
  std::string system;    // a name or a file; empty: any grid, options by default
  std::string software;  // a name or a file; empty: the system's, or the machine's
  std::string stages;    // empty: 1, or the system's
  std::int64_t devices = 0;
  std::optional<std::int64_t> batch_tokens;  // absent: usual_batch_tokens
  std::int64_t global_batch_size = 0;        // sequences; 0: of batch_tokens
  std::int64_t micro_batch_size = 0;         // sequences on each share of the batch; 0: any
  std::vector<std::string> scales;
  std::string tokens;  // of a whole run, "2T"; empty: not asked
  std::string fidelity = "simulated";
  std::int64_t at_most_grids = 0;  // 0: the rule's
  std::int64_t work_limit = 0;     // 0: the rule's
  std::optional<double> memory_risk;
  std::string phase = "training";
  // What was typed, by keys of model_fields(), step_fields() and what_if_fields().
  FieldValues model_values, options, what_ifs;

  // Searched if absent.
  std::optional<std::int64_t> micro_batches() const;
};

inline constexpr std::int64_t usual_batch_tokens = 16'777'216;

// The batch, in tokens or in sequences.
void add_batch_flags(CLI::App& verb, QuestionFlags& flags);
// Platform, devices, grid, batch, scales, fidelity.
void add_machine_flags(CLI::App& verb, QuestionFlags& flags);
// The system whose grids and options are asked for.
void add_system_flag(CLI::App& verb, QuestionFlags& flags);
// Tokens of a whole run, whose days are given.
void add_tokens_flag(CLI::App& verb, QuestionFlags& flags);
// Model, vocabulary, grid, stages.
void add_shape_flags(CLI::App& verb, QuestionFlags& flags);
// These, micro-batches and every field of StepOptions.
void add_model_flags(CLI::App& verb, QuestionFlags& flags);
// What the model is run for.
void add_phase_flag(CLI::App& verb, QuestionFlags& flags);
// Says of options that are searched, as no default decides them, when they are: with the grid, or
// always.
void say_left_open(CLI::App& verb, const std::string& when = " and --grid is, too");
// Instead of --micro-batches.
void add_micro_batch_size_flag(CLI::App& verb, QuestionFlags& flags);
// What if devices, links or placement were not as the platform says.
void add_what_if_flags(CLI::App& verb, QuestionFlags& flags);

// These throw std::runtime_error with a sentence on names and values that are not known.
std::string platform_of(const QuestionFlags& flags);  // with its library
Model model_of(const QuestionFlags& flags);
std::int64_t sequences_of(const QuestionFlags& flags, const Model& model);
Scales scales_of(const QuestionFlags& flags);
StepOptions options_of(const QuestionFlags& flags);
WhatIfs what_ifs_of(const QuestionFlags& flags);
Question question_of(const QuestionFlags& flags);
StoppingRule rule_of(const QuestionFlags& flags);
double tokens_of(const QuestionFlags& flags);  // 0: not asked

}  // namespace fourfold::inline scaling::inline cli
