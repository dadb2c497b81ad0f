// Writing: reserve, exchange and write stretches, sync, rename the data, then the record; see
// checkpoint.hpp.
#include "engine/train/checkpoint/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "engine/mpi/session.hpp"
#include "engine/train/checkpoint/checkpoint_checksum.hpp"
#include "engine/train/checkpoint/checkpoint_exchange.hpp"
#include "engine/train/checkpoint/checkpoint_file.hpp"
#include "engine/train/checkpoint/checkpoint_record.hpp"
#include "engine/train/run/agreement.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

namespace fs = std::filesystem;

std::int64_t element_count(const std::vector<SavedMatrix>& matrices) {
  return matrices.back().first + matrices.back().elements();
}

std::string head_of(const std::vector<SavedMatrix>& matrices, const std::string& model,
                    std::int64_t step) {
  return safetensors_head(
      matrices, {{"format", "fourfold"}, {"model", model}, {"step", std::to_string(step)}});
}

std::int64_t bytes_of(const std::string& head, const std::vector<SavedMatrix>& matrices) {
  return static_cast<std::int64_t>(head.size()) + 4 * element_count(matrices);
}

// The file's elements, a stretch of every round by each rank. Returns its part of each matrix's
// checksum.
std::vector<std::uint64_t> write_elements(CheckpointFile& file, const CheckpointLayout& layout,
                                          std::int64_t first_byte) {
  const std::vector<SavedMatrix>& matrices = layout.matrices();
  std::vector<std::uint64_t> sums(matrices.size(), 0);
  CheckpointExchange exchange(layout);
  const std::int64_t end = element_count(matrices);
  for (std::int64_t from = 0; from < end; from += exchange.round_elements()) {
    const ElementRange round{from, std::min(end, from + exchange.round_elements())};
    const std::vector<float>& elements = exchange.bring(round);
    const std::int64_t first = exchange.own(round).from;
    together([&] { file.write_elements(first_byte + 4 * first, elements); });
    add_checksums(matrices, first, elements, sums);
  }
  return sums;
}

// Everything but the renames. Returns the checksums by matrix.
std::map<std::string, std::uint64_t> write_data(const std::string& path, const std::string& head,
                                                const CheckpointLayout& layout) {
  CheckpointFile file(path, FileAccess::write);
  on_first_rank([&] { file.write_bytes(0, head); });
  std::vector<std::uint64_t> sums =
      write_elements(file, layout, static_cast<std::int64_t>(head.size()));
  together([&] { file.sync(); });
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_UINT64_T,
                          MPI_SUM, MPI_COMM_WORLD),
            "MPI_Allreduce");
  std::map<std::string, std::uint64_t> checksums;
  for (std::size_t i = 0; i < sums.size(); ++i) checksums[layout.matrices()[i].name] = sums[i];
  return checksums;
}

}  // namespace

Checkpoints::Checkpoints(const std::string& folder, std::int64_t keep)
    : folder_(folder), keep_(keep) {
  if (keep < 1) {
    throw std::invalid_argument(
        fmt::format("at least 1 checkpoint must be kept, and {} were asked for", keep));
  }
  on_first_rank([&] {
    if (fs::exists(folder)) use_folder();
  });
}

void Checkpoints::use_folder() {
  if (owned_) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) {
    throw std::runtime_error(fmt::format("{} cannot be made: {}", folder_, error.message()));
  }
  owned_.emplace(folder_);
  remove_unfinished(folder_);
}

std::int64_t checkpoint_bytes(const Model& model) {
  const std::vector<SavedMatrix> matrices = saved_matrices(model);
  return bytes_of(head_of(matrices, model.name, 0), matrices);
}

void sweep_checkpoints(const std::string& folder) {
  try {
    const OwnedFolder owned(folder);
    remove_unfinished(folder);
  } catch (const std::runtime_error&) {  // not ours to sweep: a run writes there, or we may not
  }
}

// Others may take the room that a removed checkpoint leaves: then the next one goes, too.
CheckpointDrafts Checkpoints::reserve_room(const CheckpointFiles& files) {
  for (auto others = std::ssize(finished_checkpoints(folder_));; --others) {
    const std::vector<std::string> removed = remove_for_room(folder_, files);
    removed_.insert(removed_.end(), removed.begin(), removed.end());
    try {
      return reserve(files);
    } catch (const NoRoom&) {
      if (others <= 0) throw;
    }
  }
}

std::string Checkpoints::write(const TrainingState& state, const Weights& weights) {
  const bool moments = std::ranges::any_of(
      weights.all(), [](const Stored& stored) { return stored.kept == Kept::moment; });
  const CheckpointLayout layout(
      weights, saved_matrices(state.model, moments ? CheckpointBlocks::saved
                                                   : CheckpointBlocks::without_moments));
  const std::string head = head_of(layout.matrices(), state.model.name, state.step);
  removed_.clear();
  on_first_rank([&] { use_folder(); });
  CheckpointRecord record;
  record.state = state;
  record.data_file = from_first_rank([&] { return free_data_name(folder_, state.step); });
  record.data_file_bytes = bytes_of(head, layout.matrices());
  record.head_checksum = checksum(head);
  for (const SavedMatrix& matrix : layout.matrices()) record.checksums[matrix.name] = 0;
  CheckpointFiles files;
  files.data = (fs::path(folder_) / record.data_file).string();
  files.data_bytes = record.data_file_bytes;
  files.record = record_path(folder_, state.step);
  CheckpointDrafts drafts;
  try {
    together([&] { expect_allowed(files.data, files.data_bytes); });
    drafts.data = from_first_rank([&] {
      record.serial = next_serial(folder_);
      files.record_bytes = std::ssize(text_of(record));
      drafts = reserve_room(files);
      return drafts.data;
    });
    record.checksums = write_data(drafts.data, head, layout);
    on_first_rank([&] {
      commit(files, drafts, text_of(record));
      remove_older(folder_, keep_);
    });
  } catch (const std::runtime_error& error) {
    if (owned_) remove_unfinished(folder_);
    throw FailedTogether(std::string(error.what()) + "; older checkpoints are as they were");
  }
  return files.record;
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
