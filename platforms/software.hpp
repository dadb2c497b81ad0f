// What a model is trained with, as data: the kernels that a framework launches for the functions of
// a step, its attention, the layout of its products, and what a launch costs the host. Values only;
// `read_software` fills them from TOML, each with the source it was taken from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "support/quantity.hpp"

namespace fourfold::inline schedule::inline program {
struct Function;
}  // namespace fourfold::inline schedule::inline program

namespace fourfold::inline platforms::inline file {
struct FactSheet;
}  // namespace fourfold::inline platforms::inline file

namespace fourfold::inline platforms {

// A kernel of a function whose work is moving bytes: what it reads and writes for each element of
// the function's first operand.
struct MapKernel {
  double stored = 0.0;  // elements as wide as the step stores them: 2 bytes, 4 in an fp32 step
  double bytes = 0.0;   // of all others: masks, fp32
  Seconds time;         // where it was measured instead
};
using MapKernels = std::vector<MapKernel>;  // one after the other; none: within another function's

// What a file says about one function.
struct MapRule {
  std::string name;                  // "layer_norm"
  std::vector<std::string> kernels;  // as written: "read 2 2 write 2"
  std::string source;
  bool unconfirmed = false;
};

// unfused: its products and its softmax are kernels of their own, through memory.
enum class AttentionSoftware : std::uint8_t { unfused, flash_1, flash_2, flash_3 };
const char* name(AttentionSoftware attention);

struct Software {
  std::string name = "fused";
  std::string title;
  std::string path;  // the file it was read from
  AttentionSoftware attention = AttentionSoftware::flash_2;
  std::string attention_source;
  // Tuned products run in the fastest layout; others pay the processor's penalties.
  bool tuned_products = false;
  std::string products_source;
  // Gathers along x before a product, and reductions after it, go beside it piece by piece.
  bool beside_products = false;
  std::string beside_products_source;  // empty: nothing is said
  Seconds dispatch;  // of the host, for each kernel: a shorter one waits for the next
  std::vector<MapRule> rules;

  // Resolved once, when the file is read. A function that is in none is one kernel that reads
  // every operand and writes its result once.
  std::unordered_map<const Function*, MapKernels> maps;    // instead of that
  std::unordered_map<const Function*, MapKernels> beside;  // before or after its own kernel
  // Of operations that are no function: the optimizer, and a 16-bit gradient on an fp32 sum.
  std::unordered_map<std::string, MapKernels> others;

  const MapKernels* kernels_of(const Function& function) const;
  const MapKernels* kernels_beside(const Function& function) const;
  const MapKernels* update() const;
  const MapKernels* add() const;
  const MapKernels* gradient_sum() const;
};

// By name (software/NAME.toml) or by path to a .toml file. Throws std::runtime_error with one
// sentence: file, line, and what is unknown (nearest known), missing, impossible or without source.
// Numbers go to the sheet of the machine that asks, as "software.dispatch_us", scaled by its
// scales.
Software read_software(const std::string& name_or_path);
Software read_software(const std::string& name_or_path, FactSheet& sheet);

// Names of those that come with Fourfold, sorted.
std::vector<std::string> known_software();
// Functions that a file may say something about, sorted.
std::vector<std::string> known_maps();

// "2 x read 2 2 write 2 of 1/3": launched twice, on a third of the elements. Widths are bytes: 1
// (masks), 2 (as stored), 4, 8. "0.41 ns": what was measured for an element. Throws
// std::invalid_argument with what is wrong.
MapKernels map_kernels(const std::string& written);

}  // namespace fourfold::inline platforms
