// Provenance from the build, the kernel and the clock; see provenance.hpp.
#include "scaling/records/provenance.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "sim/question/provenance.hpp"
#include "support/processor_name.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline records {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace

Provenance provenance_now() {
  const Build& from = build();
  return {.commit = from.commit,
          .compiler = from.compiler,
          .build_type = from.build_type,
          .libraries = from.libraries,
          .simgrid = from.simgrid_version,
          .executables = digest_of_executables(),
          .host = host_name(),
          .cpu = processor_name().value_or("unknown"),
          .time = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))};
}

nlohmann::json json_of(const Provenance& provenance) {
  return {{"commit", provenance.commit},
          {"compiler", provenance.compiler},
          {"build_type", provenance.build_type},
          {"libraries", provenance.libraries},
          {"simgrid", provenance.simgrid},
          {"executables", provenance.executables},
          {"host", provenance.host},
          {"cpu", provenance.cpu},
          {"time", provenance.time},
          {"seed", provenance.seed}};
}

Provenance read_provenance(JsonObject object) {
  Provenance provenance;
  provenance.commit = object.text("commit");
  provenance.compiler = object.text("compiler");
  provenance.build_type = object.text("build_type");
  provenance.libraries = object.text("libraries");
  provenance.simgrid = object.text("simgrid");
  provenance.executables = object.text("executables");
  provenance.host = object.text("host");
  provenance.cpu = object.text("cpu");
  provenance.time = object.text("time");
  provenance.seed = object.integer("seed");
  object.finish();
  return provenance;
}

std::string digest(const std::string& content) {
  std::uint64_t hash = 14'695'981'039'346'656'037u;
  for (unsigned char byte : content) hash = (hash ^ byte) * 1'099'511'628'211u;
  return fmt::format("{:016x}", hash);
}

std::string digest_of_file(const std::string& path) {
  return digest(read_whole_file(path));
}

std::string digest_of_large_file(const std::string& path) {
  std::int64_t left = bytes_of_plain_file(path);
  std::ifstream file(path, std::ios::binary);
  std::string piece(std::size_t{1} << 20, '\0'), hashes;
  while (left > 0) {
    const auto wanted = std::min(left, static_cast<std::int64_t>(piece.size()));
    if (!file.read(piece.data(), wanted)) throw std::runtime_error("cannot read " + path);
    const std::string_view read(piece.data(), static_cast<std::size_t>(wanted));
    hashes += fmt::format("{:016x}", std::hash<std::string_view>{}(read));
    left -= wanted;
  }
  return digest(hashes);
}

namespace {

std::string read_digest_of_executables() {
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path replay = own.parent_path() / "fourfold-replay";
  const std::string first = digest_of_large_file(own.string());
  return digest(std::filesystem::exists(replay) ? first + digest_of_large_file(replay.string())
                                                : first);
}

}  // namespace

std::string digest_of_executables() {
  static const std::string once = read_digest_of_executables();  // tens of megabytes
  return once;
}

}  // namespace fourfold::inline scaling::inline records
