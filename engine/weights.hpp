// What outlives a step on this rank: the blocks of weights and optimizer state that it holds, by
// name, with the global matrices they are blocks of.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/backend.hpp"
#include "engine/host_memory.hpp"
#include "schedule/models/model.hpp"
#include "schedule/program/program.hpp"

namespace fourfold::inline engine {

// What a block is to its parameter. An fp32 weight is its own master.
enum class Kept : std::uint8_t { weight, master, moment };

struct Stored {
  std::string name;       // "block0.qkv.weight", "block0.qkv.weight.m", ".v", ".master"
  std::string parameter;  // "block0.qkv.weight"
  Kept kept = Kept::weight;
  bool has_master = false;  // a weight that is rounded from a block of its own
  Shape shape;              // of the global matrix, with its sharding
  Role role = Role::parameter;
  Tensor block;  // this rank's, as engine/plan/block_place.hpp lays it out; padding is zero
  DeviceMemory* memory = nullptr;  // that the block is in: the device's, or its host's
  WeightKind kind = WeightKind::none;
};

class Weights {
 public:
  // All persistent values of the program but its words, as zeros. The device must outlive them.
  // Offloaded optimizer state is in the host's memory.
  Weights(const Program& program, const ProcessGrid& grid, std::int64_t rank, DeviceMemory& device);
  Weights(Weights&&) = default;  // blocks point into the memory, which moves along
  Weights& operator=(Weights&&) = default;

  DeviceMemory& device() const { return *device_; }
  // In the program's order. Blocks may be written to.
  const std::vector<Stored>& all() const { return stored_; }
  // Throws std::invalid_argument if nothing has that name.
  const Stored& operator[](const std::string& name) const;
  const ProcessGrid& grid() const { return grid_; }
  std::int64_t rank() const { return rank_; }
  // On the device.
  std::int64_t bytes() const { return memory_.bytes(); }
  std::int64_t bytes_on_host() const { return on_host_.bytes(); }
  // Fills weights and masters as InitialWeights says, moments with zeros.
  void initialise(const Model& model, std::uint64_t seed);
  // Makes the bf16 weights from the fp32 masters, where there are both.
  void round_masters();

 private:
  ProcessGrid grid_;
  std::int64_t rank_ = 0;
  DeviceMemory* device_ = nullptr;
  std::unique_ptr<HostMemory> host_ = std::make_unique<HostMemory>();
  // All blocks, one after the other, each aligned to 64 bytes.
  DeviceBlock memory_;
  DeviceBlock on_host_;
  std::vector<Stored> stored_;
};

}  // namespace fourfold::inline engine
