// What a job under mpirun says on standard error, told from what mpirun says around it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fourfold::inline scaling::inline jobs {

struct RankDeath {
  std::int64_t rank = 0;
  int signal = 0;
};

// Takes the stream as it comes. Open MPI 4 frames its notices ("MPI_ABORT was invoked ...") in two
// lines of dashes; only whole lines of notices that are known here are taken away, so that nothing
// else gets lost, even between them. Of several ranks that fail only the first is heard; one whose
// call of MPI failed at the end, unless another rank failed otherwise or has died of a signal.
class MpirunWords {
 public:
  // The job's own lines of what has come so far; a line that is not over yet waits.
  std::string own(std::string_view text);
  // What still waits when the stream ends.
  std::string rest();
  // What mpirun or MPI said before any rank had started, as one sentence; empty where it said
  // nothing, or the ranks have started.
  std::string not_started() const;
  // The same, where ranks have started for all that; said once.
  std::string warning() { return std::exchange(warning_, ""); }
  // The rank that mpirun saw die of a signal.
  std::optional<RankDeath> death() const { return death_; }
  // Whether mpirun has said anything itself.
  bool mpirun_spoke() const { return mpirun_spoke_; }
  // Whether rank 0 has said that MPI has started (support/ranks_started.hpp).
  bool started() const { return started_; }

 private:
  std::string own_line(const std::string& line);
  std::string said_by_job(const std::string& line);

  std::string begun_;  // a line without its end
  std::string held_;   // a line of dashes, until the next line tells whose it is
  bool in_notice_ = false;
  bool mpirun_spoke_ = false;
  bool started_ = false;
  bool rank_spoke_ = false;  // of its failure: the next ones met the same, or its end
  bool lost_words_ = false;  // mpirun failed to add up what ranks had it say
  std::string failed_call_;  // what the first said whose call of MPI failed
  std::string warning_;
  std::string before_;  // what others than ranks said before the start
  std::optional<RankDeath> death_;
};

}  // namespace fourfold::inline scaling::inline jobs
