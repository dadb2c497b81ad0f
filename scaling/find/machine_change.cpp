// Facts side by side, and two searches; see machine_change.hpp.
#include "scaling/find/machine_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "scaling/find/find_answer.hpp"
#include "scaling/records/question.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

struct Job {
  const char* model;
  std::int64_t devices, batch_tokens;
};
constexpr Job jobs[]{{"gpt-20b", 256, 4'194'304},
                     {"gpt-5b", 64, 1'048'576},
                     {"gpt2-1558m", 16, 524'288},
                     {"gpt2-355m", 4, 262'144},
                     {"gpt2-124m", 2, 65'536}};

Finding answer(const std::string& platform, const Job& job) {
  Question question;
  question.platform = platform;
  question.model = model_with(job.model, {});
  question.devices = job.devices;
  question.global_batch = sequences_in(job.batch_tokens, question.model);
  ask_of_software(question, "", "machine", {});
  return find_answer(question, Fidelity::estimated, {}, [](const std::string&, double) {});
}

}  // namespace

std::vector<NumberChange> changed_numbers(const Platform& before, const Platform& after) {
  std::vector<NumberChange> all;
  std::map<std::string, std::size_t> places;
  const auto place = [&](const std::string& key) -> NumberChange& {
    const auto [found, is_new] = places.try_emplace(key, all.size());
    if (is_new) all.push_back({key, {}, {}});
    return all[found->second];
  };
  for (const Fact& fact : before.facts) place(fact.key).before = fact.value;
  for (const Fact& fact : after.facts) place(fact.key).after = fact.value;
  std::erase_if(all, [](const NumberChange& one) {
    return one.before == one.after || one.key.starts_with("library.measured");
  });
  return all;
}

std::optional<AnswerChange> changed_answer(const std::string& before, const std::string& after) {
  const std::int64_t devices =
      std::min(read_platform(before).devices(), read_platform(after).devices());
  for (const Job& job : jobs) {
    if (job.devices > devices) continue;
    try {
      const Finding old = answer(before, job), now = answer(after, job);
      return AnswerChange{fmt::format("{} on {} devices, {:.3g} million tokens a batch", job.model,
                                      job.devices, static_cast<double>(job.batch_tokens) / 1e6),
                          old.outcome().total, now.outcome().total, old.best().grid.str(),
                          now.best().grid.str()};
    } catch (const FindingFailed&) {
      continue;  // a smaller one may
    }
  }
  return std::nullopt;
}

}  // namespace fourfold::inline scaling::inline find
