// fourfold-engine: the executable that trains and samples, under mpirun where there are several
// ranks.
#include <exception>
#include <string>

#include "engine/train/checkpoint/exchange_verb.hpp"
#include "engine/train/run/train_verb.hpp"
#include "engine/train/sample/sample_verb.hpp"

namespace fourfold {
namespace {

int run(const Started& started) {
  const std::string verb = started.count > 1 ? started.words[1] : "";
  if (verb == "train") return run_train_verb(started);
  if (verb == "sample") return run_sample_verb(started);
  if (verb == "checkpoint") return run_checkpoint_verb(started);
  return complain("fourfold-engine is started by `fourfold`; it knows train, sample and checkpoint",
                  wrong_usage);
}

}  // namespace
}  // namespace fourfold

int main(int count, char** words) {
  try {
    return fourfold::run({count, words});
  } catch (const std::exception& error) {
    return fourfold::complain(error.what(), 1);
  }
}
