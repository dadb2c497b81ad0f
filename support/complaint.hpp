// How every executable says on standard error what it could not do, and what else its user must
// know: one line, whatever the names and files hold that the sentence quotes.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace fourfold::inline support {

// A refusal of a file that has several faults: a line for each, and one that says what to do.
class SeveralFaults : public std::runtime_error {
 public:
  SeveralFaults(const std::string& sentence, std::vector<std::string> lines);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;  // the sentence is the first
};

// "fourfold: SENTENCE"
void remark(const std::string& sentence, const char* program = "fourfold");
// The same; returns the status.
int complain(const std::string& sentence, int status, const char* program = "fourfold");
int complain(const std::exception& error, int status, const char* program = "fourfold");

}  // namespace fourfold::inline support
