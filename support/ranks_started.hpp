// How ranks tell who has started them that MPI works: who waits for that gives up otherwise.
#pragma once

namespace fourfold::inline support {

// Where this variable of the environment is set, rank 0 says the line, on standard error.
inline constexpr const char* asks_for_start = "FOURFOLD_SAY_STARTED";
inline constexpr const char* ranks_started = "fourfold-engine: the ranks have started";

}  // namespace fourfold::inline support
