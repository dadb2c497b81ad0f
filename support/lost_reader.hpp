// Whether a write to standard output met an error because nobody is there: the reader of a pipe has
// left, or the terminal is lost.
#pragma once

namespace fourfold::inline support {

bool nobody_reads(int error);

}  // namespace fourfold::inline support
