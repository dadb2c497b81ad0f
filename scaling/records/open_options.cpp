// What may be left open, and the flags of what was chosen; see open_options.hpp.
#include "scaling/records/open_options.hpp"

#include <set>
#include <utility>

namespace fourfold::inline scaling::inline records {
namespace {

// Each of these trades seconds for memory, so that what is usual may be far from the best.
// Recompute, ZeRO and sequence parallelism are asked of a system; how it reduces gradients is its
// code.
const std::vector<Choice>& open_options() {
  static const std::vector<Choice> list{
      {"recompute", {std::string("full"), std::string("selective"), std::string("none")}},
      {"zero", {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}}},
      {"sequence_parallel", {false, true}},
      {"gradient_reduction", {std::string("per-micro-batch"), std::string("accumulated")}},
      {"data_reduction", {std::string("after-backward"), std::string("beside-backward")}}};
  return list;
}

// A fused kernel keeps no scores that could be recomputed: selective is none.
bool says_something(const StepOptions& options) {
  return options.recompute != Recompute::selective || options.attention == AttentionKernel::unfused;
}

}  // namespace

std::vector<std::string> open_option_flags() {
  std::vector<std::string> flags;
  for (const FieldFacts& field : step_fields().facts()) {
    for (const Choice& choice : open_options()) {
      if (field.key == choice.key) flags.push_back(field.flag);
    }
  }
  return flags;
}

void leave_open(Question& question, const FieldValues& typed) {
  std::vector<Choice> choices;
  for (Choice choice : open_options()) {
    if (typed.contains(choice.key)) continue;
    const OptionRule* rule = question.system ? question.system->rule(choice.key) : nullptr;
    if (rule != nullptr && rule->allowed.empty() && choice.key.ends_with("_reduction")) continue;
    if (rule != nullptr && !rule->allowed.empty()) choice.values = rule->allowed;
    if (question.system && choice.values.size() > 1) question.set_by[choice.key] = "search";
    choices.push_back(std::move(choice));
  }
  if (question.variants.empty()) question.variants.push_back(question.options);
  question.variants =
      product(std::move(question.variants), choices, [&](const StepOptions& options) {
        const bool allowed = !question.system || forbidden(*question.system, options).empty();
        return allowed && says_something(options);
      });
}

std::string chosen_flags(const Question& question, const StepOptions& chosen) {
  std::string text;
  for (const FieldFacts& field : step_fields().facts()) {
    std::set<std::string> words;
    for (const StepOptions& one : question.variants) {
      words.insert(step_fields().word(one, field.flag));
    }
    if (words.size() < 2) continue;
    const std::string flag = field.flag + ' ' + step_fields().word(chosen, field.flag);
    if (text.find(flag) == std::string::npos) text += (text.empty() ? "" : " ") + flag;
  }
  return text;
}

}  // namespace fourfold::inline scaling::inline records
