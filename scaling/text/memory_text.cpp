// Tables and drawings of memory; see memory_text.hpp.
#include "scaling/text/memory_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "platforms/device_memory.hpp"
#include "scaling/words/text_table.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline text {
namespace {

constexpr std::size_t stages_shown = 8;
constexpr int drawing_width = 72, drawing_height = 12;

struct Shade {
  MemoryPart part;
  char letter;
};
// What lies at the bottom of a drawing comes first.
constexpr std::array<Shade, memory_part_count> shades{{{MemoryPart::weights, 'w'},
                                                       {MemoryPart::optimizer, 'o'},
                                                       {MemoryPart::gradients, 'g'},
                                                       {MemoryPart::communication, 'c'},
                                                       {MemoryPart::saved, 's'},
                                                       {MemoryPart::temporaries, 't'}}};

std::string gigabytes(Bytes bytes) {
  return fmt::format("{:.1f}", bytes.value / 1e9);
}

// The fullest, and the first and the last of them where they are many.
std::vector<std::size_t> shown(const MemoryCourse& course) {
  std::vector<std::size_t> all;
  const std::size_t count = course.stages.size();
  for (std::size_t i = 0; i < count; ++i) {
    const bool near_an_end = i < stages_shown / 2 || i + stages_shown / 2 > count;
    if (count <= stages_shown || near_an_end || i == course.fullest) all.push_back(i);
  }
  return all;
}

std::string stage_table(const MemoryCourse& course) {
  TextTable table;
  const bool several = course.stages.size() > 1;
  if (several) table.columns.push_back({"stage", ""});
  for (const char* column : {"weights", "gradients", "optimizer"}) {
    table.columns.push_back({column, "GB"});
  }
  table.columns.insert(table.columns.end(), {{"saved", "activations"},
                                             {"temporaries", "GB"},
                                             {"communi-", "cation"},
                                             {"sum", "GB"},
                                             {"moment of the peak", "", Align::left}});
  for (std::size_t i : shown(course)) {
    const StageCourse& stage = course.stages[i];
    std::vector<std::string> row;
    if (several) row.push_back(fmt::format("{}{}", i == course.fullest ? "> " : "", i));
    for (Bytes bytes : stage.at_peak().bytes) row.push_back(gigabytes(bytes));
    row.push_back(gigabytes(stage.at_peak().sum()));
    row.push_back(stage.moment());
    table.rows.push_back(std::move(row));
  }
  return format(table);
}

// What is not allocated by the step.
std::string context_text(Bytes peak, const Platform& platform) {
  const Bytes memory = platform.processor.memory;
  if (platform.processor.usable_memory < 1.0) {
    return fmt::format(
        "Context, communicators and the allocator's reserve: {} GB of {:.4g} GB, as "
        "the machine file says.",
        gigabytes(memory * (1.0 - platform.processor.usable_memory)), memory.value / 1e9);
  }
  const SoftwareMemory software = software_memory(platform);
  return fmt::format(
      "Beside that the context takes {} GB, communicators {} GB and the allocator's reserve {} GB: "
      "{} GB used of {:.4g} GB.",
      gigabytes(software.context), gigabytes(software.communicators),
      gigabytes(reserved_memory(peak, software) - peak), gigabytes(used_memory(peak, software)),
      memory.value / 1e9);
}

nlohmann::json json_of(const MemoryParts& parts) {
  nlohmann::json object = nlohmann::json::object();
  for (const Shade& shade : shades) object[name(shade.part)] = parts[shade.part].value;
  return object;
}

char letter_at(const MemoryParts& parts, Bytes height) {
  Bytes below;
  for (const Shade& shade : shades) {
    below += parts[shade.part];
    if (height < below) return shade.letter;
  }
  return ' ';
}

}  // namespace

