// Files read whole, and written whole or not at all; for everybody who takes or leaves one.
#pragma once

#include <cstdint>
#include <string>

namespace fourfold::inline support {

// Of any file that people or programs write for Fourfold to read: far more than there is a use for.
inline constexpr std::int64_t most_input_bytes = std::int64_t{1} << 28;

// What a plain file holds. Throws std::runtime_error, as in "cannot read the list nodes.txt: No
// such file or directory", where it cannot be read; a folder, a pipe, a device and what is larger
// than `most` bytes are refused unread. `what` stands before the path; may be empty. Text is read
// by support/text_file.hpp.
std::string read_whole_file(const std::string& path, const std::string& what = "",
                            std::int64_t most = most_input_bytes);

// Of a file that is too large to be read at once; the same refusals but that of its size.
std::int64_t bytes_of_plain_file(const std::string& path, const std::string& what = "");

// A file that the user named: its links are followed, and what is no plain file (say, /dev/stdout)
// is written in place. A plain one is replaced in one step. Throws std::runtime_error with a
// sentence if not every byte can be written; then the old file, or none, stays. What nobody named
// goes by write_own_file (support/own_file.hpp).
void write_whole_file(const std::string& path, const std::string& content);

// The same refusal before the work; leaves everything as it is.
void refuse_unwritable(const std::string& path);

}  // namespace fourfold::inline support
