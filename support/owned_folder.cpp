// A lock that the system holds for a process, and words in its file for people; see
// owned_folder.hpp.
#include "support/owned_folder.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <utility>

#include "support/own_file.hpp"

namespace fourfold::inline support {

namespace {

namespace files = std::filesystem;

// On a file system without locks this must do: the process with this number that was started then.
struct Owner {
  long process = 0;
  long long started = 0;  // in ticks since the system was; 0: not known
  std::string host, since;
};

std::string this_host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Field 22 of /proc/PID/stat, after a name in brackets that may hold anything.
long long start_of(long process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  long long start = 0;
  std::sscanf(line.c_str() + name_end + 1,
              " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld",
              &start);
  return start;
}

bool runs_here(const Owner& owner) {
  if (::kill(static_cast<pid_t>(owner.process), 0) != 0 && errno == ESRCH) return false;
  const long long start = start_of(owner.process);
  return owner.started == 0 || start == 0 || start == owner.started;
}

std::string time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

constexpr const char* words = "process %ld on %255[A-Za-z0-9._-] started %lld since %20[0-9TZ:-]";

void write_owner(int file, const std::string& lock) {
  const std::string text = "process " + std::to_string(::getpid()) + " on " + this_host() +
                           " started " + std::to_string(start_of(::getpid())) + " since " +
                           time_text() + "\n";
  const bool written =
      ::ftruncate(file, 0) == 0 && ::pwrite(file, text.data(), text.size(), 0) == std::ssize(text);
  if (written) return;
  const std::string why = std::strerror(errno);
  ::unlink(lock.c_str());  // on a full disk it is empty, and would stay
  throw std::runtime_error("cannot write " + lock + ": " + why);
}

// Nobody, where the file is new or says something else.
std::optional<Owner> read_owner(int file) {
  std::array<char, 512> text{};
  if (::pread(file, text.data(), text.size() - 1, 0) <= 0) return std::nullopt;
  Owner owner;
  std::array<char, 256> host{};
  std::array<char, 21> since{};
  if (std::sscanf(text.data(), words, &owner.process, host.data(), &owner.started, since.data()) !=
          4 ||
      owner.process < 1) {
    return std::nullopt;
  }
  owner.host = host.data();
  owner.since = since.data();
  return owner;
}

std::string named(const std::optional<Owner>& owner) {
  if (!owner) return "another process";
  return "process " + std::to_string(owner->process) + " on " + owner->host + " since " +
         owner->since;
}

constexpr int most_times = 60;  // some three seconds
constexpr useconds_t microseconds_between = 50'000;

[[noreturn]] void in_use(const std::string& what, const std::optional<Owner>& owner) {
  throw std::runtime_error(what + " is in use by " + named(owner) +
                           "; wait for it to end, or choose another folder");
}

bool is_the_file(int file, const std::string& path) {
  struct stat opened {
  }, there{};
  return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &there) == 0 &&
         opened.st_ino == there.st_ino && opened.st_dev == there.st_dev;
}

}  // namespace

OwnedFolder::OwnedFolder(const std::string& folder, const std::string& part)
    : what_(part.empty() ? folder : folder + '/' + part),
      lock_(folder + "/." + part + (part.empty() ? "" : ".") + "in-use"),
      process_(::getpid()) {
  for (int times = 0; !take(times); ++times) continue;
}

bool OwnedFolder::take(int times) {
  file_ = open_own_file(lock_, O_RDWR | O_CREAT);
  try {
    const bool is_locked = ::flock(file_, LOCK_EX | LOCK_NB) == 0;
    const bool is_taken = !is_locked && errno == EWOULDBLOCK;
    const std::optional<Owner> owner = read_owner(file_);
    // Children of a process that was killed end a little later than it; and who has just taken the
    // folder writes its name in a moment.
    const bool is_between =
        is_taken && (!owner || (owner->host == this_host() && !runs_here(*owner)));
    if (is_between && times < most_times) ::usleep(microseconds_between);
    if (is_taken && (!is_between || times == most_times)) in_use(what_, owner);
    if (is_between || !is_the_file(file_, lock_)) {
      ::close(file_);
      return false;
    }
    if (owner && owner->host != this_host()) {
      throw std::runtime_error(what_ + " is in use by " + named(owner) +
                               ", as far as this host knows; if that has ended, remove " + lock_);
    }
    if (owner && !is_locked && runs_here(*owner)) in_use(what_, owner);
    if (owner) {
      remark_ = what_ + " was in use by " + named(owner) + ", which has ended; it is taken over";
    }
    write_owner(file_, lock_);
  } catch (...) {
    ::close(file_);
    throw;
  }
  return true;
}

OwnedFolder::~OwnedFolder() {
  if (::getpid() == process_) ::unlink(lock_.c_str());  // and not a child of it
  ::close(file_);
}

void refuse_in_use(const std::string& folder) {
  const int file = ::open((folder + "/.in-use").c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return;
  bool is_taken = true;
  std::optional<Owner> owner;
  // Who has just taken the folder writes its name in a moment.
  for (int times = 0; is_taken && !owner && times < most_times; ++times) {
    if (times > 0) ::usleep(microseconds_between);
    is_taken = ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    owner = read_owner(file);
  }
  ::close(file);
  const bool by_another = !owner || owner->process != ::getpid() || owner->host != this_host();
  if (is_taken && by_another) in_use(folder, owner);
}

namespace {

[[noreturn]] void cannot_make(const files::path& path, int error) {
  throw std::runtime_error("cannot make the folder " + path.string() + ": " + std::strerror(error));
}

}  // namespace

std::vector<std::string> make_folders(const std::string& folder) {
  std::vector<std::string> made;
  files::path above;
  for (const files::path& name : files::path(folder).lexically_normal()) {
    above /= name;
    if (::mkdir(above.c_str(), 0777) == 0) {
      made.push_back(above.string());
    } else if (const int error = errno; !files::is_directory(above)) {
      remove_empty(made);
      cannot_make(above, error == EEXIST ? ENOTDIR : error);
    }
  }
  return made;
}

NewFolder::NewFolder(const std::string& first) {
  const files::path last = files::path(first).lexically_normal();
  made_ = make_folders(last.parent_path().string());
  path_ = last.string();
  for (int i = 2; ::mkdir(path_.c_str(), 0777) != 0; ++i) {
    if (errno != EEXIST) cannot_make(path_, errno);
    path_ = last.string() + '-' + std::to_string(i);
  }
  made_.push_back(path_);
}

NewFolder::~NewFolder() {
  remove_empty(made_);
}

std::vector<std::string> NewFolder::release() {
  return std::exchange(made_, {});
}

void remove_empty(const std::vector<std::string>& folders) {
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    ::rmdir(folder->c_str());
  }
}

}  // namespace fourfold::inline support
