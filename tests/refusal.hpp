// What a call is refused with, for tests of the words: the sentence of what it throws.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

namespace fourfold::tests {

// "accepted" where nothing is thrown.
template <typename Error = std::invalid_argument>
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace fourfold::tests
