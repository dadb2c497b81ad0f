// Published results to compare with: rows of a CSV file that names their source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/quantity.hpp"

namespace fourfold::inline scaling::inline study {

// Words are as files of ours write them (csv_cell), also where the file does not.
struct PublishedRow {
  std::string machine, model;
  std::int64_t devices = 0;
  std::optional<Seconds> seconds;      // of one batch
  std::optional<FlopsPerSecond> rate;  // of all devices, model flops
  std::string label = {};              // of the point of a sweep; empty: of all of them

  std::string words() const;  // "gpt-5b on 512 devices of frontier"
};

struct Published {
  std::string source;  // from the comment that starts with "# source: "
  std::vector<PublishedRow> rows;

  // The row of a point, that of its label before the one of all labels; or nullptr.
  const PublishedRow* row(const std::string& machine, const std::string& model,
                          std::int64_t devices, const std::string& label = "") const;
};

// Columns machine,devices,model,batch_s,pflops and, where labels of sweeps are told apart, label; a
// row has batch_s, pflops or both. Throws std::runtime_error that names file and line.
Published read_published(const std::string& path);

}  // namespace fourfold::inline scaling::inline study
