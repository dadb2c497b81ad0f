// Every model that is shipped can be projected as a run that somebody writes down: as a row of CSV.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scaling/validation/validation_run.hpp"
#include "scaling/validation/validation_set.hpp"
#include "schedule/models/model_file.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

std::int64_t least_divisor(std::int64_t number) {
  std::int64_t divisor = 2;
  while (number % divisor != 0) ++divisor;
  return divisor;
}

// As users of FSDP and of Megatron-LM write their runs down: sharded over all devices, and cut
// along x, into stages and along data.
TEST(ShippedModels, AreProjectedAsRowsOfFsdpAndOf3D) {
  std::string rows =
      "id,source,platform,model,n_gpus,tp,pp,dp,global_batch_sequences,micro_batch,zero,recompute,"
      "order,sequence_parallel,software\n";
  for (const std::string& name : known_models()) {
    const Model model = read_model(name);
    const std::int64_t tp = least_divisor(model.kv_heads()), pp = least_divisor(model.layers);
    rows += fmt::format("{0}-fsdp,me,alps,{0},64,,,64,64,1,3,full,,,pytorch-fsdp\n", name);
    rows += fmt::format("{0}-3d,me,selene,{0},{1},{2},{3},4,32,1,1,full,1f1b,{4},megatron-core\n",
                        name, 4 * tp * pp, tp, pp, model.sequence % tp == 0 ? "on" : "off");
  }
  const TemporaryFolder folder;
  write_content(folder.file("runs.csv"), rows);

  const SetResult result = run_validation(read_validation_set(folder.file("runs.csv")),
                                          Fidelity::estimated, [](const auto&, double) {});

  EXPECT_EQ(result.cases.size(), 2 * known_models().size());
  for (const CaseResult& one : result.cases) {
    ASSERT_TRUE(one.projection.has_value()) << one.one.id << ": " << one.why_not;
    EXPECT_GT(one.projection->outcome.total.value, 0.0) << one.one.id;
  }
}

}  // namespace
}  // namespace fourfold::tests
