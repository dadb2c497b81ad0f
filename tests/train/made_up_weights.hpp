// Weights and moments whose every element depends on its name and place alone, for tests that move
// them between grids.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/initial_weights.hpp"
#include "engine/plan/block_place.hpp"
#include "engine/train/checkpoint/checkpoint.hpp"
#include "engine/train/checkpoint/checkpoint_checksum.hpp"
#include "engine/weights.hpp"
#include "schedule/order/step.hpp"
#include "tests/host.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {

// Neither 11 words nor 12 columns divide by 8, so that grids of 8 ranks pad, and leave ranks empty.
inline Model small_model() {
  return {"small", 2, 12, 4, 5, 11};
}

inline Program training_program(const Model& model, Precision weights) {
  StepOptions options;
  options.precision = weights;
  return record_step(model, options);
}

// Every grid of this many ranks: 1, 4, 10 and 20 shapes for 1, 2, 4 and 8.
inline std::vector<ProcessGrid> grids_of(std::int64_t ranks) {
  std::vector<ProcessGrid> grids;
  for (std::int64_t x = 1; x <= ranks; ++x) {
    for (std::int64_t y = 1; y <= ranks / x; ++y) {
      for (std::int64_t z = 1; z <= ranks / x / y; ++z) {
        if (ranks % (x * y * z) == 0) grids.emplace_back(x, y, z, ranks / (x * y * z));
      }
    }
  }
  return grids;
}

// The name that a stored matrix has in a checkpoint.
inline std::string saved_name(const std::string& name) {
  return name.ends_with(".master") ? name.substr(0, name.size() - 7) : name;
}

inline float made_up_element(const NormalNumbers& of_matrix, std::int64_t row, std::int64_t col) {
  return static_cast<float>(of_matrix[static_cast<std::uint64_t>(row * 1000 + col)]);
}

inline Weights made_up_weights(const Program& program, const ProcessGrid& grid, std::uint64_t seed,
                               DeviceMemory& device = host_memory()) {
  Weights weights(program, grid, world_rank(), device);
  for (const Stored& stored : weights.all()) {
    if (stored.block.precision != Precision::fp32) continue;
    HostView view(*stored.memory);
    const NormalNumbers numbers(seed, saved_name(stored.name));
    const BlockPlace place = block_place(stored.shape, grid, world_rank());
    auto* const block =
        reinterpret_cast<float*>(view.open(stored.block.data, stored.block.bytes()));
    for (std::int64_t i = 0; i < place.elements; ++i) {
      const auto where = place.global(i);
      block[i] = where ? made_up_element(numbers, where->first, where->second) : 0.0F;
    }
    view.close();
  }
  weights.round_masters();
  return weights;
}

// The block's bytes, brought to the host.
inline std::vector<std::byte> bytes_of(DeviceMemory& memory, const Tensor& block) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(block.bytes()));
  memory.copy_out(bytes.data(), block.data, block.bytes());
  return bytes;
}

// Names of blocks that differ in a single bit on this rank, whatever device they are on.
inline std::vector<std::string> differences(const Weights& a, const Weights& b) {
  std::vector<std::string> names;
  for (const Stored& stored : a.all()) {
    const Stored& other = b[stored.name];
    if (bytes_of(*stored.memory, stored.block) != bytes_of(*other.memory, other.block)) {
      names.push_back(stored.name);
    }
  }
  return names;
}

inline TrainingState made_up_state(std::int64_t step) {
  TrainingState state;
  state.model = small_model();
  state.step = step;
  state.position = step * 16;
  state.seed = 0xfedcba9876543210U;
  state.trainer = {{"learning_rate", 3e-4}, {"kernels", {"onednn nn", "openblas nt"}}};
  return state;
}

// A record's text with a checksum that fits what it says.
inline std::string with_checksum(nlohmann::json record) {
  record.erase("checksum");
  record["checksum"] = fmt::format("{:016x}", checksum(record.dump()));
  return record.dump(1);
}

}  // namespace fourfold::tests
