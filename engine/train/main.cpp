// fourfold-engine: the executable that trains, samples and measures, under mpirun where there are
// several ranks.
#include <exception>
#include <string>

#include "engine/train/checkpoint/convert_verb.hpp"
#include "engine/train/measure/measure_verb.hpp"
#include "engine/train/run/evaluate_verb.hpp"
#include "engine/train/run/train_verb.hpp"
#include "engine/train/sample/sample_verb.hpp"
#include "support/exit_status.hpp"
#include "support/flag_checks.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline engine::inline train {
namespace {

int run_verb(const Started& started) {
  const std::string verb = started.count > 1 ? started.words[1] : "";
  if (verb == "train") return run_train_verb(started);
  if (verb == "sample") return run_sample_verb(started);
  if (verb == "evaluate") return run_evaluate_verb(started);
  if (verb == "measure") return run_measure_verb(started);
  if (verb == "checkpoint") return run_checkpoint_verb(started);
  return complain(
      "fourfold-engine is started by `fourfold`; it knows train, sample, evaluate, "
      "checkpoint and measure",
      status_could_not);
}

}  // namespace
}  // namespace fourfold::inline engine::inline train

int main(int count, char** words) {
  using namespace fourfold;
  if (!hold_standard_streams()) return complain(no_standard_output, status_could_not);
  const std::string stray = stray_bytes({words, words + count});
  if (!stray.empty()) return complain(stray, status_could_not);
  try {
    return run_verb({count, words});
  } catch (const std::exception& error) {
    return complain(error, status_could_not);
  }
}
