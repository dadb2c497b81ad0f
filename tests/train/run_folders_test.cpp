// Which folder a run is in, which one it may not be in, and which checkpoint a path means.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "engine/train/checkpoint/checkpoint_folder.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/checkpoint/choices_json.hpp"
#include "engine/train/checkpoint/resume.hpp"
#include "engine/train/run/run_folder.hpp"
#include "tests/train/made_up_weights.hpp"

namespace fourfold::tests {
namespace {

namespace files = std::filesystem;

// The test's own folder is where it works, until it ends.
class RunFolders : public OneRank {
 protected:
  void SetUp() override {
    OneRank::SetUp();
    if (IsSkipped()) return;
    before_ = files::current_path();
    files::current_path(folder_.path());
  }
  void TearDown() override {
    if (!before_.empty()) files::current_path(before_);
  }
  static void write_checkpoints(const std::string& folder, std::vector<std::int64_t> steps,
                                std::int64_t keep = 9) {
    const Program program = training_program(small_model(), Precision::fp32);
    const Weights weights = made_up_weights(program, ProcessGrid(1, 1, 1, 1), 1);
    Checkpoints checkpoints(folder, keep);
    for (const std::int64_t step : steps) checkpoints.write(made_up_state(step), weights);
  }
  static std::string json_of_step(int step) {
    return "step-0000000" + std::to_string(step) + ".json";
  }
  static std::string data_of_step(int step) {
    return "step-0000000" + std::to_string(step) + ".safetensors";
  }
  static TrainSettings settings_in(const std::string& folder) {
    TrainSettings settings;
    settings.folder = folder;
    return settings;
  }

