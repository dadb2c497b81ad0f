// How the memory of a software's runs differs from that of the step itself: what its functions keep
// for the backward pass, how it stores state, what its libraries take. Each number is a fact of the
// software's file, with its source.
#pragma once

#include <optional>
#include <vector>

#include "platforms/platform.hpp"
#include "schedule/program/function_bytes.hpp"

namespace fourfold::inline platforms::inline file {
class FactTable;
}

namespace fourfold::inline platforms {

struct SoftwareMemory {
  std::vector<FunctionBytes> functions;
  // Bytes a parameter; as the step has them if absent.
  std::optional<double> weights, gradients, optimizer;
  bool gradients_ahead = false;  // for all parameters, from the beginning of the step
  // Weights that are gathered at a time: so many blocks, the embeddings all the time or not at all,
  // in so many bytes a parameter; absent: as the step gathers them.
  std::optional<double> gathered_blocks;
  double gathered_embeddings = 0.0, gathered_bytes = 2.0;
  double casts = 0.0;  // bytes a parameter of casts that stay until the forward pass has ended
  // Of a pipeline: room for what a stage receives in every micro-batch, and the logits of all.
  bool messages_of_step = false, logits_of_step = false;
  Bytes buckets;     // of communication
  Bytes workspaces;  // of products
  // Of PyTorch, where nothing else is said: CUDA's context with all kernels, 0.92 GiB, and the
  // first collective of two ranks, 1.45 GiB (stas00/ml-engineering); the allocator's reserve over
  // what is allocated, the median of runs, and what nine of ten stay below (nanotron's logs).
  Bytes context{943718400.0};
  Bytes communicators{1557135360.0};
  double reserved = 1.02, reserved_most = 1.1;
};

// The table [memory] of a software: its numbers become facts, refused with a sentence where unknown
// or impossible.
void read_software_memory(const FactTable& memory);
// Takes its facts out of those that were read before.
void forget_software_memory(std::vector<Fact>& facts);
// What a software, by name or path, says of memory: keys are those of its table, "keeps.rms_norm".
std::vector<Fact> memory_facts(const std::string& software);
// As the platform's facts and scales say.
SoftwareMemory software_memory(const Platform& platform);

}  // namespace fourfold::inline platforms
