// Words of a launch as the size of its job; see launch_job.hpp.
#include "scaling/cli/launch_job.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/models/fit.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

std::int64_t devices_in(const LaunchWords& words) {
  // GPT-NeoX's -1 is all nodes of a host file, which is not read here.
  const bool all_nodes = words.word({"num-nodes"}, "") == "-1";
  const std::int64_t nodes = all_nodes ? 0 : words.number({"nnodes", "num-nodes"}, 1);
  const std::int64_t started = nodes * words.number({"nproc-per-node", "num-gpus"}, 0);
  return words.number({"world-size"}, started);
}

// A batch, its micro-batches and their number, each said by the words; what is typed besides wins
// over what they say of the same.
void refuse_contradiction(const LaunchWords& words, const BesideLaunch& typed, const LaunchJob& job,
                          bool says_devices) {
  const bool other_devices = says_devices && (typed.devices > 0 || typed.grid);
  if (other_devices || typed.batch > 0 || typed.micro_batch > 0 || typed.micro_batches) return;
  const std::int64_t batch = job.micro_batch * job.micro_batches * job.shares;
  if (batch == 0 || job.batch == 0 || job.batch == batch) return;
  words.refuse(
      fmt::format("a batch of {} sequences is not micro-batches of {} x {} of them x {} "
                  "replicas, which are {}; leave one out",
                  job.batch, job.micro_batch, job.micro_batches, job.shares, batch));
}

}  // namespace

LaunchJob launch_job(const LaunchWords& words, const BesideLaunch& typed) {
  for (const char* name : {"context-parallel-size", "expert-model-parallel-size"}) {
    if (words.number({name}, 1) <= 1) continue;
    words.refuse(fmt::format("{} is no axis of a grid here; leave it at 1", name));
  }
  LaunchJob job;
  job.x = std::max<std::int64_t>(
      1, words.number({"tensor-model-parallel-size", "model-parallel-size"}, 1));
  job.stages = std::max<std::int64_t>(
      1, words.number({"pipeline-model-parallel-size", "pipe-parallel-size"}, 1));
  job.batch = words.number({"global-batch-size", "train-batch-size"}, 0);
  job.micro_batch = words.number({"micro-batch-size", "train-micro-batch-size-per-gpu"}, 0);
  job.micro_batches = words.number({"gradient-accumulation-steps", "gas"}, 0);
  const std::int64_t said = devices_in(words);
  job.devices = said;
  if (typed.devices > 0) job.devices = typed.devices;
  if (typed.batch > 0) job.batch = typed.batch;
  if (typed.micro_batch > 0) job.micro_batch = typed.micro_batch;
  std::int64_t replica = job.x * job.stages;
  if (typed.grid) {
    job.x = typed.grid->extent(Axis::x);
    job.stages = typed.grid->extent(Axis::pipe);
    job.devices = typed.grid->size();
    replica = job.devices / replicas(*typed.grid);
  }
  const std::int64_t share = job.micro_batch * job.micro_batches;
  if (job.devices == 0 && share > 0 && job.batch % share == 0) {
    job.devices = job.batch / share * replica;
  }
  if (job.devices % replica != 0) {
    words.refuse(fmt::format("{} devices are no multiple of {} x {} stages", job.devices, job.x,
                             job.stages));
  }
  job.shares = job.devices / replica;
  refuse_contradiction(words, typed, job, said > 0);
  if (job.batch == 0) {
    job.batch = std::max<std::int64_t>(1, job.micro_batches) * job.micro_batch * job.shares;
  }
  return job;
}

}  // namespace fourfold::inline scaling::inline cli