  SharedFolder folder_;
  files::path before_;
};

// Whatever a model is called.
TEST_F(RunFolders, NewOnesLieWhereRunsDo) {
  for (const std::string model : {"../../../x", "/etc/x", "..", "", ".x", "-rf", "a\nb"}) {
    const files::path folder = files::path(default_folder(model)).lexically_normal();
    EXPECT_EQ(folder.parent_path(), "results/train") << model;
  }
  EXPECT_LT(default_folder(std::string(300, 'x')).size(), 200U);
}

TEST_F(RunFolders, WithLinksOutOfThemAreRefused) {
  files::create_directories("run");
  files::create_directories("theirs");
  for (const std::string name : {"checkpoints", "log.jsonl"}) {
    files::create_symlink("../theirs", "run/" + name);
    EXPECT_EQ(refusal([] { refuse_links("run"); }),
              "run/" + name +
                  " is a link, and a run writes in its own folder only; remove the link, or give "
                  "another --folder");
    files::remove("run/" + name);
  }
  EXPECT_EQ(refusal([] { refuse_links("run"); }), "");
}

TEST_F(RunFolders, ResumedAreThoseOfTheNewestCheckpoint) {
  write_checkpoints("run/checkpoints", {1, 2});
  write_checkpoints("loose", {1});
  const std::string inner = "run/checkpoints";

  EXPECT_EQ(folder_resumed(inner), "run");
  EXPECT_EQ(folder_resumed(inner + "/"), "run");
  EXPECT_EQ(folder_resumed(inner + "/" + json_of_step(2)), "run");
  EXPECT_EQ(folder_resumed(inner + "/" + json_of_step(1)), "");  // another branch
  EXPECT_EQ(folder_resumed(folder_.file(inner)), folder_.file("run"));
  for (const std::string& none :
       {std::string("loose"), "loose/" + json_of_step(1), std::string()}) {
    EXPECT_EQ(folder_resumed(none), "") << none;
  }
  files::current_path("run");
  EXPECT_EQ(folder_resumed("checkpoints"), ".");
  files::current_path("checkpoints");
  EXPECT_EQ(folder_resumed(json_of_step(2)), "..");
  files::current_path(folder_.path());
}

// The one that was written last, whatever its step.
TEST_F(RunFolders, ResumedAreNotThoseOfTheHighestStep) {
  write_checkpoints("run/checkpoints", {3, 5, 4});

  EXPECT_EQ(folder_resumed("run/checkpoints/" + json_of_step(4)), "run");
  EXPECT_EQ(folder_resumed("run/checkpoints/" + json_of_step(5)), "");
}

TEST_F(RunFolders, OfAnEarlierRunAreLeftAsTheyAre) {
  write_checkpoints("run/checkpoints", {1});
  folder_.write("run/log.jsonl", "{}\n");
  for (const auto& [name, log] :
       {std::pair("logged", "{\"kind\":\"run\"}\n"), {"notes", "{}\n"}, {"empty", ""}}) {
    files::create_directories(name);
    folder_.write(std::string(name) + "/log.jsonl", log);
  }
  const auto said = [](const TrainSettings& settings) {
    return refusal([&] { refuse_earlier_run(settings); });
  };
  EXPECT_EQ(said(settings_in("run")),
            "run holds an earlier run; go on with that by --resume run, or give another --folder");
  EXPECT_EQ(said(settings_in("logged")),
            "logged/log.jsonl is the log of an earlier run; give another --folder, or remove it");
  EXPECT_EQ(said(settings_in("notes")),
            "notes/log.jsonl is there already and is no log of a run; give another --folder");
  EXPECT_EQ(said(settings_in("run/checkpoints")),
            "run/checkpoints holds checkpoints itself, so that it can be no run's folder; give "
            "another --folder");
  for (const char* fit : {"empty", "new"}) EXPECT_EQ(said(settings_in(fit)), "") << fit;
  TrainSettings elsewhere = settings_in("new");
  elsewhere.log = "logged/log.jsonl";
  EXPECT_EQ(said(elsewhere), "logged/log.jsonl is the log of an earlier run; give another --log");
  for (const std::string& resumed :
       {std::string("run/checkpoints"), "run/checkpoints/" + json_of_step(1),
        folder_.file("run/checkpoints")}) {
    TrainSettings own = settings_in("run");
    own.resume = resumed;
    EXPECT_EQ(said(own), "") << resumed;
    own.folder = "logged";
    EXPECT_NE(said(own), "") << resumed;
  }
}

TEST_F(RunFolders, ThatCannotBeMadeAreRefusedWithTheReason) {
  folder_.write("file", "");
  const auto said = [](const std::string& folder) {
    return refusal([&] { refuse_unmakeable(folder); });
  };

  EXPECT_EQ(said("new/and/deeper"), "");
  EXPECT_EQ(said("."), "");
  EXPECT_EQ(said("file"),
            "the folder file cannot be used: " + folder_.file("file") + ": Not a directory");
  EXPECT_EQ(said("file/in/it"),
            "the folder file/in/it cannot be used: " + folder_.file("file") + ": Not a directory");
  EXPECT_FALSE(files::exists("new"));
}

// However the folder and the file in it are written.
TEST_F(RunFolders, ThatAreMadeTakeTheirFilesUnlessThoseAreTheRunsOwn) {
  for (const char* name : {"new", "new/", "./new", "new/."}) {
    TrainSettings settings = settings_in(name);
    for (const char* log : {"new/l.jsonl", "./new/l.jsonl"}) {
      settings.log = log;
      EXPECT_EQ(refusal([&] { refuse_unwritable_files(settings); }), "") << name << " " << log;
    }
    settings.log = "other/l.jsonl";
    EXPECT_NE(refusal([&] { refuse_unwritable_files(settings); }), "") << name;
    settings.log = "new/loss.csv";
    EXPECT_NE(refusal([&] { refuse_own_files(settings); }), "") << name;
  }
}

TEST_F(RunFolders, HoldTheCheckpointThatAPathMeans) {
  write_checkpoints("run/checkpoints", {1, 2});
  write_checkpoints("both", {1});
  write_checkpoints("both/checkpoints", {2});
  files::create_directories("empty");
  const std::string inner = "run/checkpoints";

  EXPECT_EQ(checkpoint_meant("run"), inner);
  EXPECT_EQ(checkpoint_meant(inner), inner);
  EXPECT_EQ(refusal([] { checkpoint_meant("both"); }),
            "both holds checkpoints, and so does both/checkpoints; name both/checkpoints, or one "
            "of the .json in both");
  EXPECT_EQ(checkpoint_meant("empty"), "empty");
  EXPECT_EQ(checkpoint_meant("nowhere"), "nowhere");
  EXPECT_EQ(checkpoint_meant("nowhere.safetensors"), "nowhere.safetensors");
  for (const int step : {1, 2}) {
    EXPECT_EQ(checkpoint_meant(inner + "/" + json_of_step(step)), inner + "/" + json_of_step(step));
    EXPECT_EQ(checkpoint_meant(inner + "/" + data_of_step(step)),
              folder_.file(inner + "/" + json_of_step(step)));
  }
  files::copy(inner + "/" + data_of_step(1), "other.safetensors");
  EXPECT_EQ(refusal([] { checkpoint_meant("other.safetensors"); }),
            "other.safetensors is the data of a checkpoint, but no .json beside it, which tells of "
            "its step and optimizer, speaks of it");
}

TEST_F(RunFolders, NumberCheckpointsOnward) {
  EXPECT_EQ(next_serial("none"), 1);
  write_checkpoints("some", {3, 1, 2});

  EXPECT_EQ(next_serial("some"), 4);
  EXPECT_EQ(finished_checkpoints("some"),
            (std::vector<std::string>{"some/" + json_of_step(3), "some/" + json_of_step(1),
                                      "some/" + json_of_step(2)}));
  EXPECT_EQ(free_data_name("some", 4), data_of_step(4));
  EXPECT_EQ(free_data_name("some", 3), "step-00000003-2.safetensors");
  folder_.write("some/step-00000003-2.safetensors", "");
  EXPECT_EQ(free_data_name("some", 3), "step-00000003-3.safetensors");
  EXPECT_EQ(record_path("some", 123'456'789), "some/step-123456789.json");
}

// What is damaged may be the newest, and says so; the newest whole one before it is named.
TEST_F(RunFolders, NameTheNewestWholeCheckpointBesideADamagedOne) {
  write_checkpoints("run", {1, 2, 3, 4});
  folder_.write("run/" + json_of_step(4), "{}");
  folder_.write("run/" + data_of_step(3), "");

  const std::string said = refusal([] { read_training_state("run"); });

  EXPECT_EQ(said, "run/" + json_of_step(4) + " is not the JSON of a checkpoint; " +
                      folder_.file("run/" + json_of_step(2)) + " is whole and can be used instead");
}

TEST_F(RunFolders, KeepTheNewestOfThoseThatAreWhole) {
  write_checkpoints("run", {1, 2, 3});
  folder_.write("run/" + json_of_step(2), "{}");
  folder_.write("run/step-00000007.safetensors", "nobody knows of whom");
  const std::vector<UnreadCheckpoint> left_out = left_out_checkpoints("run");
  EXPECT_EQ(read_training_state("run").step, 3);
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_EQ(left_out[0].path + ": " + left_out[0].why,
            "run/" + json_of_step(2) + ": it is damaged");

  write_checkpoints("run", {4}, 2);

  std::set<std::string> names;
  for (const auto& entry : files::directory_iterator("run")) {
    names.insert(entry.path().filename().string());
  }
  EXPECT_EQ(names, (std::set<std::string>{json_of_step(2), data_of_step(2), json_of_step(3),
                                          data_of_step(3), json_of_step(4), data_of_step(4),
                                          "step-00000007.safetensors"}));
}

// Every number and word is another one.
TEST_F(RunFolders, KeepEachPartOfTheChoicesOfKernels) {
  constexpr Precision fp32 = Precision::fp32, bf16 = Precision::bf16;
  KernelChoices choices;
  choices.choices = {
      {{GemmForm::nn, 7, 14, 21, bf16, fp32, fp32},
       12,
       {Library::openblas, GemmForm::nt, fp32},
       {}},
      {{GemmForm::nt, 11, 22, 33, fp32, bf16, fp32}, 16, {Library::onednn, GemmForm::tn, bf16}, {}},
      {{GemmForm::tn, 13, 26, 39, fp32, fp32, bf16},
       18,
       {Library::onednn, GemmForm::nn, fp32},
       {}}};

  const KernelChoices read = read_kernel_choices(json_of(choices));

  ASSERT_EQ(read.choices.size(), 3U);
  std::vector<CountedProduct> all;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read.choices[i].product, choices.choices[i].product) << i;
    EXPECT_EQ(read.choices[i].kernel, choices.choices[i].kernel) << i;
    EXPECT_EQ(read.choices[i].count, choices.choices[i].count) << i;
    all.push_back({choices.choices[i].product, 1});
  }
  EXPECT_TRUE(covers(read, all));
  EXPECT_TRUE(covers(read, {}));
  EXPECT_FALSE(covers({}, all));
  all.back().product.out = fp32;
  EXPECT_FALSE(covers(read, all));
}

TEST_F(RunFolders, KeepEachPartOfTheChoicesOfTransports) {
  std::vector<TransportChoice> choices;
  std::int64_t number = 1;
  for (const KindRow& row : collective_rows) {
    for (const Owed owed : {Owed::sum, Owed::max}) {
      for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::int32}) {
        const bool whole = precision == Precision::int32;
        if (row.kind == CollectiveKind::send || (whole && row.reduces())) continue;
        ++number;
        choices.push_back({"channel" + std::to_string(number),
                           {row.kind, owed, precision, number, 100 * number},
                           number % 2 == 0 ? TransportKind::window : TransportKind::library,
                           {}});
      }
    }
  }

  const std::vector<TransportChoice> read = read_transport_choices(json_of(choices));

  ASSERT_EQ(read.size(), choices.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].channel, choices[i].channel);
    EXPECT_EQ(read[i].collective, choices[i].collective) << i;
    EXPECT_EQ(read[i].transport, choices[i].transport);
  }
}

}  // namespace
}  // namespace fourfold::tests
