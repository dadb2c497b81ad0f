// Reading: the record, then every checksum, and only then the weights; see checkpoint_read.hpp.
#include "engine/train/checkpoint/checkpoint_read.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <stdexcept>

#include "engine/mpi/handles.hpp"
#include "engine/mpi/session.hpp"
#include "engine/train/checkpoint/checkpoint_checksum.hpp"
#include "engine/train/checkpoint/checkpoint_file.hpp"
#include "engine/train/checkpoint/checkpoint_folder.hpp"
#include "engine/train/checkpoint/checkpoint_record.hpp"
#include "engine/train/run/agreement.hpp"
#include "support/field.hpp"
#include "support/whole_file.hpp"

namespace fourfold {

namespace {

namespace files = std::filesystem;

// Of a piece that one rank verifies at a time.
constexpr std::int64_t piece_elements = std::int64_t{1} << 20;
// That all ranks together take their runs from at a time: bounds the memory of buffers.
constexpr std::int64_t round_elements = std::int64_t{4} << 20;

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
    std::error_code error;
    const auto bytes = static_cast<std::int64_t>(files::file_size(data.path, error));
    if (error) {
      throw std::runtime_error(fmt::format("{} cannot be read: {}", data.path, error.message()));
    }
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

// Every rank reads its share of the pieces; the sums are everybody's.
void verify(OpenData& data, const CheckpointRecord& record) {
  const std::int64_t rank = rank_in(MPI_COMM_WORLD);
  const std::int64_t size = size_of(MPI_COMM_WORLD);
  std::vector<std::uint64_t> sums(data.matrices.size(), 0);
  together([&] {
    std::vector<float> values;
    const std::int64_t end = (record.data_file_bytes - data.first_byte) / 4;
    for (std::int64_t at = rank * piece_elements; at < end; at += size * piece_elements) {
      const std::int64_t next = std::min(at + size * piece_elements, end);
      data.file->read_ahead(data.first_byte + 4 * next,
                            4 * std::min(size * piece_elements, end - next));
      values.resize(static_cast<std::size_t>(std::min(piece_elements, end - at)));
      data.file->read_elements(data.first_byte + 4 * at, values);
      add_checksums(data.matrices, at, values, sums);
    }
  });
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

void fill(OpenData& data, const Weights& weights, CheckpointBlocks which) {
  const CheckpointLayout layout = layout_of(data, weights, which);
  if (layout.blocks().empty()) return;  // on all ranks or on none: every stage has matrices
  const std::int64_t end = data.matrices.back().first + data.matrices.back().elements();
  std::vector<float> values;
  for (std::int64_t from = 0; from < end; from += round_elements) {
    const std::vector<Run> runs = layout.runs(from, std::min(end, from + round_elements));
    std::int64_t count = 0;
    for (const Run& run : runs) count += run.count;
    values.resize(static_cast<std::size_t>(count));
    together([&] { data.file->read_round({data.first_byte + 4 * from, from, runs}, values); });
    const float* next = values.data();
    for (const Run& run : runs) {
      layout.copy_in(run, next);
      next += run.count;
    }
  }
}

// The newest checkpoint beside this one that is whole, in words that end a sentence.
std::string whole_one_beside(const std::string& path) {
  const std::string folder = files::absolute(path).parent_path().string();
  const std::string list = from_first_rank([&] {
    std::string lines;
    for (const std::string& other : finished_checkpoints(folder)) {
      if (!files::equivalent(other, path)) lines.insert(0, other + "\n");
    }
    return lines;
  });
  for (std::size_t begin = 0; begin < list.size(); begin = list.find('\n', begin) + 1) {
    const std::string other = list.substr(begin, list.find('\n', begin) - begin);
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
    verify(data, record);
    fill(data, weights, which);
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

}  // namespace fourfold
