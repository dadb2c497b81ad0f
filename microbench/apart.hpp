// A schedule with nothing hidden, and which of its collectives the overlaps move apart.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "schedule/order/issue.hpp"
#include "schedule/order/liveness.hpp"

namespace fourfold::inline microbench {

// The same operations, each collective waited for where it starts.
inline Schedule apart(Schedule schedule) {
  std::vector<Issue> stream;
  for (const Issue& issue : schedule.stream) {
    if (issue.kind != IssueKind::compute && issue.kind != IssueKind::start) continue;
    stream.push_back(issue);
    if (issue.kind == IssueKind::start) {
      stream.push_back({IssueKind::wait, issue.id, 0, Existence::always, Axis::x});
    }
  }
  schedule.stream = std::move(stream);
  insert_lifetimes(schedule);
  return schedule;
}

// By operation: whether compute stands between start and wait.
inline std::vector<bool> moved_apart(const Schedule& schedule, const ProcessGrid& grid) {
  std::vector<bool> moved(schedule.program.ops.size(), false);
  std::map<std::int32_t, std::int64_t> begun;  // operation to the kernels before its start
  std::int64_t kernels = 0;
  for (const Issue& issue : schedule.stream) {
    const Op& op = schedule.program.ops[static_cast<std::size_t>(issue.id)];
    if (issue.kind == IssueKind::compute && op.kind != OpKind::pack && op.kind != OpKind::unpack) {
      ++kernels;
    }
    if (issue.kind == IssueKind::start && grid.extent(op.axis) > 1) begun[issue.id] = kernels;
    if (issue.kind != IssueKind::wait) continue;
    const auto start = begun.find(issue.id);
    moved[static_cast<std::size_t>(issue.id)] = start != begun.end() && start->second < kernels;
  }
  return moved;
}

}  // namespace fourfold::inline microbench
