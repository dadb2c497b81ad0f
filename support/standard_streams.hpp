// Standard input, output and error: held open, written whole, and never a reason to die unsaid.
#pragma once

#include <string>

namespace fourfold::inline support {

// Opens /dev/null where one of the three is closed, so that no file of ours takes its number and
// receives what was meant for it; and makes broken pipes and file size limits errors of the write
// that meets them, no signals. Call first in main. Returns whether standard output was open.
bool hold_standard_streams();
inline constexpr const char* no_standard_output =
    "standard output is closed; send it to a file, or to /dev/null if nobody is to read it";

// To standard output, checked to the last byte; a reader that left early is no error. Throws
// std::runtime_error.
void print(const std::string& text);
// One line, whatever it quotes.
void print_line(const std::string& text);

// To standard error, as it is: who cannot be told why still sees the exit status.
void say(const std::string& text);
// One visible line, whatever names and texts of files it quotes.
void say_line(const std::string& text);

}  // namespace fourfold::inline support
