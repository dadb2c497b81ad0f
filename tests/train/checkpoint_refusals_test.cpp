// Damage of every kind, and what is sound and does not fit, is refused in words, before a weight is
// touched, and the checkpoint that can be used instead is named.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "tests/edits.hpp"
#include "tests/train/file_limit.hpp"
#include "tests/train/made_up_weights.hpp"

namespace fourfold::tests {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

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

  std::string sentence() {
    return refusal([&] { read_checkpoint(folder_.path(), small_model(), weights_); });
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

TEST_F(checkpoint_refusals, a_flipped_byte_anywhere) {
  for (const std::size_t place :
       {std::size_t{0}, std::size_t{5}, std::size_t{8}, std::size_t{40}, data_.find("norm1"),
        data_.size() / 3, data_.size() / 2, data_.size() - 1}) {
    SCOPED_TRACE(place);
    std::string damaged = data_;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x10);
    folder_.write("step-00000020.safetensors", damaged);
    expect_refused_whole(place < 8 ? "does not" : "is damaged: the checksum of");
  }
  folder_.write("step-00000020.safetensors", data_);
  const auto step = record_.find("\"step\": 20");
  ASSERT_NE(step, std::string::npos);
  for (const std::size_t place : {std::size_t{0}, record_.find("hidden"), step + 8,
                                  record_.find("kernels") + 20, record_.size() / 2}) {
    SCOPED_TRACE(place);
    std::string damaged = record_;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x01);
    folder_.write("step-00000020.json", damaged);
    expect_refused_whole("is damaged");
  }
}

TEST_F(checkpoint_refusals, a_file_that_is_gone_or_cut_short_at_any_length) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) std::filesystem::remove(newest_data());
  MPI_Barrier(MPI_COMM_WORLD);
  expect_refused_whole("cannot read");
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{7}, std::size_t{100}, data_.size() / 2, data_.size() - 1}) {
    SCOPED_TRACE(length);
    folder_.write("step-00000020.safetensors", data_.substr(0, length));
    expect_refused_whole("is truncated");
  }
  folder_.write("step-00000020.safetensors", data_ + "more");
  expect_refused_whole("is damaged");
  folder_.write("step-00000020.safetensors", data_);
  EXPECT_EQ(sentence(), "");
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, record_.size() / 2, record_.size() - 4}) {
    SCOPED_TRACE(length);
    folder_.write("step-00000020.json", record_.substr(0, length));
    expect_refused_whole("is damaged");
  }
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
  {
    Checkpoints checkpoints(folder_.path());
    const FileLimit limit(data_.size() - 1);
    EXPECT_THAT(refusal([&] { checkpoints.write(made_up_state(30), weights_); }),
                AllOf(HasSubstr("cannot be written: it needs"), HasSubstr("older checkpoints")));
  }
  EXPECT_EQ(sentence(), "");
  MPI_Barrier(MPI_COMM_WORLD);
  const std::filesystem::directory_iterator entries(folder_.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 4);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Sound by its checksums, and yet it does not fit: of another version, another model, without a
// tensor, or with one of another kind.
class checkpoint_strangers : public testing::Test {
 protected:
  checkpoint_strangers()
      : program_(training_program(small_model(), Precision::fp32)),
        grid_(grids_of(world_size()).back()),
        weights_(made_up_weights(program_, grid_, 3)) {
    Checkpoints(folder_.path()).write(made_up_state(20), made_up_weights(program_, grid_, 1));
    record_ = json::parse(content_of(folder_.file("step-00000020.json")));
    data_ = content_of(folder_.file("step-00000020.safetensors"));
    std::uint64_t length = 0;
    std::memcpy(&length, data_.data(), 8);
    head_bytes_ = 8 + length;
    head_ = json::parse(data_.substr(8, length));
  }

  // Writes the record with a checksum that fits it.
  void write_record() { folder_.write("step-00000020.json", with_checksum(record_)); }

  // Writes the data with another head of the same length, and a record that fits both.
  void write_head() {
    std::string text = head_.dump();
    text.resize(head_bytes_ - 8, ' ');
    data_.replace(8, text.size(), text);
    folder_.write("step-00000020.safetensors", data_);
    record_["head_checksum"] = fmt::format("{:016x}", checksum(data_.substr(0, head_bytes_)));
    record_["data_file_bytes"] = data_.size();
    write_record();
  }

