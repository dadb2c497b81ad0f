// Damage of every kind is refused in words, before a weight is touched, and the checkpoint that can
// be used instead is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <optional>

#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "tests/train/made_up_weights.hpp"

namespace fourfold::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Two checkpoints, of steps 10 and 20, and weights that a refusal must not change.
class checkpoint_refusals : public testing::Test {
 protected:
  checkpoint_refusals()
      : program_(training_program(small_model(), Precision::bf16)),
        grid_(grids_of(world_size()).back()),
        weights_(made_up_weights(program_, grid_, 3)) {
    Checkpoints checkpoints(folder_.path());
    for (std::int64_t step : {10, 20}) {
      checkpoints.write(made_up_state(step), made_up_weights(program_, grid_, 1));
    }
    data_ = content_of(newest_data());
    record_ = content_of(newest_record());
  }

  std::string newest_data() const { return folder_.file("step-00000020.safetensors"); }
  std::string newest_record() const { return folder_.file("step-00000020.json"); }
  std::string older_record() const { return folder_.file("step-00000010.json"); }

  std::string sentence(const Model& model = small_model()) {
    return refusal([&] { read_checkpoint(folder_.path(), model, weights_); });
  }

  void expect_refused_whole(const std::string& what) {
    EXPECT_THAT(sentence(), AllOf(HasSubstr(folder_.file("step-00000020")), HasSubstr(what),
                                  HasSubstr(older_record() + " is whole")));
  }

  SharedFolder folder_;
  Program program_;
  ProcessGrid grid_;
  Weights weights_;
  std::string data_, record_;
};

TEST_F(checkpoint_refusals, a_flipped_byte_anywhere_in_the_data) {
  for (const std::size_t place :
       {std::size_t{0}, std::size_t{5}, std::size_t{8}, std::size_t{40}, data_.find("norm1"),
        data_.size() / 3, data_.size() / 2, data_.size() - 1}) {
    std::string damaged = data_;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x10);
    folder_.write("step-00000020.safetensors", damaged);

    SCOPED_TRACE(place);
    expect_refused_whole(place < 8 ? "does not" : "is damaged: the checksum of");
  }
}

TEST_F(checkpoint_refusals, a_flipped_byte_anywhere_in_the_record) {
  const auto step = record_.find("\"step\": 20");
  ASSERT_NE(step, std::string::npos);
  for (const std::size_t place : {std::size_t{0}, record_.find("hidden"), step + 8,
                                  record_.find("kernels") + 20, record_.size() / 2}) {
    std::string damaged = record_;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x01);
    folder_.write("step-00000020.json", damaged);

    SCOPED_TRACE(place);
    expect_refused_whole("is damaged");
  }
}

TEST_F(checkpoint_refusals, a_file_cut_short_at_any_length) {
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{7}, std::size_t{100}, data_.size() / 2, data_.size() - 1}) {
    folder_.write("step-00000020.safetensors", data_.substr(0, length));

    SCOPED_TRACE(length);
    expect_refused_whole("is truncated");
  }
  folder_.write("step-00000020.safetensors", data_ + "more");
  expect_refused_whole("is damaged");
  folder_.write("step-00000020.safetensors", data_);
  EXPECT_EQ(sentence(), "");
}

TEST_F(checkpoint_refusals, a_record_cut_short_at_any_length) {
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, record_.size() / 2, record_.size() - 4}) {
    folder_.write("step-00000020.json", record_.substr(0, length));

    SCOPED_TRACE(length);
    expect_refused_whole("is damaged");
  }
}

TEST_F(checkpoint_refusals, data_that_is_gone) {
  folder_.write("step-00000020.safetensors", "");
  if (world_rank() == 0) std::filesystem::remove(newest_data());
  MPI_Barrier(MPI_COMM_WORLD);

  expect_refused_whole("cannot read");
}

TEST_F(checkpoint_refusals, another_model) {
  Model model = small_model();
  model.layers = 3;

  EXPECT_THAT(sentence(model), AllOf(HasSubstr("is a checkpoint of small (2 layers"),
                                     HasSubstr("not of small (3 layers")));
}

TEST_F(checkpoint_refusals, nothing_to_read) {
  const SharedFolder empty;

  EXPECT_THAT(refusal([&] { read_training_state(empty.path()); }),
              HasSubstr("holds no checkpoint"));
  EXPECT_THAT(refusal([&] { read_training_state(empty.file("none.json")); }),
              HasSubstr("does not exist"));
  EXPECT_THAT(refusal([&] { Checkpoints(empty.path(), 0); }), HasSubstr("at least 1"));
}

TEST_F(checkpoint_refusals, a_file_larger_than_may_be_written_leaves_the_older_ones) {
  struct rlimit before {};
  getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit small = before;
  small.rlim_cur = data_.size() - 1;
  std::optional<Checkpoints> checkpoints(folder_.path());
  setrlimit(RLIMIT_FSIZE, &small);

  const std::string words = refusal([&] { checkpoints->write(made_up_state(30), weights_); });
  setrlimit(RLIMIT_FSIZE, &before);

  EXPECT_THAT(words,
              AllOf(HasSubstr("cannot be written: it needs"), HasSubstr("older checkpoints")));
  EXPECT_EQ(sentence(), "");
  checkpoints.reset();
  MPI_Barrier(MPI_COMM_WORLD);
  const std::filesystem::directory_iterator entries(folder_.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 4);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace fourfold::tests
