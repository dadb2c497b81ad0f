// What the exit status of every executable says, in one table.
#pragma once

namespace fourfold::inline support {

inline constexpr int status_done = 0;
inline constexpr int status_no = 1;          // the question is answered, and the answer is no
inline constexpr int status_could_not = 2;   // bad command line or input, or a failure
inline constexpr int status_not_judged = 3;  // `fourfold regress`: the machine was disturbed
inline constexpr int status_stopped = 130;   // by SIGINT, SIGTERM or SIGHUP

// At the end of every --help; docs/campaigns.md has the same in full.
inline constexpr const char* status_help =
    "Exit status: 0 done; 1 the answer is no; 2 could not; 130 stopped by SIGINT, SIGTERM or "
    "SIGHUP.";

}  // namespace fourfold::inline support