  std::string sentence(const Model& model = small_model()) {
    Weights weights = made_up_weights(training_program(model, Precision::fp32), grid_, 3);
    return refusal([&] { read_checkpoint(folder_.path(), model, weights); });
  }

  void expect_refused(const std::string& what) {
    EXPECT_THAT(refusal([&] { read_checkpoint(folder_.path(), small_model(), weights_); }),
                AllOf(HasSubstr(folder_.file("step-00000020")), HasSubstr(what),
                      HasSubstr("no other checkpoint beside it is whole")));
    EXPECT_THAT(differences(weights_, made_up_weights(program_, grid_, 3)), IsEmpty());
  }

  SharedFolder folder_;
  Program program_;
  ProcessGrid grid_;
  Weights weights_;
  json record_, head_;
  std::string data_;
  std::size_t head_bytes_ = 0;
};

// Its own sum fits each edited record, so that nothing but the reader stands against it.
TEST_F(checkpoint_strangers, with_an_edited_record) {
  if (world_size() > 1) GTEST_SKIP() << "one rank hears what all hear";
  const auto value = [&](const json& edited) {
    record_ = edited;
    write_record();
    Weights weights = made_up_weights(program_, grid_, 3);
    const TrainingState state = read_checkpoint(folder_.path(), small_model(), weights);
    return fmt::format("{} {} {} {} {}", state.model.name, state.step, state.position, state.seed,
                       state.trainer.dump());
  };
  edits::Sentences said;
  edits::expect_sound(
      {"no other checkpoint beside it is whole",
       record_,
       value,
       {"(left out|empty|a number) /checksum", "(left out|text|with a strange key) /trainer.*",
        "with a strange key the file", "(empty|a number|true|negative|huge|no number) /trainer/.*",
        "empty /model/name", "(negative|huge) /(position|seed|serial|step)"},
       {".* /checksum", "a half more /.*", "with a strange key the file", ".* /serial",
        ".* /trainer.*", ".* /model/name"},
       false},
      said);
}

// With null, the entry is left out.
TEST_F(checkpoint_strangers, whose_record_does_not_fit) {
  const json record = record_;
  for (const auto& [entries, sentence] : std::vector<std::pair<json, std::string>>{
           {{{"version", 2}}, "is a checkpoint of version 2; this program reads 1"},
           {{{"format", "a recipe"}}, "is not the JSON of a checkpoint"},
           {{{"model", {{"hidden", 16}}}}, "is a checkpoint of small (2 layers, hidden 16"},
           {{{"position", nullptr}}, "'position' is missing"}}) {
    record_ = record;
    record_.merge_patch(entries);
    write_record();
    expect_refused(sentence);
  }
}

TEST_F(checkpoint_strangers, whose_record_lies_about_its_model) {
  Model deeper = small_model();
  deeper.layers = 3;
  record_["model"]["layers"] = 3;
  write_record();

  EXPECT_THAT(sentence(deeper), HasSubstr("step-00000020.safetensors does not hold block2."));
}

TEST_F(checkpoint_strangers, without_a_tensor) {
  write_head();
  EXPECT_EQ(sentence(), "") << "written anew without a change";
  std::string last;
  std::int64_t first = -1;
  for (const auto& [name, entry] : head_.items()) {
    if (name == "__metadata__" || entry["data_offsets"][0] <= first) continue;
    last = name;
    first = entry["data_offsets"][0];
  }
  head_.erase(last);
  data_.resize(head_bytes_ + static_cast<std::size_t>(first));
  write_head();

  expect_refused("does not hold " + last);
}

TEST_F(checkpoint_strangers, with_a_tensor_of_another_kind) {
  const json head = head_;
  for (const auto& [entries, sentence] : std::vector<std::pair<json, std::string>>{
           {{{"dtype", "BF16"}}, "holds block0.qkv.weight, which is no matrix of fp32"},
           {{{"shape", {36, 12}}}, "holds block0.qkv.weight as 36 x 12, and 12 x 36 is needed"},
           {{{"shape", {12, 35}}}, "gives block0.qkv.weight an impossible shape or place"}}) {
    head_ = head;
    head_["block0.qkv.weight"].merge_patch(entries);
    write_head();
    expect_refused(sentence);
  }
}

}  // namespace
}  // namespace fourfold::tests
