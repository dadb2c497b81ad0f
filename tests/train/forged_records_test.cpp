// Checkpoints whose records somebody has edited and given fitting checksums: whatever an entry
// says, what is outside the folder and what is not ours in it stays, and a refusal is one sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <nlohmann/json.hpp>

#include "engine/train/checkpoint/checkpoint_folder.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/checkpoint/checkpoint_record.hpp"
#include "engine/train/checkpoint/choices_json.hpp"
#include "engine/train/checkpoint/resume.hpp"
#include "tests/edits.hpp"
#include "tests/train/made_up_weights.hpp"

namespace fourfold::tests {
namespace {

namespace files = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Content and time of the last change of everything below a folder.
std::map<std::string, std::string> state_of(const std::string& folder) {
  std::map<std::string, std::string> state;
  for (const auto& entry : files::recursive_directory_iterator(folder)) {
    const auto time = entry.last_write_time().time_since_epoch().count();
    state[entry.path().string()] =
        std::to_string(time) + (entry.is_regular_file() ? content_of(entry.path().string()) : "");
  }
  return state;
}

// A folder with a checkpoint that is forged and a newer one that is not, files of others in it, and
// a folder of others beside it.
class ForgedRecords : public OneRank {
 protected:
  void SetUp() override {
    OneRank::SetUp();
    if (IsSkipped()) return;
    files::create_directories(folder_.file("theirs"));
    folder_.write("theirs/precious.safetensors", "kept");
    folder_.write("precious.safetensors", "kept");
    const Weights weights = made_up_weights(program_, grid_, 1);
    Checkpoints checkpoints(ours(), 9);
    for (const std::int64_t step : {10, 20}) checkpoints.write(full_state(step), weights);
    for (const char* other : others) folder_.write(std::string("run/") + other, "somebody else's");
    record_ = json::parse(content_of(file("step-00000010.json")));
    data_ = content_of(file("step-00000010.safetensors"));
    theirs_ = state_of(folder_.file("theirs"));
  }

  std::string ours() const { return folder_.file("run"); }
  std::string file(const std::string& name) const { return ours() + "/" + name; }

  // With all that a trainer keeps.
  static TrainingState full_state(std::int64_t step) {
    TrainingState state = made_up_state(step);
    KernelChoice choice;
    choice.product = {GemmForm::nn, 8, 8, 8, Precision::fp32, Precision::fp32, Precision::fp32};
    KernelChoices kernels;
    kernels.choices = {choice};
    state.trainer = {{"kernels", json_of(kernels)},
                     {"transports", json_of(std::vector<TransportChoice>{{"x", {}, {}, {}}})},
                     {"typed", {{"--batch", {"8"}}, {"--data", {"a.txt", "b.txt"}}}},
                     {"words", "text"},
                     {"trained_seconds", 1.5},
                     {"warm_up", {{"steps", 4}, {"seconds", 0.5}}},
                     {"data", {{"is", "2 text files"}, {"digest", "0123"}}}};
    return state;
  }

  // Everything that a person may have done to a folder with this record in it. Returns what was
  // said.
  std::vector<std::string> lived_through(const json& record) {
    folder_.write("run/step-00000010.json", with_checksum(record));
    if (!files::exists(file("step-00000010.safetensors"))) {
      folder_.write("run/step-00000010.safetensors", data_);
    }
    const auto heard = [&](const std::function<void()>& work) {
      return edits::heard(work, folder_.path(), "FOLDER");
    };
    const std::string path = file("step-00000010.json");
    std::vector<std::string> said;
    said.push_back(heard([&] {
      const TrainingState state = read_training_state(path);
      read_kernel_choices(state.trainer.value("kernels", json::array()));
      read_transport_choices(state.trainer.value("transports", json::array()));
      typed_before(state);
    }));
    if (said.front() == "accepted") {
      said.push_back(heard([&] {
        Weights weights = made_up_weights(program_, grid_, 3);
        read_checkpoint(path, small_model(), weights);
      }));
    }
    said.push_back(heard([&] { checkpoint_meant(file("step-00000010.safetensors")); }));
    said.push_back(heard([&] { next_serial(ours()); }));
    said.push_back(heard([&] { sweep_checkpoints(ours()); }));
    said.push_back(heard([&] { remove_older(ours(), 1); }));
    return said;
  }

