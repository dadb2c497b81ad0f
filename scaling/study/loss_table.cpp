// From a log to a table by step; see loss_table.hpp.
#include "scaling/study/loss_table.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/json_object.hpp"
#include "support/text_file.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

struct Losses {
  std::string training, validation, entropy;
  bool resumed = false;  // a run went on from this step
};

// "gpt-bytes, 0.83 million parameters, on grid 1x1x1x2"
std::string model_text(const nlohmann::json& run) {
  const nlohmann::json& model = run.at("model");
  return fmt::format("{}, {:.2f} million parameters, on grid {}",
                     model.at("name").get<std::string>(),
                     model.at("parameters").get<double>() / 1e6, run.at("grid").get<std::string>());
}

// A log that is read line by line.
struct Reader {
  std::map<std::int64_t, Losses> steps, earlier;  // earlier: of the table that there was
  LossTable table;
  std::string entropy;
  std::int64_t resumed_after = 0;  // by the run whose lines are read

  // Of the table of an earlier log; rows that are none are passed over.
  void take_row(const std::string& row) {
    std::vector<std::string> cells(1);
    for (const char letter : row) {
      if (letter == ',') {
        cells.emplace_back();
      } else {
        cells.back() += letter;
      }
    }
    std::int64_t step = 0;
    const char* const end = cells[0].data() + cells[0].size();
    const auto read = std::from_chars(cells[0].data(), end, step);
    if (cells.size() != 5 || read.ec != std::errc() || read.ptr != end) return;
    earlier[step] = {cells[1], cells[2], cells[3], cells[4] == "1"};
  }
  // Throws a std::exception where a line is damaged.
  void take(const nlohmann::json& entry) {
    const std::string kind = entry.at("kind");
    if (kind == "run") return begin(entry);
    const bool validated = kind == "validation";
    if (kind == "rewind") return forget_after(step_of(entry));
    if (kind != "step" && !validated) return;
    Losses& losses = steps[step_of(entry)];
    losses.entropy = entropy;
    const nlohmann::json& loss = entry.at("loss");  // null where there is none
    if (loss.is_number()) (validated ? losses.validation : losses.training) = loss.dump();
  }
  static std::int64_t step_of(const nlohmann::json& entry) {
    return JsonObject(entry, "the line").integer("step");
  }
  void begin(const nlohmann::json& run) {
    JsonObject object(run, "the line");
    const std::int64_t before =
        object.has("resumed_after_step") ? object.integer("resumed_after_step") : 0;
    std::string model = model_text(run), data = run.at("data"), word = run.at("word");
    entropy = run.at("unigram_nats").dump();
    if (knows_steps_to(before)) steps = earlier;
    resumed_after = before;
    forget_after(before);
    if (before > 0) {
      Losses& resumed = steps[before];
      resumed.resumed = true;
      if (resumed.entropy.empty()) resumed.entropy = entropy;
    }
    table.model = std::move(model);
    table.data = std::move(data);
    table.word = std::move(word);
  }
  // Whether the earlier table was made after the log's last run, perhaps of a run with another log
  // since then: not where that run was killed before a table was made of it.
  bool knows_steps_to(std::int64_t step) const {
    const auto resumed = earlier.find(resumed_after);
    const bool of_last_run =
        resumed_after == 0 || (resumed != earlier.end() && resumed->second.resumed);
    return of_last_run && earlier.contains(step);
  }
  void forget_after(std::int64_t step) { steps.erase(steps.upper_bound(step), steps.end()); }
};

std::string left_out_text(const std::string& log, const std::vector<std::int64_t>& lines) {
  if (lines.empty()) return "";
  if (lines.size() == 1) {
    return fmt::format("line {} of {} is damaged and left out", lines.front(), log);
  }
  return fmt::format("{} lines of {} are damaged and left out, the first is line {}", lines.size(),
                     log, lines.front());
}

}  // namespace

LossTable loss_table(const std::string& log_path, const std::string& earlier) {
  Reader reader;
  std::istringstream rows(earlier);
  for (std::string row; std::getline(rows, row);) reader.take_row(row);
  reader.steps = reader.earlier;
  std::vector<std::int64_t> left_out;
  for (const TextLine& line : read_lines(log_path, "the log")) {
    try {
      reader.take(parse_json(line.text, "the line"));
    } catch (const std::exception&) {  // torn by a full disk or a power cut
      left_out.push_back(line.number);
    }
  }
  LossTable& table = reader.table;
  if (table.model.empty()) {
    throw std::runtime_error(log_path +
                             " is no log of a training run: no line of it says what was trained");
  }
  table.left_out = left_out_text(log_path, left_out);
  table.csv = loss_columns;
  for (const auto& [step, losses] : reader.steps) {
    table.csv += fmt::format("{},{},{},{},{}\n", step, losses.training, losses.validation,
                             losses.entropy, losses.resumed ? 1 : 0);
  }
  return table;
}

}  // namespace fourfold::inline scaling::inline study
