// A list of names, and plain files copied; see carried_files.hpp.
#include "engine/train/checkpoint/carried_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>

#include "support/whole_file.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

namespace files = std::filesystem;

constexpr std::array known{"tokenizer.json",
                           "tokenizer_config.json",
                           "special_tokens_map.json",
                           "added_tokens.json",
                           "vocab.json",
                           "merges.txt",
                           "tokenizer.model",
                           "chat_template.jinja",
                           foreign_generation};

files::file_type type_of(const std::string& path) {
  std::error_code missing;
  return files::symlink_status(path, missing).type();
}

std::string folder_beside(const std::string& checkpoints) {
  return checkpoints + "/carried";
}

void expect_no_link(const std::string& path) {
  if (type_of(path) != files::file_type::symlink) return;
  throw std::runtime_error(path +
                           " is a link, which is not followed; put the file itself there (`cp -rL` "
                           "copies a folder so)");
}

}  // namespace

bool is_carried(const std::string& name) {
  return std::ranges::find(known, name) != known.end();
}

CarriedFiles carried_files_in(const std::string& folder) {
  CarriedFiles found;
  for (const char* name : known) {
    const std::string path = folder + "/" + name;
    if (type_of(path) == files::file_type::not_found) continue;
    expect_no_link(path);
    found[name] = read_whole_file(path);
  }
  return found;
}

FilledFolder keep_files(const std::string& checkpoints, const CarriedFiles& carried) {
  expect_no_link(folder_beside(checkpoints));
  FilledFolder filled(carried.empty() ? checkpoints : folder_beside(checkpoints));
  for (const auto& [name, content] : carried) filled.write(name, content);
  return filled;
}

CarriedFiles kept_files(const std::string& checkpoints) {
  const std::string folder = folder_beside(checkpoints);
  expect_no_link(folder);
  return type_of(folder) == files::file_type::directory ? carried_files_in(folder) : CarriedFiles{};
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
