// Question: what does a checkpoint cost, written to the disk and read back, beside a plain file of
// the same size in the same folder?
//
// Ours and a plain file take turns within one benchmark. A checkpoint is written and read by all
// ranks, with checksums, fsync and renames; the plain file by rank 0 alone, in pieces of 16 MB from
// and to one buffer, with fsync. Files are read twice: from the page cache, where they lie because
// they were written a moment ago, and from the disk, after the kernel was told to forget them (a
// virtual disk may still answer from its host's memory). A time is the slowest rank's from a common
// barrier.
//
//   mpirun -np 2 build/bin/bench-engine_checkpoint      # writes into the working directory
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/host_memory.hpp"
#include "engine/mpi/handles.hpp"
#include "engine/train/checkpoint/checkpoint.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/run/agreement.hpp"
#include "microbench/distributed.hpp"
#include "schedule/models/model.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/order/step.hpp"

namespace fourfold {
namespace {

namespace files = std::filesystem;

constexpr std::size_t plain_piece = std::size_t{16} << 20;

// `move` is read or write, called with a piece of the buffer until `bytes` have gone.
template <typename Move>
void go_through(const std::string& path, int flags, std::int64_t bytes, const Move& move) {
  static std::vector<char> buffer(plain_piece, 'x');
  const int file = ::open(path.c_str(), flags, 0644);
  while (bytes > 0) {
    const auto piece = std::min(static_cast<std::size_t>(bytes), buffer.size());
    const ssize_t done = move(file, buffer.data(), piece);
    if (done <= 0) throw std::runtime_error(path + " cannot be used for a plain file");
    bytes -= done;
  }
  if ((flags & O_CREAT) != 0) ::fsync(file);
  ::close(file);
}

// Takes the folder's files, which are on the disk, out of the page cache.
void forget(const std::string& folder) {
  on_first_rank([&] {
    for (const auto& entry : files::directory_iterator(folder)) {
      const int file = ::open(entry.path().c_str(), O_RDONLY);
      if (file < 0 || ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0) {
        throw std::runtime_error(entry.path().string() + " cannot be taken out of the page cache");
      }
      ::close(file);
    }
  });
}

std::string newest_data(const std::string& folder) {
  for (const auto& entry : files::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") return entry.path().string();
  }
  throw std::runtime_error(folder + " holds no checkpoint");
}

void side_by_side(benchmark::State& state, const ProcessGrid& grid) {
  const Model model = read_model("gpt2-mini");
  const std::string folder = "./bench-checkpoint";
  StepOptions options;
  options.precision = Precision::fp32;
  HostMemory memory;
  Weights weights(record_step(model, options), grid, rank_in(MPI_COMM_WORLD), memory);
  weights.initialise(model, 1);
  Checkpoints checkpoints(folder, 1);
  TrainingState training;
  training.model = model;
  training.trainer = nlohmann::json::object();
  checkpoints.write(training, weights);
  const auto bytes = static_cast<std::int64_t>(files::file_size(newest_data(folder)));
  const std::string plain = folder + "/plain";
  const auto write_plain = [&] {
    on_first_rank([&] {
      files::remove(plain);
      go_through(plain, O_WRONLY | O_CREAT, bytes, ::write);
    });
  };
  const auto read_plain = [&] {
    on_first_rank([&] { go_through(plain, O_RDONLY, bytes, ::read); });
  };

  Sample wrote, read, wrote_plain, read_plain_file, read_cold, read_plain_cold;
  for ([[maybe_unused]] auto turn : state) {
    ++training.step;
    wrote.push_back(seconds_of([&] { checkpoints.write(training, weights); }));
    wrote_plain.push_back(seconds_of(write_plain));
    read.push_back(seconds_of([&] { read_checkpoint(folder, model, weights); }));
    read_plain_file.push_back(seconds_of(read_plain));
    forget(folder);
    read_cold.push_back(seconds_of([&] { read_checkpoint(folder, model, weights); }));
    read_plain_cold.push_back(seconds_of(read_plain));
    state.SetIterationTime(wrote.back());
  }
  on_first_rank([&] { files::remove_all(folder); });

  const double mega = 1e-6 * static_cast<double>(bytes);
  state.counters["MB"] = mega;
  state.counters["write_MBps"] = mega / quantile(wrote, 0.5);
  state.counters["plain_write_MBps"] = mega / quantile(wrote_plain, 0.5);
  state.counters["read_MBps"] = mega / quantile(read, 0.5);
  state.counters["plain_read_MBps"] = mega / quantile(read_plain_file, 0.5);
  state.counters["disk_read_MBps"] = mega / quantile(read_cold, 0.5);
  state.counters["plain_disk_read_MBps"] = mega / quantile(read_plain_cold, 0.5);
  state.counters["n"] = static_cast<double>(wrote.size());
}

std::vector<ProcessGrid> grids_of(std::int64_t ranks) {
  std::vector<ProcessGrid> grids{{1, 1, 1, ranks}};
  if (ranks == 1) return grids;
  grids.emplace_back(ranks, 1, 1, 1);
  grids.emplace_back(1, ranks, 1, 1);
  grids.emplace_back(1, 1, ranks, 1);
  if (ranks == 4) grids.emplace_back(2, 1, 2, 1);
  return grids;
}

void add_benchmarks() {
  for (const ProcessGrid& grid : grids_of(size_of(MPI_COMM_WORLD))) {
    benchmark::RegisterBenchmark(("gpt2-mini/" + grid.str()).c_str(),
                                 [grid](benchmark::State& state) { side_by_side(state, grid); })
        ->Iterations(7)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace fourfold

int main(int argc, char** argv) {
  return fourfold::run_on_all_ranks(argc, argv, fourfold::add_benchmarks);
}
