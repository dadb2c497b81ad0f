// What a checkpoint holds, and that every grid writes the same bytes and reads them back.
#include "engine/train/checkpoint/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "engine/executor.hpp"
#include "engine/train/checkpoint/checkpoint_folder.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/checkpoint/safetensors.hpp"
#include "tests/apart_memory.hpp"
#include "tests/shapes.hpp"
#include "tests/train/file_limit.hpp"
#include "tests/train/made_up_weights.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using checkpoint = InAFolder<>;

ProcessGrid some_grid() {
  return grids_of(world_size()).back();
}

std::string data_of(const std::string& record_path) {
  return record_path.substr(0, record_path.size() - 5) + ".safetensors";
}

TEST_F(checkpoint, the_file_holds_each_matrix_as_a_whole_by_its_name) {
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

// A grid whose stages, if it has several, hold their layers in so many chunks that are dealt out in
// turn.
struct Dealt {
  ProcessGrid grid;
  std::int64_t chunks = 1;
};

std::vector<Dealt> all_grids() {
  const std::int64_t ranks = world_size();
  std::vector<Dealt> dealt;
  for (const ProcessGrid& grid : grids_of(ranks)) dealt.push_back({grid, 1});
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

Weights dealt_weights(const Dealt& dealt, const Model& model, Precision precision,
                      std::uint64_t seed, DeviceMemory& device = host_memory()) {
  StepOptions options;
  options.precision = precision;
  options.chunks = dealt.chunks;
  if (dealt.chunks > 1) {
    options.order = PipelineOrder::interleaved;
    options.micro_batches = dealt.grid.extent(Axis::pipe);
  }
  return made_up_weights(record_step(model, options, stage_of(dealt.grid, world_rank())),
                         dealt.grid, seed, device);
}

// Of five layers, which no stages share evenly; a GPT in both precisions, and a Llama.
TEST_F(checkpoint, all_grids_and_stages_write_the_same_bytes_and_read_what_others_wrote) {
  Model gpt = small_model();
  gpt.layers = 5;
  Model llama = as_llama(gpt);
  llama.key_value_heads = 4;
  llama.mlp_width = 24;
  for (const auto& [model, precision] :
       {std::pair(gpt, Precision::bf16), {gpt, Precision::fp32}, {llama, Precision::bf16}}) {
    TrainingState state = made_up_state(10);
    state.model = model;
    const SharedFolder own;
    const std::string first =
        Checkpoints(own.path()).write(state, dealt_weights({some_grid(), 1}, model, precision, 1));
    for (const Dealt& dealt : all_grids()) {
      SCOPED_TRACE(dealt.grid.str());
      const SharedFolder other;
      const Weights written = dealt_weights(dealt, model, precision, 1);
      const std::string path = Checkpoints(other.path()).write(state, written);
      EXPECT_EQ(content_of(data_of(path)), content_of(data_of(first)));
      EXPECT_EQ(content_of(path), content_of(first));

      ApartMemory device;  // which nobody but its backend reaches
      Weights read = dealt_weights(dealt, model, precision, 2, device);
      const TrainingState saved = read_checkpoint(own.path(), model, read);

      EXPECT_THAT(differences(read, written), IsEmpty());
      EXPECT_EQ(saved.step, 10);
      EXPECT_EQ(saved.position, 160);
      EXPECT_EQ(saved.seed, 0xfedcba9876543210U);
      EXPECT_EQ(saved.trainer, state.trainer);
      EXPECT_EQ(described(saved.model), described(model));
      EXPECT_EQ(saved.model.norm_epsilon, model.norm_epsilon);
      EXPECT_EQ(saved.model.rotary, model.rotary);
    }
  }
}

TEST_F(checkpoint, bf16_resumes_what_fp32_wrote) {
  Checkpoints checkpoints(folder.path());
  checkpoints.write(
      made_up_state(10),
      made_up_weights(training_program(small_model(), Precision::fp32), some_grid(), 1));
  const Program program = training_program(small_model(), Precision::bf16);
  Weights weights(program, some_grid(), world_rank(), host_memory());

  read_checkpoint(folder.path(), small_model(), weights);

  EXPECT_THAT(differences(weights, made_up_weights(program, some_grid(), 1)), IsEmpty());
}

TEST_F(checkpoint, a_step_written_again_replaces_itself) {
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

TEST_F(checkpoint, a_folder_belongs_to_one_job_at_a_time) {
  const Checkpoints first(folder.path());

  EXPECT_THAT(refusal([&] { Checkpoints second(folder.path()); }), HasSubstr("is in use"));
}

// Room is taken for data and record at once, before either is written, and given back where one of
// them finds none.
TEST_F(checkpoint, has_the_disk_for_all_that_will_be_written_or_nothing) {
  if (world_size() > 1) GTEST_SKIP() << "one rank takes the room";
  const CheckpointFiles checkpoint{folder.file("step-00000010.safetensors"),
                                   folder.file("step-00000010.json"), 100'000, 5'000};
  CheckpointFiles too_large = checkpoint;
  too_large.record_bytes = 100'001;
  {
    const FileLimit limit(100'000);
    EXPECT_THAT(refusal([&] { reserve(too_large); }),
                HasSubstr("step-00000010.json cannot be written: it needs 100001 bytes"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));

  const CheckpointDrafts drafts = reserve(checkpoint);

  for (const auto& [path, bytes] :
       {std::pair(drafts.data, 100'000), std::pair(drafts.record, 5'000)}) {
    struct stat on_disk {};
    ASSERT_EQ(stat(path.c_str(), &on_disk), 0) << path;
    EXPECT_EQ(on_disk.st_size, bytes);
    EXPECT_GE(512 * on_disk.st_blocks, bytes);
  }
  commit(checkpoint, drafts, std::string(5'000, 'r'));

  EXPECT_EQ(content_of(checkpoint.data).size(), 100'000);
  EXPECT_EQ(content_of(checkpoint.record), std::string(5'000, 'r'));
  EXPECT_FALSE(std::filesystem::exists(drafts.data) || std::filesystem::exists(drafts.record));
}

// 5 MB of weights and moments: long enough to be stopped in the middle.
Model job_model() {
  return {"job", 2, 128, 4, 8, 300};
}

Weights job_weights(std::uint64_t seed) {
  const std::vector<ProcessGrid> grids = grids_of(world_size());
  return made_up_weights(training_program(job_model(), Precision::fp32), grids[grids.size() / 2],
                         seed);
}

std::int64_t number_from(const char* variable, std::int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoll(text);
}

TEST(checkpoint_jobs, writes_and_another_job_reads) {
  const SharedFolder own;
  const char* given = std::getenv("CHECKPOINT_FOLDER");
  const std::string folder = given == nullptr ? own.path() : given;
  const std::int64_t writes = number_from("CHECKPOINT_WRITES", 1);

  if (writes > 0) {
    const Weights weights = job_weights(1);
    Checkpoints checkpoints(folder);
    TrainingState state = made_up_state(0);
    state.model = job_model();
    for (std::int64_t step = 1; step <= writes; ++step) {
      state.step = step;
      ASSERT_EQ(refusal([&] { checkpoints.write(state, weights); }), "");
      if (world_rank() == 0) std::fprintf(stderr, "wrote step %d\n", static_cast<int>(step));
    }
  }
  Weights weights = job_weights(2);
  const TrainingState state = read_checkpoint(folder, job_model(), weights);

  EXPECT_THAT(differences(weights, job_weights(1)), testing::IsEmpty());
  if (world_rank() == 0) std::fprintf(stderr, "read step %d\n", static_cast<int>(state.step));
}

}  // namespace
}  // namespace fourfold::tests
