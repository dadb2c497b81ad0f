// What nobody decided is searched: no value that was left open would have been better.
#include "scaling/records/open_options.hpp"

#include <gtest/gtest.h>

#include "scaling/find/find_answer.hpp"
#include "schedule/models/model_file.hpp"

namespace fourfold::tests {
namespace {

Question asked(std::int64_t devices, std::int64_t batch, const char* system) {
  Question question;
  question.platform = "perlmutter";
  question.model = read_model("gpt-5b");
  question.devices = devices;
  question.global_batch = batch;
  const Platform platform = read_platform("perlmutter");
  if (*system != '\0') ask_of_system(question, read_system(system), {{}, "nobody"}, platform);
  return question;
}

Seconds answer(const Question& question) {
  const auto quiet = [](const std::string&, double) {};
  return find_answer(question, Fidelity::estimated, {}, quiet).outcome().total;
}

TEST(OpenOptions, HaveNoValueThatWouldHaveBeenBetter) {
  for (const char* system : {"", "axonn-4d", "megatron-lm-2022"}) {
    for (const auto& [devices, batch] : {std::pair{16, 64}, std::pair{64, 256}}) {
      Question open = asked(devices, batch, system);
      leave_open(open, {});
      ASSERT_GT(open.variants.size(), 1u) << system;
      const Seconds found = answer(open);
      for (const StepOptions& one : open.variants) {
        Question decided = open;
        decided.options = one;
        decided.variants.clear();
        try {
          EXPECT_LE(found, answer(decided)) << system << ": " << chosen_flags(open, one);
        } catch (const DoesNotFit&) {
          continue;
        }
      }
    }
  }
}

TEST(OpenOptions, ThatSomebodyDecidedStay) {
  const FieldValues typed{{"recompute", std::string("full")}, {"zero", std::int64_t{1}}};
  Question question = asked(16, 64, "");
  step_fields().set(question.options, typed);
  leave_open(question, typed);
  for (const StepOptions& one : question.variants) {
    EXPECT_EQ(one.recompute, Recompute::full);
    EXPECT_EQ(one.zero, 1);
  }
  EXPECT_EQ(question.variants.size(), 2u);  // sequence parallelism is left
  EXPECT_EQ(chosen_flags(question, question.variants[1]), "--sequence-parallel on");
}

TEST(OpenOptions, OfASystemAreWhatItAllows) {
  Question question = asked(16, 64, "axonn-4d");
  leave_open(question, {});
  for (const StepOptions& one : question.variants) {
    EXPECT_EQ(forbidden(*question.system, one), "");
  }
  EXPECT_EQ(question.set_by["recompute"], "search");
}

}  // namespace
}  // namespace fourfold::tests