std::string memory_text(const MemoryCourse& course, const Platform& platform) {
  const Bytes peak = course.stages[course.fullest].at_peak().sum();
  return fmt::format("Memory per device {} GB of the {} GB that the reserve leaves: {}.\n",
                     gigabytes(peak), gigabytes(memory_limit(platform)),
                     fits_text(chance_to_fit(peak, platform))) +
         stage_table(course) + wrapped(context_text(peak, platform)) + '\n';
}

std::string memory_drawing(const MemorySeries& over_step) {
  const std::vector<MemoryAt>& series = over_step.moments;
  const Seconds end = series.back().time;
  std::vector<MemoryParts> columns(drawing_width);
  Bytes most;
  for (std::size_t i = 0; i + 1 < series.size(); ++i) {
    const auto column = [&](Seconds time) {
      return static_cast<std::size_t>(
          std::clamp(time / end * drawing_width, 0.0, drawing_width - 1.0));
    };
    for (std::size_t c = column(series[i].time); c <= column(series[i + 1].time); ++c) {
      if (series[i].parts.sum() > columns[c].sum()) columns[c] = series[i].parts;
    }
    most = std::max(most, series[i].parts.sum());
  }
  std::string text =
      fmt::format("Memory over a step of {} on stage {}, GB; at each moment the most there is:\n",
                  counted(over_step.micro_batches, "micro-batch"), over_step.stage);
  for (int row = drawing_height - 1; row >= 0; --row) {
    const Bytes height = most * ((row + 0.5) / drawing_height);
    std::string line;
    for (const MemoryParts& parts : columns) line += letter_at(parts, height);
    line.erase(line.find_last_not_of(' ') + 1);
    text += fmt::format("{:>7} |{}\n", gigabytes(most * ((row + 1.0) / drawing_height)), line);
  }
  text += fmt::format("{:>7} +{}\n{:>9}0{:>{}.3g} s\n", "0.0", std::string(drawing_width, '-'), "",
                      end.value, drawing_width - 3);
  std::vector<std::string> letters;
  for (const Shade& shade : shades) {
    letters.push_back(fmt::format("{} {}", shade.letter, name(shade.part)));
  }
  return text + fmt::format("{:>9}{}\n", "", fmt::join(letters, ", "));
}

std::string memory_csv(const MemorySeries& series) {
  std::string text = "time_s";
  for (const Shade& shade : shades) text += fmt::format(",{}", name(shade.part));
  for (const MemoryAt& moment : series.moments) {
    text += fmt::format("\n{:.9g}", moment.time.value);
    for (const Shade& shade : shades) {
      text += fmt::format(",{:.6f}", moment.parts[shade.part].value / 1e9);
    }
  }
  return text + '\n';
}

nlohmann::json json_of(const MemoryCourse& course, const Platform& platform) {
  const Bytes peak = course.stages[course.fullest].at_peak().sum();
  const double chance = chance_to_fit(peak, platform);
  nlohmann::json stages = nlohmann::json::array();
  for (const StageCourse& stage : course.stages) {
    stages.push_back({{"at_peak_B", json_of(stage.at_peak())},
                      {"peak_B", stage.at_peak().sum().value},
                      {"moment", stage.moment()}});
  }
  const SoftwareMemory software = software_memory(platform);
  const bool own_reserve = platform.processor.usable_memory < 1.0;
  return {{"chance_to_fit", chance},
          {"fits", fits_in_words(chance)},
          {"peak_B", peak.value},
          {"limit_B", memory_limit(platform).value},
          {"context_B", own_reserve ? nlohmann::json() : nlohmann::json(software.context.value)},
          {"communicators_B",
           own_reserve ? nlohmann::json() : nlohmann::json(software.communicators.value)},
          {"used_B",
           own_reserve ? nlohmann::json() : nlohmann::json(used_memory(peak, software).value)},
          {"fullest_stage", course.fullest},
          {"stages", stages}};
}

}  // namespace fourfold::inline scaling::inline text
