// Reading: the record, then weights and checksums; see checkpoint_read.hpp.
#include "engine/train/checkpoint/checkpoint_read.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>

#include "engine/mpi/handles.hpp"
#include "engine/mpi/session.hpp"
#include "engine/train/checkpoint/checkpoint_checksum.hpp"
#include "engine/train/checkpoint/checkpoint_file.hpp"
#include "engine/train/checkpoint/checkpoint_folder.hpp"
#include "engine/train/checkpoint/checkpoint_layout.hpp"
#include "engine/train/checkpoint/checkpoint_record.hpp"
#include "engine/train/run/agreement.hpp"
#include "support/field.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

namespace files = std::filesystem;

// Of a piece, which one rank verifies and from which all take their runs: 1 MiB, so that it is in
// the caches while it is added up and copied, and the kernel reads ahead.
constexpr std::int64_t piece_elements = std::int64_t{1} << 18;
// Between runs that one access reads together: reading 64 KiB takes less than one more access.
constexpr std::int64_t longest_gap = std::int64_t{1} << 14;

std::string newest_in(const std::string& folder) {
  const std::vector<std::string> paths = finished_checkpoints(folder);
  if (paths.empty()) throw std::runtime_error(folder + " holds no checkpoint");
  return paths.back();
}

CheckpointRecord read_record(const std::string& path) {
  const std::string text = from_first_rank([&] { return read_whole_file(path); });
  try {
    return parse_checkpoint_record(text);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + " " + error.what());
  }
}

void expect_model(const std::string& path, const Model& saved, const Model& wanted) {
  if (model_fields().values(saved) == model_fields().values(wanted)) return;
  throw std::runtime_error(fmt::format("{} is a checkpoint of {}, not of {}", path,
                                       described(saved), described(wanted)));
}

// A data file that is open and whose size and head are as its record says.
struct OpenData {
  std::string path;
  std::unique_ptr<CheckpointFile> file;
  std::int64_t first_byte = 0;  // of the elements
  std::vector<SavedMatrix> matrices;
};

OpenData open_data(const std::string& record_path, const CheckpointRecord& record) {
  OpenData data;
  data.path = (files::path(record_path).parent_path() / record.data_file).string();
  together([&] {
    const std::int64_t bytes = bytes_of_plain_file(data.path);
    if (bytes != record.data_file_bytes) {
      throw std::runtime_error(fmt::format(
          "{} is {}: it has {} bytes, and {} were written", data.path,
          bytes < record.data_file_bytes ? "truncated" : "damaged", bytes, record.data_file_bytes));
    }
  });
  data.file = std::make_unique<CheckpointFile>(data.path, FileAccess::read);
  const std::string head = from_first_rank([&] {
    try {
      const std::int64_t bytes =
          safetensors_head_bytes(data.file->read_bytes(0, 8), record.data_file_bytes);
      std::string text = data.file->read_bytes(0, bytes);
      if (checksum(text) != record.head_checksum) {
        throw std::runtime_error("is damaged: the checksum of its head does not fit");
      }
      return text;
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(data.path + " " + error.what());
    }
  });
  data.first_byte = static_cast<std::int64_t>(head.size());
  together([&] {
    try {
      data.matrices = parse_safetensors_head(head, record.data_file_bytes - data.first_byte);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(data.path + " " + error.what());
    }
  });
  return data;
}

// Collective: what one stage lacks, another may find.
CheckpointLayout layout_of(const OpenData& data, const Weights& weights, CheckpointBlocks which) {
  std::optional<CheckpointLayout> layout;
  together([&] {
    try {
      layout.emplace(weights, data.matrices, which);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(data.path + " " + error.what());
    }
  });
  return *std::move(layout);
}

// Elements from `first` on that are at hand.
struct ReadAhead {
  std::int64_t first = 0;
  std::vector<float> values;

  std::int64_t end() const { return first + std::ssize(values); }
  std::span<const float> part(std::int64_t from, std::int64_t to) const {
    return std::span(values).subspan(static_cast<std::size_t>(from - first),
                                     static_cast<std::size_t>(to - from));
  }
};

void read_stretch(OpenData& data, std::int64_t from, std::int64_t to, ReadAhead& stretch) {
  stretch.first = from;
  stretch.values.resize(static_cast<std::size_t>(to - from));
  data.file->read_elements(data.first_byte + 4 * from, stretch.values);
}

// Runs one by one, read with as few accesses as gaps allow.
void take_runs(OpenData& data, const CheckpointLayout& layout, const std::vector<Run>& runs,
               ReadAhead& stretch) {
  for (const Run* run = runs.data(); run != runs.data() + runs.size();) {
    const Run* last = run;
    std::int64_t end = run->element + run->count;
    while (last + 1 != runs.data() + runs.size() && last[1].element - end <= longest_gap) {
      ++last;
      end = last->element + last->count;
    }
    read_stretch(data, run->element, end, stretch);
    for (; run <= last; ++run) {
      layout.copy_in(*run, stretch.part(run->element, run->element + run->count).data());
    }
  }
}

