// One search for each variant; see settle.hpp.
#include "scaling/find/settle.hpp"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "platforms/device_memory.hpp"
#include "scaling/find/candidates.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

Seconds least_of(const SearchResult& search) {
  return search.feasible.front().estimate.outcome.total;
}

// Whether the fastest alone is found without what is slower. Whether so many sequences may be taken
// at once is looked at behind a search, by which time what is slower must still be there.
bool bounded(const Question& question, const Platform& platform) {
  return !question.grid && !question.most_at_once && question.devices >= 1 &&
         question.devices <= platform.devices();
}

// The work of the search for all that the best options can do, in searches for the fastest alone,
// for the time left. Most pipelines are ruled out before they are walked: measured, 10 to 80.
double last_search(const Question& question) {
  return question.stages == std::vector<std::int64_t>{1} ? 1.0 : 30.0;
}

// Those before it that differ from it in one option: where that is without effect, they make the
// same step.
std::vector<StepOptions> akin(const std::vector<StepOptions>& variants, std::size_t place) {
  const FieldValues own = step_fields().values(variants[place]);
  std::vector<StepOptions> found;
  for (std::size_t i = 0; i < place; ++i) {
    std::size_t others = 0;
    for (const auto& [key, value] : step_fields().values(variants[i])) {
      others += value == own.at(key) ? 0 : 1;
    }
    if (others == 1) found.push_back(variants[i]);
  }
  return found;
}

// The first variant of which nothing is faster. Where none fits it says why.
StepOptions fastest(const Question& question, const Platform& platform,
                    const ProgressWatch& watch) {
  std::optional<StepOptions> best;
  SearchResult all;
  Seconds least{std::numeric_limits<double>::infinity()};
  Question one = question;
  for (std::size_t i = 0; i < question.variants.size(); ++i) {
    one.options = question.variants[i];
    const auto hear = [&](const std::string& activity, double part) {
      watch(activity,
            (static_cast<double>(i) + part) / static_cast<double>(question.variants.size()));
    };
    SearchResult found = fastest_candidate(one, platform, least, akin(question.variants, i), hear);
    if (!found.feasible.empty()) {
      best = one.options;
      least = least_of(found);
    }
    if (!best) add_tried(all, std::move(found));
  }
  if (!best) refuse_all(question, platform, std::move(all), watch);
  return *best;
}

// With the question's own risk.
Settled settled_at_risk(const Question& question, const Platform& platform,
                        const ProgressWatch& watch) {
  Settled best{question, {}};
  if (question.variants.size() < 2) {
    best.search = candidates(question, platform, watch);
    return best;
  }
  if (bounded(question, platform)) {
    const auto choices = static_cast<double>(question.variants.size());
    const double all = choices + last_search(question);
    const auto hear = [&](const std::string& activity, double part) {
      watch(activity, choices * part / all);
    };
    best.question.options = fastest(question, platform, hear);
    best.search =
        candidates(best.question, platform, [&](const std::string& activity, double part) {
          watch(activity, (choices + (all - choices) * part) / all);
        });
    return best;
  }
  std::string why, no_room;
  std::optional<Bytes> need;  // of those that do not fit a grid, the least
  double done = 0.0;
  for (const StepOptions& options : question.variants) {
    Question one = question;
    one.options = options;
    const auto hear = [&](const std::string& activity, double part) {
      watch(activity, (done + part) / static_cast<double>(question.variants.size()));
    };
    try {
      SearchResult search = candidates(one, platform, hear);
      if (best.search.feasible.empty() || least_of(search) < least_of(best.search)) {
        best = {std::move(one), std::move(search)};
      }
    } catch (const NeedsMore& error) {
      if (!need || error.least < *need) {
        need = error.least;
        no_room = error.what();
      }
    } catch (const DoesNotFit& error) {
      if (no_room.empty()) no_room = error.what();
    } catch (const FindingFailed& error) {
      if (why.empty()) why = error.what();
    }
    done += 1.0;
  }
  if (best.search.feasible.empty()) {
    const std::string& reason = no_room.empty() ? why : no_room;
    if (question.system) throw DoesNotFit(reason + of_all_choices(question));
    if (no_room.empty()) throw FindingFailed(reason);
    throw DoesNotFit(reason);
  }
  return best;
}

}  // namespace

// Who states a grid is told of what may fit, where nothing on it fits in all likelihood.
Settled settled(const Question& question, const Platform& platform, const ProgressWatch& watch) {
  if (!question.grid || question.memory_risk) return settled_at_risk(question, platform, watch);
  try {
    return settled_at_risk(question, platform, watch);
  } catch (const DoesNotFit&) {
    Question bolder = question;
    bolder.memory_risk = 1.0 - fits_not_below;
    return settled_at_risk(bolder, platform, watch);
  }
}

}  // namespace fourfold::inline scaling::inline find
