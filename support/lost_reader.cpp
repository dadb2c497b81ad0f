// Errors of pipes and terminals; see lost_reader.hpp.
#include "support/lost_reader.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace fourfold::inline support {

// A file on a broken disk fails with EIO, too.
bool nobody_reads(int error) {
  struct stat what {};
  const bool device = ::fstat(STDOUT_FILENO, &what) == 0 && S_ISCHR(what.st_mode);
  return error == EPIPE || (error == EIO && device);
}

}  // namespace fourfold::inline support
