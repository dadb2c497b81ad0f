// The sentence, made plain and visible; see complaint.hpp.
#include "support/complaint.hpp"

#include <numeric>
#include <utility>

#include "support/plain_sentence.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline support {

namespace {

std::string in_one(const std::string& sentence, const std::vector<std::string>& lines) {
  return std::accumulate(
      lines.begin(), lines.end(), sentence,
      [](const std::string& text, const std::string& line) { return text + '\n' + line; });
}

}  // namespace

SeveralFaults::SeveralFaults(const std::string& sentence, std::vector<std::string> lines)
    : std::runtime_error(in_one(sentence, lines)), lines_(std::move(lines)) {
  lines_.insert(lines_.begin(), sentence);
}

void remark(const std::string& sentence, const char* program) {
  say_line(std::string(program) + ": " + sentence);
}

int complain(const std::string& sentence, int status, const char* program) {
  remark(sentence, program);
  return status;
}

int complain(const std::exception& error, int status, const char* program) {
  const auto* several = dynamic_cast<const SeveralFaults*>(&error);
  if (several == nullptr) return complain(plain_sentence(error), status, program);
  complain(several->lines().front(), status, program);
  for (std::size_t i = 1; i < several->lines().size(); ++i) say_line(several->lines()[i]);
  return status;
}

}  // namespace fourfold::inline support
