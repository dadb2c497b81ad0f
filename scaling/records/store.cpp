// Append, sync, and repair after a kill; see store.hpp.
#include "scaling/records/store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "scaling/records/record_json.hpp"
#include "support/own_file.hpp"
#include "support/plain_sentence.hpp"
#include "support/text_file.hpp"

namespace fourfold::inline scaling::inline records {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw std::runtime_error(fmt::format("cannot {} {}: {}", what, path, std::strerror(error)));
}

// 0, or the error that stopped the write.
int write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    done += static_cast<std::size_t>(count);
  }
  return fsync(file) == 0 || errno == EINVAL ? 0 : errno;  // EINVAL: not a file that can be synced
}

}  // namespace

namespace {

constexpr const char* digest_key = ",\"digest\":\"";
constexpr std::size_t digest_letters = 16;

}  // namespace

std::string line_of(const Record& record) {
  const std::string text = to_json(record);
  return text.substr(0, text.size() - 1) + digest_key + digest(text) + "\"}";
}

Record record_of_line(const std::string& line) {
  const std::size_t tail = std::string(digest_key).size() + digest_letters + 2;
  const std::size_t place = line.size() < tail ? std::string::npos : line.rfind(digest_key);
  if (place != line.size() - tail) {
    record_from_json(line);  // what else is wrong with it, or another version's
    throw std::runtime_error("the record lacks the digest that it ended in: it was changed");
  }
  const std::string text = line.substr(0, place) + '}';
  const std::string written = line.substr(line.size() - 2 - digest_letters, digest_letters);
  if (written != digest(text)) {
    throw std::runtime_error("the record was changed after it was written");
  }
  return record_from_json(text);
}

std::vector<Record> read_records(const std::string& path) {
  std::vector<Record> records;
  for (const TextLine& line : read_own_lines(path, "the records in")) {
    if (!line.ended) break;  // it is being written
    try {
      records.push_back(record_of_line(line.text));
    } catch (const OtherFormat&) {
      continue;  // of another version
    } catch (const std::exception& error) {
      throw std::runtime_error(
          fmt::format("{}, line {}: {}; remove the line to run its point again", path, line.number,
                      plain_sentence(error)));
    }
  }
  return records;
}

Store::Store(const std::string& path, Opening opening) : path_(path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) fail(folder.string(), "make the folder", error.value());
  owned_.emplace(folder.empty() ? "." : folder.string(),
                 std::filesystem::path(path).filename().string());
  add_remark(owned_->remark());
  file_ = open_own_file(path, O_RDWR | O_CREAT | O_APPEND);
  try {
    if (opening == Opening::fresh && ftruncate(file_, 0) != 0) fail(path, "empty", errno);
    read();
  } catch (...) {
    close(file_);
    throw;
  }
}

Store::~Store() {
  close(file_);
}

void Store::read() {
  std::string content;
  std::array<char, 65'536> buffer;
  for (ssize_t count; (count = ::read(file_, buffer.data(), buffer.size())) != 0;) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path_, "read", errno);
    content.append(buffer.data(), static_cast<std::size_t>(count));
  }
  std::size_t begin = 0;
  for (std::int64_t line = 1; begin < content.size(); ++line) {
    const std::size_t end = content.find('\n', begin);
    if (end == std::string::npos) return set_torn_line_aside(content.substr(begin), begin);
    try {
      records_.push_back(record_of_line(content.substr(begin, end - begin)));
    } catch (const OtherFormat&) {
      add_remark(fmt::format(
          "{} holds records of another version of Fourfold: they are kept there and not used",
          path_));
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format(
          "{}, line {}: {}; remove the line to run its point again, or start over with --fresh",
          path_, line, plain_sentence(error)));
    }
    begin = end + 1;
  }
}

void Store::set_torn_line_aside(const std::string& torn, std::size_t whole_size) {
  const std::string aside = path_ + ".torn";
  append_own_line(aside, torn);
  if (ftruncate(file_, static_cast<off_t>(whole_size)) != 0) fail(path_, "shorten", errno);
  add_remark(fmt::format(
      "the last record of {} was cut off in the middle; it was moved to {} and only its point is "
      "run again",
      path_, aside));
}

void Store::add_remark(const std::string& sentence) {
  if (remark_.ends_with(sentence)) return;
  remark_ += (remark_.empty() ? "" : "; ") + sentence;
}

const Record* Store::with_key(const std::string& key) const {
  for (auto record = records_.rbegin(); record != records_.rend(); ++record) {
    if (record->key == key) return &*record;
  }
  return nullptr;
}

void Store::append(const Record& record) {
  const off_t before = lseek(file_, 0, SEEK_END);
  if (const int error = write_all(file_, line_of(record) + '\n'); error != 0) {
    // What was written of the line goes; if even that fails, the next start finds it torn.
    [[maybe_unused]] const int shortened = ftruncate(file_, before);
    throw std::runtime_error(
        fmt::format("cannot write to {}: {}; the {} records in it are kept: make room and run the "
                    "same command again",
                    path_, std::strerror(error), records_.size()));
  }
  records_.push_back(record);
}

}  // namespace fourfold::inline scaling::inline records
