// One recording without each option; see idle_options.hpp.
#include "engine/train/flags/idle_options.hpp"

#include "engine/train/flags/flags.hpp"
#include "schedule/fold/short_folds.hpp"
#include "schedule/models/fit.hpp"

namespace fourfold::inline engine::inline train::inline flags {

namespace {

std::vector<Folded> recorded(const TrainSettings& settings) {
  return folded_stages(settings.model, options_in_effect(settings),
                       settings.grid.extent(Axis::pipe));
}

}  // namespace

std::vector<std::string> idle_options(const TrainSettings& settings) {
  const std::vector<FieldFacts>& facts = step_fields().facts();
  const FieldValues usual = usual_options(), asked = step_fields().values(settings.options);
  const std::vector<Folded> with = recorded(settings);
  std::vector<std::string> idle;
  for (const std::string& flag : flags_of(facts)) {
    if (!settings.typed.contains(flag)) continue;
    FieldValues instead;
    for (const FieldFacts& field : facts) {
      const bool decides = field.flag == flag && field.key != "micro_batches";
      if (decides && usual.at(field.key) != asked.at(field.key)) {
        instead[field.key] = usual.at(field.key);
      }
    }
    if (instead.empty()) continue;
    TrainSettings other = settings;
    step_fields().set(other.options, instead);
    const Misfit why = find_misfit(other.model, other.grid, other.batch, other.options);
    if (why != Misfit::none || recorded(other) != with) continue;
    idle.push_back(flag + ' ' + flag_word(facts, flag, asked));
  }
  if (settings.grid.size() > 1) return idle;
  for (const auto& [flag, word] : {std::pair("--transport", name(settings.transport)),
                                   std::pair("--progress", name(settings.progress))}) {
    if (settings.typed.contains(flag)) idle.push_back(std::string(flag) + ' ' + word);
  }
  return idle;
}

}  // namespace fourfold::inline engine::inline train::inline flags
