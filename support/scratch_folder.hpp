// Folders that are taken away with everything in them: only those that we have made, which a file
// in them says, and never through a link.
#pragma once

#include <string>

namespace fourfold::inline support {

// Empty but for its mark, in the place of an earlier one. Throws std::runtime_error with a sentence
// if what stands there is not ours, or if it cannot be made.
void make_scratch_folder(const std::string& path);

// Leaves what is not ours, or not there, as it is.
void remove_scratch_folder(const std::string& path);

}  // namespace fourfold::inline support