  void expect_harmless(const json& record, const std::string& edit) {
    for (const std::string& sentence : lived_through(record)) {
      EXPECT_THAT(sentence, Not(HasSubstr("exception"))) << edit;
      EXPECT_THAT(sentence, Not(HasSubstr("filesystem error"))) << edit;
      EXPECT_NE(sentence, "") << edit;
    }
    EXPECT_EQ(state_of(folder_.file("theirs")), theirs_) << edit;
    EXPECT_EQ(content_of(folder_.file("precious.safetensors")), "kept") << edit;
    EXPECT_TRUE(files::exists(file("step-00000020.safetensors"))) << edit;
    for (const char* other : others) {
      EXPECT_EQ(content_of(file(other)), "somebody else's") << edit << ": " << other;
    }
  }

  void expect_edits_harmless(std::size_t of_so_many);

  static constexpr std::array others{"step-best.safetensors",
                                     "step-1000.safetensors",
                                     "step-00000777.safetensors",
                                     "step-00000010.safetensors.tmp",
                                     "step-best.json",
                                     "notes.txt",
                                     "data.safetensors"};
  SharedFolder folder_;
  Program program_ = training_program(small_model(), Precision::fp32);
  ProcessGrid grid_{1, 1, 1, 1};
  json record_;
  std::string data_;
  std::map<std::string, std::string> theirs_;
};

// What an entry of any kind is replaced by.
std::vector<json> values(const std::string& outside) {
  std::vector<json> all = json::parse(R"json([
    null, true, "", -1, 0, 9223372036854775807, -9223372036854775808, 18446744073709551615,
    4000000000000000000, 1e300, -0.5, [], {}, [1], {"--log": 7}, "text", "../precious.safetensors",
    "../theirs/precious.safetensors", ".", "..", "-rf", "a\nb", "\u001b[2J", "data.safetensors",
    "notes.txt", "step-best.safetensors", "step-1000.safetensors", "step-00000020.safetensors",
    "ffffffffffffffff", "$(touch X)"])json");
  const std::string theirs = outside + "/precious.safetensors";
  all.insert(all.end(), {outside, theirs, std::string(300, 'x'), json::array({theirs})});
  return all;
}

// Every one, or one of so many.
void ForgedRecords::expect_edits_harmless(std::size_t of_so_many) {
  std::vector<json::json_pointer> places;
  edits::add_places(record_, json::json_pointer(), places);
  std::size_t drawn = 0, tried = 0, sums = 0;
  for (const json::json_pointer& place : places) {
    if (place.empty() || place == json::json_pointer("/checksum")) continue;
    const bool is_sum = place.parent_pointer() == json::json_pointer("/checksums");
    if (is_sum && ++sums > 2) continue;  // one is as another
    for (const json& value : values(folder_.file("theirs"))) {
      const bool matters = place == json::json_pointer("/data_file");
      if (drawn++ % of_so_many != 0 && !matters) continue;
      json record = record_;
      record[place] = value;
      expect_harmless(record, place.to_string() + " = " + value.dump());
      ++tried;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(tried, 1500 / of_so_many);
}

TEST_F(ForgedRecords, OfSomeEntriesHarmNothing) {
  expect_edits_harmless(10);
}

TEST_F(ForgedRecords, SLOW_OfAnyEntryHarmNothing) {
  expect_edits_harmless(1);
}

TEST_F(ForgedRecords, OutOfRangeSayWhatWouldBeRight) {
  const char* const no_whole = "[-1, 9223372036854775807, \"1\", 1.5, 18446744073709551615]";
  struct Row {
    const char *place, *values, *sentence;
  };
  for (const Row& row : std::vector<Row>{
           {"/position", no_whole, "is damaged: 'position' must be a whole number from 0 to"},
           {"/step", "[4000000000000000000]",
            "'step' must be a whole number from 0 to 1000000000000"},
           {"/serial", "[-1]", "'serial' must be a whole number from 0 to"},
           {"/seed", "[-1]", "'seed' must be a whole number, 0 or more"},
           {"/trainer/trained_seconds", "[null, -1.0]",
            "'trained_seconds' must be a number from 0 to 1e+12"},
           {"/trainer/trained_seconds", "[3]", "accepted"},
           {"/data_file", "[\"/etc/passwd\"]",
            "must be the name of a file in the same folder, but it has a '/'"},
           {"/data_file", "[\"..\"]", "but it begins with a dot"},
           {"/head_checksum", "[\"-1\"]", "must be of 16 hexadecimal digits"},
           {"/trainer/typed/--batch", "[\"8\"]", "'typed' must have a list of words for each flag"},
           {"/trainer/kernels/0/m", "[-8]", "'m' must be a whole number from 0 to"},
           {"/model/heads", "[5]", "is damaged: of its model, "},
           {"/trainer/warm_up/steps", no_whole,
            "is damaged: 'steps' must be a whole number from 0 to"},
           {"/trainer/warm_up/seconds", "[-1.0, 1e308, \"0.5\", []]",
            "is damaged: 'seconds' must be a number from 0 to 1e+12"},
           {"/trainer/warm_up", "[null, 7, [4, 0.5]]",
            "is damaged: 'warm_up' must be an object"}}) {
    for (const json& value : json::parse(row.values)) {
      json record = record_;
      record[json::json_pointer(row.place)] = value;
      EXPECT_THAT(lived_through(record).front(), HasSubstr(row.sentence)) << row.place << value;
    }
  }
}

// What each entry may be alone contradicts another.
TEST_F(ForgedRecords, ThatContradictThemselvesAreRefused) {
  const auto said = [&](const json& patch) {
    json record = record_;
    record.merge_patch(patch);
    return lived_through(record).front();
  };
  const std::string damaged = "is damaged: '";
  EXPECT_THAT(said({{"step", 0}}),
              HasSubstr(damaged + "position' is 160, but step 0 has read nothing"));
  EXPECT_THAT(said({{"position", std::int64_t{1} << 48}}),
              HasSubstr(damaged + "position' is 281474976710656, more than 10 steps can have"));
  EXPECT_THAT(said({{"trainer", {{"trained_seconds", 0.25}}}}),
              HasSubstr(damaged + "warm_up' took longer than all steps, which took 0.25 s"));
  EXPECT_THAT(said({{"trainer", {{"trained_seconds", nullptr}}}}), HasSubstr("took longer than"));
  for (const json& patch :
       {json{{"step", 0}, {"position", 0}},
        json{{"position", 0}},  // other data, from their beginning
        json{{"step", 0}, {"trainer", {{"typed", {{"--bad-steps", {"rewind"}}}}}}}}) {  // went back
    EXPECT_EQ(said(patch), "accepted") << patch;
  }
}

// A pipe, a device or a folder with the newest name does not hold up the newest that is whole.
TEST_F(ForgedRecords, ThatAreNoPlainFilesAreLeftOut) {
  const std::string path = file("step-00000030.json");
  for (const auto& [kind, make] : std::map<std::string, std::function<void()>>{
           {"pipe", [&] { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); }},
           {"device", [&] { files::create_symlink("/dev/zero", path); }},
           {"folder", [&] { files::create_directory(path); }},
           {"link to nothing", [&] { files::create_symlink("nothing", path); }}}) {
    make();
    EXPECT_EQ(read_training_state(ours()).step, 20) << kind;
    EXPECT_EQ(next_serial(ours()), 3) << kind;
    const std::vector<UnreadCheckpoint> left_out = left_out_checkpoints(ours());
    ASSERT_EQ(left_out.size(), 1U) << kind;
    EXPECT_EQ(left_out.front().path, path) << kind;
    EXPECT_EQ(left_out.front().why, "it is no plain file") << kind;
    sweep_checkpoints(ours());
    EXPECT_TRUE(files::is_symlink(path) || files::exists(path)) << kind;
    const std::string asked_for =
        edits::heard([&] { read_training_state(path); }, folder_.path(), "FOLDER");
    EXPECT_THAT(asked_for, Not(HasSubstr("supported"))) << kind;
    if (kind == "pipe" || kind == "device") {
      EXPECT_THAT(asked_for, HasSubstr("it is no plain file")) << kind;
      EXPECT_THAT(asked_for, HasSubstr("step-00000020.json is whole and can be used instead"))
          << kind;
    }
    files::remove_all(path);
  }
  // The data of the newest
  files::remove(file("step-00000020.safetensors"));
  ASSERT_EQ(mkfifo(file("step-00000020.safetensors").c_str(), 0600), 0);
  Weights weights = made_up_weights(program_, grid_, 3);
  EXPECT_THAT(edits::heard([&] { read_checkpoint(ours(), small_model(), weights); }, folder_.path(),
                           "FOLDER"),
              testing::AllOf(HasSubstr("step-00000020.safetensors: it is no plain file"),
                             HasSubstr("step-00000010.json is whole and can be used instead")));
}

// A killed write leaves drafts; one in the middle of its renames, data that only a draft speaks of.
TEST_F(ForgedRecords, OfDraftsSweepNothingButOurOwnData) {
  const std::string mark = ".0123456789abcdef.fourfold-draft";
  for (const std::string& data : std::vector<std::string>{
           folder_.file("theirs/precious.safetensors"), "../precious.safetensors",
           "step-best.safetensors", "step-1000.safetensors", "notes.txt",
           "step-00000020.safetensors"}) {
    json record = record_;
    record["data_file"] = data;
    folder_.write("run/step-00000030.json" + mark, with_checksum(record));
    expect_harmless(record_, "draft of " + data);
    EXPECT_FALSE(files::exists(file("step-00000030.json" + mark))) << data;
  }
  json record = record_;
  record["data_file"] = "step-00000030.safetensors";
  folder_.write("run/step-00000030.json" + mark, with_checksum(record));
  folder_.write("run/step-00000030.safetensors" + mark, "half");
  folder_.write("run/step-00000030.safetensors", "renamed, but its record was not");
  folder_.write("run/notes.txt" + mark, "not a checkpoint's");

  sweep_checkpoints(ours());

  EXPECT_FALSE(files::exists(file("step-00000030.json" + mark)));
  EXPECT_FALSE(files::exists(file("step-00000030.safetensors" + mark)));
  EXPECT_FALSE(files::exists(file("step-00000030.safetensors")));
  EXPECT_TRUE(files::exists(file("notes.txt" + mark)));
}

// Links in the place of everything that a checkpoint writes.
TEST_F(ForgedRecords, AreNotWrittenThroughLinks) {
  for (const std::string name :
       {"step-00000030.json", "step-00000030.safetensors", "step-00000030.json.tmp",
        "step-00000030.safetensors.tmp", "step-00000030-2.safetensors"}) {
    for (const char* target : {"../theirs/precious.safetensors", "../theirs/new"}) {
      std::error_code missing;
      files::remove(file(name), missing);
      files::create_symlink(target, file(name));

      Checkpoints(ours(), 9).write(full_state(30), made_up_weights(program_, grid_, 1));

      EXPECT_EQ(state_of(folder_.file("theirs")), theirs_) << name << " to " << target;
      EXPECT_EQ(read_training_state(ours()).step, 30) << name;
    }
  }
  files::create_symlink("../theirs/new", file(".in-use"));
  EXPECT_THAT(edits::heard([&] { Checkpoints(ours(), 9); }, folder_.path(), "FOLDER"),
              HasSubstr(".in-use: it is a link"));
  EXPECT_EQ(state_of(folder_.file("theirs")), theirs_);
}

}  // namespace
}  // namespace fourfold::tests
