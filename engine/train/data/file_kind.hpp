// What a file of words is, by how it begins and not by its name: packed or foreign files are
// refused by what they are called, numbers of NumPy and the widths of Megatron's tokens are read
// from where they are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fourfold::inline engine::inline train::inline data {

// These throw std::runtime_error with half a sentence that follows the file's name.

// Of a file's first bytes, `most_of_a_beginning` or all: gz, zst, parquet, tar and the like.
inline constexpr std::int64_t most_of_a_beginning = 1 << 16;
void refuse_packed(const std::string& beginning);
// Of any part of a text, whose first byte stands at `place`: a zero byte is of no text.
void refuse_no_text(const std::string& part, std::int64_t place);

// Where whole numbers lie side by side in a file.
struct Numbers {
  std::int64_t first_byte = 0;
  std::int64_t bytes = 0;  // of a number: 2, 4 or 8
  std::int64_t count = 0;
};
// Of a .npy, by its head; none if it is another file.
std::optional<Numbers> numbers_in_npy(const std::string& beginning);
// Of the .bin that a .idx of Megatron-LM speaks of; none if there is no such file beside it.
std::optional<Numbers> numbers_by_index(const std::string& bin_path);

// How many bits the tokens have that a file begins with, if it shows, else 0: of 32-bit and 64-bit
// tokens every second half is next to nothing, and 16-bit ones, taken two by two, are beyond all
// vocabularies.
std::int64_t apparent_bits(const std::vector<std::uint32_t>& pairs);

}  // namespace fourfold::inline engine::inline train::inline data
