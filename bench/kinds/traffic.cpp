// Messages, collectives and checkpoints; see traffic.hpp.
#include "bench/kinds/traffic.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/measure/collective.hpp"
#include "bench/measure/messages.hpp"
#include "bench/measure/turns.hpp"
#include "engine/host_memory.hpp"
#include "engine/mpi/handles.hpp"
#include "engine/train/checkpoint/checkpoint.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/train/run/stop.hpp"
#include "schedule/order/step.hpp"
#include "support/binary_size.hpp"
#include "support/owned_folder.hpp"

namespace fourfold::inline bench::inline kinds {

namespace {

namespace files = std::filesystem;
constexpr double giga = 1e-9, mega = 1e-6;

std::vector<std::int64_t> sizes_or(const BenchQuestion& question, int first, int last, int step) {
  if (!question.sizes.empty()) return question.sizes;
  std::vector<std::int64_t> sizes;
  for (int shift = first; shift <= last; shift += step) sizes.push_back(std::int64_t{1} << shift);
  return sizes;
}

// Fewer rounds of what takes long.
std::int64_t rounds_of(std::int64_t rounds, std::int64_t bytes) {
  return bytes > (16 << 20) ? std::max<std::int64_t>(3, rounds / 4) : rounds;
}

// A plain file of rank 0: what `move` (read or write) does with pieces of 16 MB.
template <typename Move>
void go_through(const std::string& path, int flags, std::int64_t bytes, const Move& move) {
  std::vector<char> buffer(std::size_t{16} << 20, 'x');
  const int file = ::open(path.c_str(), flags, 0644);
  while (bytes > 0) {
    const auto piece = std::min(static_cast<std::size_t>(bytes), buffer.size());
    const ssize_t done = move(file, buffer.data(), piece);
    if (done <= 0) throw std::runtime_error(path + " cannot be written or read");
    bytes -= done;
  }
  if ((flags & O_CREAT) != 0) ::fsync(file);
  ::close(file);
}

// Takes a file that has reached the disk out of the page cache, so that reading it is.
void forget(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
}

std::string newest_data(const std::string& folder) {
  for (const auto& entry : files::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") return entry.path().string();
  }
  throw std::runtime_error(folder + " holds no checkpoint");
}

}  // namespace

BenchTable bench_p2p(const BenchQuestion& question) {
  BenchTable table{
      "p2p",
      "message",
      {{"GB/s", "p50"}},
      {},
      "Ranks r and r + n/2 in pairs, all pairs at the same time. Latency: half a round "
      "trip, as OSU's osu_latency; bandwidth: 64 messages under way in one direction, "
      "as osu_bw, of which a time is one message's share. Times are the slowest pair's."};
  for (std::int64_t bytes : sizes_or(question, 3, 24, 3)) {
    PingPong ping(bytes);
    MessageStream stream(bytes);
    std::vector<Sample> seconds = take_turns(
        {[&] { return ping.seconds(); }, [&] { return stream.seconds() / MessageStream::window; }},
        {rounds_of(question.rounds, bytes * 16), 3});
    const std::string size = size_text(static_cast<double>(bytes));
    const auto rate = [&](const Sample& sample) {
      return static_cast<double>(bytes) / median(sample) * giga;
    };
    table.rows.push_back({"latency, " + size, seconds[0], {rate(seconds[0])}, ping.right()});
    table.rows.push_back({"bandwidth, " + size, seconds[1], {rate(seconds[1])}, stream.right()});
  }
  return table;
}

BenchTable bench_collectives(const BenchQuestion& question) {
  BenchTable table{
      "collectives",
      "axis, collective, transport, size",
      {{"algbw", "GB/s"}, {"busbw", "GB/s"}, {"overlap", "%"}},
      {},
      "The groups of an axis run at the same time. Size, algbw and busbw as nccl-tests: the whole "
      "buffer, its bytes over p50, and that times 2(n-1)/n for an all-reduce, 1 for a broadcast "
      "and an "
      "exchange with neighbours, (n-1)/n for others; parts of an all-to-all-v are whole and half "
      "by "
      "turns. auto: whichever was the fastest before. "
      "Overlap as OSU's non-blocking benchmarks: work as long as the collective between start and "
      "wait, with a look at progress every 50 us; 100 (1 - (overall - work) / alone). Right: all "
      "numbers are what they must be, on all ranks."};
  HostMemory memory;
  for (Axis axis : all_axes) {
    if (question.grid.extent(axis) == 1) continue;
    for (TransportKind transport : question.transports) {
      const Channel channel{axis, ""};
      Channels channels(question.grid, {channel}, transport, ProgressMode::none, memory);
      for (const KindRow& row : collective_rows) {
        if (row.motion == Motion::one_way) continue;
        for (std::int64_t bytes : sizes_or(question, 10, 28, 3)) {
          CollectiveRun run(channels[channel], row.kind, bytes);
          run.prepare();
          const bool right = run.right();
          double work = 0.0;
          const std::vector<Sample> seconds = take_turns(
              {[&] { return work = run.seconds(); }, [&] { return run.seconds_beside(work); }},
              {rounds_of(question.rounds, bytes), 2});
          Sample hidden;
          for (std::size_t i = 0; i < seconds[0].size(); ++i) {
            hidden.push_back(overlap_percent(seconds[0][i], seconds[0][i], seconds[1][i]));
          }
          const double p50 = median(seconds[0]);
          table.rows.push_back(
              {fmt::format("{} {} {} {}", name(axis), row.name, name(transport),
                           size_text(run.bytes())),
               seconds[0],
               {run.bytes() / p50 * giga, run.bus_bytes() / p50 * giga, median(hidden)},
               right});
        }
      }
    }
  }
  return table;
}

BenchTable bench_checkpoint(const BenchQuestion& question) {
  const ProcessGrid& grid = question.grid;
  const std::string folder = question.folder + "/fourfold-bench-checkpoint";
  on_first_rank([&] {
    if (files::is_directory(question.folder)) return;
    throw std::runtime_error("--folder " + question.folder + " is no folder; make it first");
  });
  watch_for_stop();
  StepOptions options;
  options.precision = Precision::fp32;
  HostMemory memory;
  Weights weights(record_step(question.model, options), grid, rank_in(MPI_COMM_WORLD), memory);
  weights.initialise(question.model, 1);
  TrainingState training;
  training.model = question.model;
  training.trainer = nlohmann::json::object();
  std::vector<Sample> seconds;
  double bytes = 0.0;
  // Of a disk without room nothing is left.
  struct Left {
    std::string folder;
    ~Left() { remove_empty({folder}); }
  };
  {
    const Left left{folder};
    Checkpoints checkpoints(folder, 1);
    checkpoints.write(training, weights);
    const auto size = static_cast<std::int64_t>(files::file_size(newest_data(folder)));
    bytes = static_cast<double>(size);
    const std::string plain = folder + "/plain";
    const auto of_all = [&](const std::function<void()>& work) -> Take {
      return [&, work] {
        on_first_rank([&] {
          if (stop_asked()) {
            files::remove_all(folder);
            throw std::runtime_error("bench checkpoint has taken its files away");
          }
          forget(newest_data(folder));
          if (files::exists(plain)) forget(plain);
        });
        return slowest_seconds([&] { return wall_seconds(work); });
      };
    };
    seconds = take_turns(
        {of_all([&] {
           ++training.step;
           checkpoints.write(training, weights);
         }),
         of_all([&] {
           on_first_rank([&] {
             files::remove(plain);
             go_through(plain, O_WRONLY | O_CREAT, size, ::write);
           });
         }),
         of_all([&] { read_checkpoint(folder, question.model, weights); }),
         of_all([&] { on_first_rank([&] { go_through(plain, O_RDONLY, size, ::read); }); })},
        {std::max<std::int64_t>(3, question.rounds / 4), 0});
  }
  on_first_rank([&] { files::remove_all(folder); });
  BenchTable table{"checkpoint",
                   "file",
                   {{"MB/s", "p50"}, {"% of", "plain"}},
                   {},
                   fmt::format("{} on grid {}, {:.0f} MB with both moments, in {}. A checkpoint is "
                               "written and read by all ranks with checksums, fsync and renames; "
                               "the plain file by rank 0 in pieces of 16 MB, with fsync; files are "
                               "taken out of the page cache before. In turns.",
                               question.model.name, grid.str(), bytes * mega, question.folder)};
  const std::vector<std::string> names{"write a checkpoint", "write a plain file",
                                       "read a checkpoint", "read a plain file"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double p50 = median(seconds[i]);
    table.rows.push_back(
        {names[i], seconds[i], {bytes / p50 * mega, 100 * median(seconds[i | 1]) / p50}, true});
  }
  return table;
}

}  // namespace fourfold::inline bench::inline kinds
