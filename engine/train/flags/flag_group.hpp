// Flags under one title of a verb's help, each with its default.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "support/flag_checks.hpp"

namespace fourfold::inline engine::inline train::inline flags {

inline constexpr const char* sampling_group = "Text drawn from the model";

class FlagGroup {
 public:
  FlagGroup(CLI::App& verb, const char* title) : verb_(verb), title_(title) {}

  template <typename T>
  CLI::Option* add(const char* flag, T& value, const char* help) {
    return verb_.add_option(flag, value, help)->group(title_)->capture_default_str();
  }

 private:
  CLI::App& verb_;
  std::string title_;
};

}  // namespace fourfold::inline engine::inline train::inline flags
