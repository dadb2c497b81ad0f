// Three descriptors and two ways to write; see standard_streams.hpp.
#include "support/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "support/lost_reader.hpp"
#include "support/visible_text.hpp"

namespace fourfold::inline support {

bool hold_standard_streams() {
  for (int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  const bool answers = ::fcntl(STDOUT_FILENO, F_GETFD) >= 0;
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest number that is free is this one: those below are open by now.
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == 0 ? O_RDONLY : O_WRONLY);
  }
  return answers;
}

void print(const std::string& answer) {
  const std::string text = visible(answer);
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return;
  if (nobody_reads(errno)) return;  // `head` has seen enough
  throw std::runtime_error(std::string("cannot write to standard output: ") + std::strerror(errno));
}

void print_line(const std::string& text) {
  print(visible_line(text) + '\n');
}

void say(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void say_line(const std::string& text) {
  say(visible_line(text) + '\n');
}

}  // namespace fourfold::inline support
