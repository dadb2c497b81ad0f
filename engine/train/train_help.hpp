// What `fourfold train --help` says below the flags: rules, signals, the log's keys, examples.
#pragma once

namespace fourfold {

extern const char* const train_help;

}  // namespace fourfold
