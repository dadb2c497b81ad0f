// A product of values, without what a system forbids; see open_options.hpp.
#include "scaling/records/open_options.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace fourfold::inline scaling::inline records {
namespace {

struct OpenOption {
  const char* key;
  std::vector<FieldValue> values;
};

// Each of these trades seconds for memory, so that what is usual may be far from the best.
const std::vector<OpenOption>& open_options() {
  static const std::vector<OpenOption> list{
      {"recompute", {std::string("full"), std::string("selective"), std::string("none")}},
      {"zero", {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}}},
      {"sequence_parallel", {false, true}}};
  return list;
}

std::vector<FieldValue> values_of(const OpenOption& option, const Question& question) {
  if (!question.system) return option.values;
  const OptionRule* rule = question.system->rule(option.key);
  if (rule == nullptr || rule->allowed.empty()) return option.values;
  return rule->allowed;
}

// A fused kernel keeps no scores that could be recomputed: selective is none.
bool says_something(const StepOptions& options) {
  return options.recompute != Recompute::selective || options.attention == AttentionKernel::unfused;
}

}  // namespace

void leave_open(Question& question, const FieldValues& typed) {
  std::vector<StepOptions> found = question.variants;
  if (found.empty()) found.push_back(question.options);
  for (const OpenOption& option : open_options()) {
    if (typed.contains(option.key)) continue;
    const std::vector<StepOptions> before = std::exchange(found, {});
    std::vector<FieldValue> values = values_of(option, question);
    for (const StepOptions& one : before) {
      const FieldValue usual = step_fields().values(one).at(option.key);
      std::ranges::stable_partition(values, [&](const FieldValue& v) { return v == usual; });
      for (const FieldValue& value : values) {
        StepOptions other = one;
        step_fields().set(other, {{option.key, value}});
        const bool allowed = !question.system || forbidden(*question.system, other).empty();
        if (!allowed || !says_something(other)) continue;
        if (std::ranges::find(found, other) == found.end()) found.push_back(other);
      }
    }
    if (found.empty()) found = before;
    if (question.system && values.size() > 1) question.set_by[option.key] = "search";
  }
  question.variants = found;
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
