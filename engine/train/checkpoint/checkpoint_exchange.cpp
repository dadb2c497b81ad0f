// Two all-to-alls a round, of places and of elements; see checkpoint_exchange.hpp.
#include "engine/train/checkpoint/checkpoint_exchange.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "engine/mpi/handles.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

// 4 MB: long enough for any file system, and two buffers of it are nothing beside the weights.
constexpr std::int64_t stretch_elements = std::int64_t{1} << 20;
// Of all ranks together, so that counts fit into MPI's int.
constexpr std::int64_t longest_round = std::int64_t{1} << 28;

std::vector<int> offsets_of(const std::vector<int>& counts) {
  std::vector<int> offsets(counts.size(), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, offsets.begin() + 1);
  return offsets;
}

// What every rank sends to this one, one rank after the other.
template <typename T>
void all_to_all(const std::vector<T>& sent, const std::vector<int>& sent_counts,
                std::vector<T>& received, MPI_Datatype type) {
  std::vector<int> counts(sent_counts.size());
  check_mpi(MPI_Alltoall(sent_counts.data(), 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD),
            "MPI_Alltoall");
  const std::vector<int> from = offsets_of(sent_counts), to = offsets_of(counts);
  received.resize(static_cast<std::size_t>(to.back()) + static_cast<std::size_t>(counts.back()));
  check_mpi(MPI_Alltoallv(sent.data(), sent_counts.data(), from.data(), type, received.data(),
                          counts.data(), to.data(), type, MPI_COMM_WORLD),
            "MPI_Alltoallv");
}

std::size_t place_of(const SavedBlock& block, const CheckpointLayout& layout) {
  const auto place =
      std::ranges::lower_bound(layout.matrices(), block.matrix.first, {}, &SavedMatrix::first);
  return static_cast<std::size_t>(place - layout.matrices().begin());
}

std::vector<int> first_stages(const CheckpointLayout& layout) {
  constexpr int nobody = std::numeric_limits<int>::max();
  std::vector<int> first(layout.matrices().size(), nobody);
  for (const SavedBlock& block : layout.blocks()) {
    first[place_of(block, layout)] = static_cast<int>(layout.stage());
  }
  check_mpi(
      MPI_Allreduce(MPI_IN_PLACE, first.data(), mpi_count(static_cast<std::int64_t>(first.size())),
                    MPI_INT, MPI_MIN, MPI_COMM_WORLD),
      "MPI_Allreduce");
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i] != nobody) continue;
    throw std::logic_error("checkpoint: no stage has " + layout.matrices()[i].name);
  }
  return first;
}

}  // namespace

CheckpointExchange::CheckpointExchange(const CheckpointLayout& layout)
    : layout_(layout),
      rank_(mpi_count(rank_in(MPI_COMM_WORLD))),
      ranks_(mpi_count(size_of(MPI_COMM_WORLD))),
      first_stage_(first_stages(layout)) {}

std::int64_t CheckpointExchange::round_elements() const {
  return std::min(ranks_ * stretch_elements, longest_round);
}

// All stretches but the last are of one length, and begin on pages of the file.
ElementRange CheckpointExchange::stretch_of(ElementRange round, int writer) const {
  constexpr std::int64_t page_elements = 1024;
  const std::int64_t even = (round.to - round.from + ranks_ - 1) / ranks_;
  const std::int64_t length = (even + page_elements - 1) / page_elements * page_elements;
  return {std::min(round.to, round.from + writer * length),
          std::min(round.to, round.from + (writer + 1) * length)};
}

// Of equal blocks on several ranks of a stage, the one is taken on the rank that stands to the
// others as the writer does, which is the writer itself where it has one: so no element is sent
// twice, and few are sent at all. Of stages that have the same matrix, the first one gives it.
bool CheckpointExchange::gives(const SavedBlock& block, int writer) const {
  return layout_.stage() == first_stage_[place_of(block, layout_)] &&
         layout_.is_same_replica(block, writer);
}

void CheckpointExchange::collect(ElementRange round) {
  places_.clear();
  elements_.clear();
  sent_places_.assign(static_cast<std::size_t>(ranks_), 0);
  sent_elements_.assign(static_cast<std::size_t>(ranks_), 0);
  for (int writer = 0; writer < ranks_; ++writer) {
    const ElementRange stretch = stretch_of(round, writer);
    const std::size_t places = places_.size(), elements = elements_.size();
    for (const Run& run : layout_.runs(stretch.from, stretch.to)) {
      if (!gives(layout_.blocks()[run.matrix], writer)) continue;
      if (writer == rank_) {
        layout_.copy_out(run, own_.data() + (run.element - stretch.from));
        continue;
      }
      places_.insert(places_.end(), {run.element - stretch.from, run.count});
      const std::size_t begin = elements_.size();
      elements_.resize(begin + static_cast<std::size_t>(run.count));
      layout_.copy_out(run, elements_.data() + begin);
    }
    const auto to = static_cast<std::size_t>(writer);
    sent_places_[to] = static_cast<int>(places_.size() - places);
    sent_elements_[to] = static_cast<int>(elements_.size() - elements);
  }
}

const std::vector<float>& CheckpointExchange::bring(ElementRange round) {
  const ElementRange stretch = own(round);
  own_.resize(static_cast<std::size_t>(stretch.to - stretch.from));
  collect(round);
  all_to_all(places_, sent_places_, received_places_, MPI_INT64_T);
  all_to_all(elements_, sent_elements_, received_, MPI_FLOAT);
  auto next = received_.begin();
  for (std::size_t i = 0; i < received_places_.size(); i += 2) {
    const std::int64_t count = received_places_[i + 1];
    std::copy_n(next, count, own_.begin() + received_places_[i]);
    next += count;
  }
  return own_;
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
