// fourfold-bench: the executable that measures, for the verbs doctor, regress and bench; under
// mpirun where there are several ranks.
#include <exception>
#include <string>

#include "bench/cli/bench_verb.hpp"
#include "bench/cli/doctor_verb.hpp"
#include "bench/cli/regress_verb.hpp"
#include "bench/doctor/examine.hpp"
#include "engine/cpu/sgemm.hpp"
#include "engine/train/verbs.hpp"
#include "scaling/words/output.hpp"

namespace fourfold::inline bench::inline cli {
namespace {

constexpr int could_not = 2;

int run(const Started& started) {
  const std::string verb = started.count > 1 ? started.words[1] : "";
  use_one_thread();
  keep_packing_buffers();
  if (verb == "doctor") return run_doctor_verb(started);
  if (verb == "bench") return run_bench_verb(started);
  if (verb == "regress") return run_regress_verb(started);
  if (verb == "probe-blas") {
    print(blas_probe() + "\n");
    return 0;
  }
  if (verb == "probe-ranks") {
    return run_session(started.count, started.words, [](const Session& session) {
      const std::string answer = rank_probe();
      if (session.rank() == 0) print(answer + "\n");
      return 0;
    });
  }
  return complain("fourfold-bench is started by `fourfold`; it knows doctor, regress and bench",
                  could_not);
}

}  // namespace
}  // namespace fourfold::inline bench::inline cli

int main(int count, char** words) {
  if (!fourfold::hold_standard_streams()) {
    return fourfold::complain(fourfold::no_standard_output, fourfold::could_not);
  }
  try {
    return fourfold::run({count, words});
  } catch (const std::exception& error) {
    return fourfold::complain(error, fourfold::could_not);
  }
}