// The piece, if this rank verifies it, into the sums of its matrices.
void add_share(OpenData& data, std::int64_t from, std::int64_t to, ReadAhead& stretch,
               std::vector<std::uint64_t>& sums) {
  if (from / piece_elements % size_of(MPI_COMM_WORLD) != rank_in(MPI_COMM_WORLD)) return;
  if (stretch.first != from || stretch.end() != to) read_stretch(data, from, to, stretch);
  add_checksums(data.matrices, from, stretch.values, sums);
}

void for_each_piece(std::int64_t end, const std::function<void(std::int64_t, std::int64_t)>& work) {
  for (std::int64_t from = 0; from < end; from += piece_elements) {
    work(from, std::min(end, from + piece_elements));
  }
}

// Every rank takes its runs and, while the file's bytes are at hand, adds up its share of the sums,
// if they are wanted.
void fill(OpenData& data, const Weights& weights, CheckpointBlocks which,
          std::vector<std::uint64_t>* sums = nullptr) {
  const CheckpointLayout layout = layout_of(data, weights, which);
  if (layout.blocks().empty() && sums == nullptr) return;
  const std::int64_t end = data.matrices.back().first + data.matrices.back().elements();
  ReadAhead stretch;
  together([&] {
    for_each_piece(end, [&](std::int64_t from, std::int64_t to) {
      take_runs(data, layout, layout.runs(from, to), stretch);
      if (sums != nullptr) add_share(data, from, to, stretch, *sums);
    });
  });
}

// Collective. The sums are parts of everybody's.
void expect_sums(const OpenData& data, const CheckpointRecord& record,
                 std::vector<std::uint64_t> sums) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_UINT64_T,
                          MPI_SUM, MPI_COMM_WORLD),
            "MPI_Allreduce");
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto expected = record.checksums.find(data.matrices[i].name);
    if (expected != record.checksums.end() && expected->second == sums[i]) continue;
    throw std::runtime_error(fmt::format("{} is damaged: the checksum of {} does not fit",
                                         data.path, data.matrices[i].name));
  }
}

// Without taking anything.
void verify(OpenData& data, const CheckpointRecord& record) {
  std::vector<std::uint64_t> sums(data.matrices.size(), 0);
  ReadAhead stretch;
  together([&] {
    for_each_piece(
        (record.data_file_bytes - data.first_byte) / 4,
        [&](std::int64_t from, std::int64_t to) { add_share(data, from, to, stretch, sums); });
  });
  expect_sums(data, record, std::move(sums));
}

// The newest checkpoint beside this one that is whole, in words that end a sentence.
std::string whole_one_beside(const std::string& path) {
  const std::string folder = files::absolute(path).parent_path().string();
  constexpr char end = '\0';  // of a path
  const std::string list = from_first_rank([&] {
    std::string paths;
    std::error_code unknown;  // one of them is no plain file, and so another one
    for (const std::string& other : finished_checkpoints(folder)) {
      if (!files::equivalent(other, path, unknown)) paths.insert(0, other + end);
    }
    return paths;
  });
  for (std::size_t begin = 0; begin < list.size(); begin = list.find(end, begin) + 1) {
    const std::string other = list.substr(begin, list.find(end, begin) - begin);
    try {
      const CheckpointRecord record = read_record(other);
      OpenData data = open_data(other, record);
      verify(data, record);
      return "; " + other + " is whole and can be used instead";
    } catch (const std::runtime_error&) {
      continue;
    }
  }
  return "; no other checkpoint beside it is whole";
}

// The JSON that a path means.
std::string record_of(const std::string& path) {
  return from_first_rank([&] {
    if (files::is_directory(path)) return newest_in(path);
    if (!files::exists(path)) throw std::runtime_error(path + " does not exist");
    return path;
  });
}

}  // namespace

TrainingState read_training_state(const std::string& path) {
  const std::string record = record_of(path);
  try {
    return read_record(record).state;
  } catch (const std::runtime_error& error) {
    throw FailedTogether(error.what() + whole_one_beside(record));
  }
}

namespace {

TrainingState read(const std::string& path, const Model& model, CheckpointBlocks which,
                   Weights& weights) {
  const std::string found = record_of(path);
  try {
    const CheckpointRecord record = read_record(found);
    expect_model(found, record.state.model, model);
    OpenData data = open_data(found, record);
    std::vector<std::uint64_t> sums(data.matrices.size(), 0);
    fill(data, weights, which, &sums);
    expect_sums(data, record, std::move(sums));
    fill(data, weights, CheckpointBlocks::weights_of_masters);
    weights.round_masters();
    return record.state;
  } catch (const std::runtime_error& error) {
    throw FailedTogether(error.what() + whole_one_beside(found));
  }
}

}  // namespace

TrainingState read_checkpoint(const std::string& path, const Model& model, Weights& weights) {
  return read(path, model, CheckpointBlocks::saved, weights);
}

TrainingState read_weights(const std::string& path, const Model& model, Weights& weights) {
  return read(path, model, CheckpointBlocks::without_moments, weights);
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
