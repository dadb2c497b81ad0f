// What a checkpoint holds, and that every grid writes the same bytes and reads them back.
#include "engine/train/checkpoint/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/executor.hpp"
#include "engine/train/checkpoint/checkpoint_folder.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/checkpoint/safetensors.hpp"
#include "tests/shapes.hpp"
#include "tests/train/made_up_weights.hpp"

namespace fourfold::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ProcessGrid some_grid() {
  return grids_of(world_size()).back();
}

std::string data_of(const std::string& record_path) {
  return record_path.substr(0, record_path.size() - 5) + ".safetensors";
}

TEST(checkpoint, all_grids_write_the_same_bytes) {
  const Program program = training_program(small_model(), Precision::bf16);
  std::string data;
  std::string record;

  for (const ProcessGrid& grid : grids_of(world_size())) {
    const SharedFolder folder;
    Checkpoints checkpoints(folder.path());
    const std::string path =
        checkpoints.write(made_up_state(10), made_up_weights(program, grid, 1));
    if (data.empty()) {
      data = content_of(data_of(path));
      record = content_of(path);
    }

    EXPECT_EQ(content_of(data_of(path)), data) << grid.str();
    EXPECT_EQ(content_of(path), record) << grid.str();
  }
}

TEST(checkpoint, the_file_holds_each_matrix_as_a_whole_by_its_name) {
  const SharedFolder folder;
  const Program program = training_program(small_model(), Precision::bf16);
  const Weights weights = made_up_weights(program, some_grid(), 1);
  Checkpoints checkpoints(folder.path());

  const std::string file = content_of(data_of(checkpoints.write(made_up_state(10), weights)));

  const auto bytes = static_cast<std::int64_t>(file.size());
  const std::int64_t head = safetensors_head_bytes(file.substr(0, 8), bytes);
  const std::vector<SavedMatrix> matrices =
      parse_safetensors_head(file.substr(0, static_cast<std::size_t>(head)), bytes - head);
  // Of weight, master and two moments, the master goes by the weight's name.
  EXPECT_EQ(matrices.size(), weights.all().size() / 4 * 3);
  for (const SavedMatrix& matrix : matrices) {
    const NormalNumbers numbers(1, matrix.name);
    for (std::int64_t i = 0; i < matrix.elements(); ++i) {
      float element = 0.0F;
      std::memcpy(&element, file.data() + head + 4 * (matrix.first + i), 4);
      ASSERT_EQ(element, made_up_element(numbers, i / matrix.cols, i % matrix.cols))
          << matrix.name << " " << i;
    }
  }
}

TEST(checkpoint, any_grid_reads_what_another_wrote) {
  for (const Precision precision : {Precision::bf16, Precision::fp32}) {
    const SharedFolder folder;
    const Program program = training_program(small_model(), precision);
    Checkpoints checkpoints(folder.path());
    checkpoints.write(made_up_state(10), made_up_weights(program, some_grid(), 1));

    for (const ProcessGrid& grid : grids_of(world_size())) {
      Weights weights = made_up_weights(program, grid, 2);
      const TrainingState state = read_checkpoint(folder.path(), small_model(), weights);

      EXPECT_THAT(differences(weights, made_up_weights(program, grid, 1)), IsEmpty()) << grid.str();
      EXPECT_EQ(state.step, 10);
      EXPECT_EQ(state.position, 160);
      EXPECT_EQ(state.seed, 0xfedcba9876543210U);
      EXPECT_EQ(state.trainer, made_up_state(10).trainer);
    }
  }
}

TEST(checkpoint, any_grid_reads_a_llama_that_another_wrote) {
  const SharedFolder folder;
  Model model = as_llama(small_model());
  model.key_value_heads = 4;
  model.mlp_width = 24;
  const Program program = training_program(model, Precision::bf16);
  TrainingState state = made_up_state(10);
  state.model = model;
  Checkpoints checkpoints(folder.path());
  checkpoints.write(state, made_up_weights(program, some_grid(), 1));

  for (const ProcessGrid& grid : grids_of(world_size())) {
    Weights weights = made_up_weights(program, grid, 2);
    const Model saved = read_checkpoint(folder.path(), model, weights).model;

    EXPECT_THAT(differences(weights, made_up_weights(program, grid, 1)), IsEmpty()) << grid.str();
    EXPECT_EQ(described(saved), described(model));
    EXPECT_EQ(saved.norm_epsilon, model.norm_epsilon);
    EXPECT_EQ(saved.rotary, model.rotary);
  }
}

