// One search for each variant; see settle.hpp.
#include "scaling/find/settle.hpp"

#include <fmt/format.h>

#include <optional>

#include "scaling/find/candidates.hpp"

namespace fourfold {

Question settled(const Question& question, const Watch& watch) {
  Question best = question;
  if (question.variants.size() < 2) return best;
  const Platform platform = read_platform(question.platform, question.scales);
  std::optional<Seconds> least;
  std::string why;
  double done = 0.0;
  for (const StepOptions& options : question.variants) {
    Question one = uniform(question);
    one.options = options;
    const auto hear = [&](const std::string& activity, double part) {
      watch(activity, (done + part) / static_cast<double>(question.variants.size()));
    };
    try {
      const Seconds seconds =
          candidates(one, platform, hear).feasible.front().estimate.outcome.total;
      if (!least || seconds < *least) {
        least = seconds;
        best.options = options;
      }
    } catch (const FindingFailed& error) {
      if (why.empty()) why = error.what();
    }
    done += 1.0;
  }
  if (!least) {
    throw FindingFailed(fmt::format("{}; none of {} choices of the system's options fits", why,
                                    question.variants.size()));
  }
  return best;
}

}  // namespace fourfold
