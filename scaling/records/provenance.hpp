// Where a record comes from: build, machine, moment.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "support/json_object.hpp"

namespace fourfold::inline scaling::inline records {

struct Provenance {
  std::string commit, compiler, build_type, libraries, simgrid;
  std::string executables;  // digest of fourfold and fourfold-replay: tells builds apart for sure
  std::string host, cpu;
  std::string time;       // UTC, ISO 8601, when the record was made
  std::int64_t seed = 0;  // nothing is drawn at random
};

Provenance provenance_now();

nlohmann::json json_of(const Provenance& provenance);
// Throws std::runtime_error with a sentence on anything missing or unknown.
Provenance read_provenance(JsonObject object);

// 64-bit FNV-1a as 16 hexadecimal digits: tells contents apart, does not protect them.
std::string digest(const std::string& content);
std::string digest_of_file(const std::string& path);  // throws std::runtime_error if unreadable
// Of a program or of data of any size, as fast as it is read: of the standard library's hashes of
// its pieces. Throws likewise.
std::string digest_of_large_file(const std::string& path);
std::string digest_of_executables();

}  // namespace fourfold::inline scaling::inline records