// Five layers on grids of one stage and of more, also in chunks that are dealt out in turn.
struct Dealt {
  ProcessGrid grid;
  std::int64_t chunks = 1;
};

std::vector<Dealt> grids_with_stages() {
  const std::int64_t ranks = world_size();
  std::vector<Dealt> dealt{{some_grid(), 1}};
  if (ranks >= 2) {
    dealt.push_back({{1, 1, 1, ranks / 2, 2}, 1});
    dealt.push_back({{1, 1, ranks / 2, 1, 2}, 2});
  }
  if (ranks >= 4) {
    dealt.push_back({{ranks / 4, 1, 1, 1, 4}, 1});
    dealt.push_back({{1, ranks / 4, 1, 1, 4}, 1});
  }
  return dealt;
}

Model deep_model() {
  Model model = small_model();
  model.layers = 5;
  return model;
}

Weights dealt_weights(const Dealt& dealt, Precision precision, std::uint64_t seed) {
  StepOptions options;
  options.precision = precision;
  options.chunks = dealt.chunks;
  if (dealt.chunks > 1) {
    options.order = PipelineOrder::interleaved;
    options.micro_batches = dealt.grid.extent(Axis::pipe);
  }
  const Program program = record_step(deep_model(), options, stage_of(dealt.grid, world_rank()));
  return made_up_weights(program, dealt.grid, seed);
}

TEST(checkpoint, any_stages_write_the_same_bytes_and_read_what_others_wrote) {
  TrainingState state = made_up_state(10);
  state.model = deep_model();
  for (const Precision precision : {Precision::bf16, Precision::fp32}) {
    std::string data, record;
    for (const Dealt& writer : grids_with_stages()) {
      const SharedFolder folder;
      const std::string path =
          Checkpoints(folder.path()).write(state, dealt_weights(writer, precision, 1));
      if (data.empty()) {
        data = content_of(data_of(path));
        record = content_of(path);
      }

      EXPECT_EQ(content_of(data_of(path)), data) << writer.grid.str();
      EXPECT_EQ(content_of(path), record) << writer.grid.str();
      for (const Dealt& reader : grids_with_stages()) {
        Weights weights = dealt_weights(reader, precision, 2);
        read_checkpoint(folder.path(), deep_model(), weights);

        EXPECT_THAT(differences(weights, dealt_weights(reader, precision, 1)), IsEmpty())
            << writer.grid.str() << " to " << reader.grid.str();
      }
    }
  }
}

TEST(checkpoint, bf16_resumes_what_fp32_wrote) {
  const SharedFolder folder;
  Checkpoints checkpoints(folder.path());
  checkpoints.write(
      made_up_state(10),
      made_up_weights(training_program(small_model(), Precision::fp32), some_grid(), 1));
  const Program program = training_program(small_model(), Precision::bf16);
  Weights weights(program, some_grid(), world_rank(), host_memory());

  read_checkpoint(folder.path(), small_model(), weights);

  EXPECT_THAT(differences(weights, made_up_weights(program, some_grid(), 1)), IsEmpty());
}

TEST(checkpoint, weights_for_sampling_take_what_they_need) {
  const SharedFolder folder;
  const Program program = training_program(small_model(), Precision::bf16);
  const Weights trained = made_up_weights(program, some_grid(), 1);
  Checkpoints checkpoints(folder.path());
  checkpoints.write(made_up_state(10), trained);
  Program forward = program;
  for (Parameter& p : forward.parameters) p.master = p.first_moment = p.second_moment = -1;
  Weights weights(forward, some_grid(), world_rank(), host_memory());

  read_checkpoint(folder.path(), small_model(), weights);

  EXPECT_EQ(weights.all().size() * 4, trained.all().size());
  EXPECT_THAT(differences(weights, trained), IsEmpty());
}

TEST(checkpoint, the_state_can_be_read_alone) {
  const SharedFolder folder;
  Checkpoints checkpoints(folder.path());
  const Program program = training_program(small_model(), Precision::bf16);
  const std::string path =
      checkpoints.write(made_up_state(10), made_up_weights(program, some_grid(), 1));

  for (const std::string& asked : {path, folder.path()}) {
    const TrainingState state = read_training_state(asked);

    EXPECT_EQ(state.model.name, "small");
    EXPECT_EQ(state.model.vocabulary, 11);
    EXPECT_EQ(state.step, 10);
    EXPECT_EQ(state.trainer, made_up_state(10).trainer);
  }
}

