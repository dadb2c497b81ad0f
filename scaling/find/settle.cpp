// One search for each variant; see settle.hpp.
#include "scaling/find/settle.hpp"

#include <fmt/format.h>

#include <utility>

#include "scaling/find/candidates.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

Seconds least(const SearchResult& search) {
  return search.feasible.front().estimate.outcome.total;
}

}  // namespace

Settled settled(const Question& question, const Platform& platform, const ProgressWatch& watch) {
  Settled best{question, {}};
  if (question.variants.size() < 2) {
    best.search = candidates(question, platform, watch);
    return best;
  }
  std::string why, no_room;
  double done = 0.0;
  for (const StepOptions& options : question.variants) {
    Question one = question;
    one.options = options;
    const auto hear = [&](const std::string& activity, double part) {
      watch(activity, (done + part) / static_cast<double>(question.variants.size()));
    };
    try {
      SearchResult search = candidates(one, platform, hear);
      if (best.search.feasible.empty() || least(search) < least(best.search)) {
        best = {std::move(one), std::move(search)};
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
    if (question.system) {
      throw DoesNotFit(fmt::format("{}; none of {} choices of the system's options fits", reason,
                                   question.variants.size()));
    }
    if (no_room.empty()) throw FindingFailed(reason);
    throw DoesNotFit(reason);
  }
  return best;
}

}  // namespace fourfold::inline scaling::inline find
