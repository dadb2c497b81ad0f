// Checkpoints that are sound by their checksums and yet do not fit: of another version, another
// model, without a tensor, or with one of another kind. Each is refused by name.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/train/checkpoint/checkpoint_checksum.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "tests/edits.hpp"
#include "tests/train/made_up_weights.hpp"

namespace fourfold::tests {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

std::string hexadecimal(std::uint64_t number) {
  return fmt::format("{:016x}", number);
}

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
  void write_record() {
    record_.erase("checksum");
    record_["checksum"] = hexadecimal(checksum(record_.dump()));
    folder_.write("step-00000020.json", record_.dump(1));
  }

  // Writes the data with another head of the same length, and a record that fits both.
  void write_head() {
    std::string text = head_.dump();
    text.resize(head_bytes_ - 8, ' ');
    data_.replace(8, text.size(), text);
    folder_.write("step-00000020.safetensors", data_);
    record_["head_checksum"] = hexadecimal(checksum(data_.substr(0, head_bytes_)));
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

TEST_F(checkpoint_strangers, written_anew_without_a_change_are_read) {
  write_head();

  EXPECT_EQ(sentence(), "");
}

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