TEST(checkpoint, the_newest_two_are_kept) {
  const SharedFolder folder;
  const Program program = training_program(small_model(), Precision::bf16);
  const Weights weights = made_up_weights(program, some_grid(), 1);
  Checkpoints checkpoints(folder.path());

  for (std::int64_t step : {10, 20, 30}) checkpoints.write(made_up_state(step), weights);

  EXPECT_THAT(finished_checkpoints(folder.path()),
              ElementsAre(folder.file("step-00000020.json"), folder.file("step-00000030.json")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("step-00000010.safetensors")));
}

TEST(checkpoint, after_a_step_back_the_last_one_written_is_the_newest) {
  const SharedFolder folder;
  const Program program = training_program(small_model(), Precision::bf16);
  Checkpoints checkpoints(folder.path());
  for (std::int64_t step : {10, 20}) {
    checkpoints.write(made_up_state(step), made_up_weights(program, some_grid(), 1));
  }

  checkpoints.write(made_up_state(15), made_up_weights(program, some_grid(), 2));

  EXPECT_EQ(read_training_state(folder.path()).step, 15);
  EXPECT_THAT(finished_checkpoints(folder.path()),
              ElementsAre(folder.file("step-00000020.json"), folder.file("step-00000015.json")));
}

TEST(checkpoint, a_step_written_again_replaces_itself) {
  const SharedFolder folder;
  const Program program = training_program(small_model(), Precision::bf16);
  Checkpoints checkpoints(folder.path());
  for (std::uint64_t seed : {1, 2, 3}) {
    checkpoints.write(made_up_state(10), made_up_weights(program, some_grid(), seed));
  }
  Weights weights(program, some_grid(), world_rank(), host_memory());

  read_checkpoint(folder.path(), small_model(), weights);

  EXPECT_THAT(differences(weights, made_up_weights(program, some_grid(), 3)), IsEmpty());
  const std::filesystem::directory_iterator entries(folder.path());
  const auto of_steps = std::count_if(begin(entries), end(entries), [](const auto& entry) {
    return entry.path().filename().string().starts_with("step-");
  });
  EXPECT_EQ(of_steps, 2) << "one record and its data";
}

TEST(checkpoint, what_unfinished_writes_left_is_removed_and_nothing_else) {
  const SharedFolder folder;
  const Program program = training_program(small_model(), Precision::bf16);
  {
    Checkpoints checkpoints(folder.path());
    checkpoints.write(made_up_state(10), made_up_weights(program, some_grid(), 1));
  }
  const std::string mark = ".0123456789abcdef.fourfold-draft";
  folder.write("step-00000020.safetensors" + mark, "half");
  folder.write("step-00000020.json" + mark, "{");
  const std::vector<std::string> others{"step-00000030.safetensors", "step-best.safetensors",
                                        "step-1000.safetensors", "step-00000020.json.tmp",
                                        "notes.txt"};
  for (const std::string& other : others) folder.write(other, "mine");

  const Checkpoints checkpoints(folder.path());

  EXPECT_FALSE(std::filesystem::exists(folder.file("step-00000020.safetensors" + mark)));
  EXPECT_FALSE(std::filesystem::exists(folder.file("step-00000020.json" + mark)));
  for (const std::string& other : others) {
    EXPECT_TRUE(std::filesystem::exists(folder.file(other))) << other;
  }
  EXPECT_EQ(read_training_state(folder.path()).step, 10);
}

// Nobody knows which data the damaged record spoke of: a person may still mend it.
TEST(checkpoint, beside_a_damaged_record_no_data_is_removed) {
  const SharedFolder folder;
  const Program program = training_program(small_model(), Precision::bf16);
  {
    Checkpoints checkpoints(folder.path());
    for (std::int64_t step : {10, 20}) {
      checkpoints.write(made_up_state(step), made_up_weights(program, some_grid(), 1));
    }
  }
  folder.write("step-00000020.json", "{");

  const Checkpoints checkpoints(folder.path());

  EXPECT_TRUE(std::filesystem::exists(folder.file("step-00000010.safetensors")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("step-00000020.safetensors")));
}

TEST(checkpoint, a_folder_belongs_to_one_job_at_a_time) {
  const SharedFolder folder;
  const Checkpoints first(folder.path());

  EXPECT_THAT(refusal([&] { Checkpoints second(folder.path()); }), HasSubstr("is in use"));
}

}  // namespace
}  // namespace fourfold::tests
