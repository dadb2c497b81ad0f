// What went wrong, in our words whoever threw it: the net below every place that should have said
// it itself.
#pragma once

#include <exception>
#include <string>

namespace fourfold::inline support {

// The sentence of an error of ours, as it is; an error of a library, of the file system or of the
// memory becomes a sentence that quotes no library.
std::string plain_sentence(const std::exception& error);

}  // namespace fourfold::inline support
