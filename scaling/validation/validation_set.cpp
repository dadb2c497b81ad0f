// From rows of a CSV to questions; see validation_set.hpp. Columns named as an option of the step
// set it. It is long because every column's refusals stand beside its reader.
#include "scaling/validation/validation_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "scaling/words/cell_table.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_flops.hpp"
#include "support/nearest_name.hpp"

namespace fourfold::inline scaling::inline validation {
namespace {

const std::vector<std::string> needed_columns{"id", "source", "platform", "n_gpus",
                                              "global_batch_sequences"};
// Needed where no column names a model.
const std::vector<std::string> model_columns{"layers", "hidden", "heads", "seq", "vocab"};
// The unread ones tell people about the run.
const std::vector<std::string> other_columns{"model",
                                             "study",
                                             "machine",
                                             "gpu",
                                             "params_B",
                                             "grid",
                                             "tp",
                                             "pp",
                                             "dp",
                                             "cp",
                                             "seconds",
                                             "scales",
                                             "software",
                                             "micro_batch",
                                             "stand_in",
                                             "tflops_per_gpu",
                                             "mfu_or_pct_peak",
                                             "notes",
                                             "part",
                                             "bytes",
                                             "peak_bytes",
                                             "peak_is",
                                             "peak_of",
                                             "outcome",
                                             "in_sample",
                                             "left_out"};

bool one_of(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The options that a column may set: the micro-batches follow from their size.
std::vector<FieldFacts> option_columns() {
  std::vector<FieldFacts> facts = step_fields().facts();
  std::erase_if(facts, [](const FieldFacts& field) { return field.key == "micro_batches"; });
  return facts;
}

// Those that say how a block differs from GPT's.
std::vector<FieldFacts> block_columns() {
  std::vector<FieldFacts> facts = model_fields().facts();
  std::erase_if(facts, [](const FieldFacts& field) { return !field.optional; });
  return facts;
}

std::vector<std::string> words_of(const std::string& text, char separator) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    const std::size_t first = text.find_first_not_of(' ', begin);
    if (first < end) words.push_back(text.substr(first, end - first));
    begin = end + 1;
  }
  return words;
}

template <typename Number>
std::optional<Number> read_number(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// One row of a table, read cell by cell.
class RowReader {
 public:
  RowReader(const CellTable& table, std::size_t row) : table_(table), row_(row) {}

  std::string text(const std::string& column) const { return table_.cell(row_, column); }

  std::string needed_text(const std::string& column) const {
    const std::string cell = text(column);
    if (cell.empty()) fail(column, "it must not be empty");
    return cell;
  }

  std::int64_t whole(const std::string& column) const {
    const auto value = read_number<std::int64_t>(text(column));
    if (!value || *value < 1 || *value > most_of_anything) {
      fail(column,
           fmt::format("'{}' is no whole number from 1 to {}", text(column), most_of_anything));
    }
    return *value;
  }

  std::int64_t whole_or_one(const std::string& column) const {
    return text(column).empty() ? 1 : whole(column);
  }

  // Which of the words the cell is, by its place; the first one where the cell is empty.
  std::size_t word_in(const std::string& column, const std::vector<std::string>& words) const {
    const std::string cell = text(column);
    const auto found = std::find(words.begin(), words.end(), cell);
    if (cell.empty()) return 0;
    if (found == words.end()) {
      fail(column, fmt::format("'{}' is none of {}", cell, fmt::join(words, ", ")));
    }
    return static_cast<std::size_t>(found - words.begin());
  }

  double positive(const std::string& column) const { return positive(column, text(column)); }

  double positive(const std::string& column, const std::string& word) const {
    const auto value = read_number<double>(word);
    if (!value || !(*value > 0.0)) fail(column, "'" + word + "' is no number above 0");
    if (*value < 1e-9 || *value > 1e9) {
      fail(column, "'" + word + "' is no number from 1e-9 to 1e9");
    }
    return *value;
  }

  // What follows "key=" in the notes up to a semicolon; empty without it.
  std::string note(const std::string& key) const {
    for (const std::string& note : words_of(text("notes"), ';')) {
      if (note.starts_with(key + '=')) return note.substr(key.size() + 1);
    }
    return "";
  }

  [[noreturn]] void fail(const std::string& column, const std::string& what) const {
    table_.fail(row_, column, what);
  }

 private:
  const CellTable& table_;
  std::size_t row_;
};

// What a cell says about a field; none of a word that the field does not know.
std::optional<FieldValue> value_in(const RowReader& row, const FieldFacts& field) {
  const std::string cell = row.text(field.key);
  if (const auto* range = std::get_if<WholeNumber>(&field.kind)) {
    const auto number = read_number<std::int64_t>(cell);
    if (!number || *number < range->least || *number > range->most) {
      row.fail(field.key, fmt::format("'{}' is no whole number from {} to {}", cell, range->least,
                                      range->most));
    }
    return *number;
  }
  if (const auto* range = std::get_if<RealNumber>(&field.kind)) {
    const auto number = read_number<double>(cell);
    if (!number || !(*number >= range->least) || *number > range->most) {
      row.fail(field.key,
               fmt::format("'{}' is no number from {} to {}", cell, range->least, range->most));
    }
    return *number;
  }
  if (const auto* choice = std::get_if<OneWord>(&field.kind)) {
    return one_of(choice->words, cell) ? std::optional<FieldValue>(cell) : std::nullopt;
  }
  if (std::holds_alternative<FreeText>(field.kind)) return cell;
  if (cell != "on" && cell != "off") row.fail(field.key, "'" + cell + "' is neither on nor off");
  return cell == "on";
}

// A model by its name or its numbers, with what other cells say instead.
Model read_model_cells(const RowReader& row) {
  Model model;
  model.name = row.needed_text("id");
  const std::string known = row.text("model");
  try {
    if (!known.empty()) model = read_model(known);
  } catch (const std::runtime_error& error) {
    row.fail("model", error.what());
  }
  const auto set = [&](std::int64_t& number, const char* column) {
    if (known.empty() || !row.text(column).empty()) number = row.whole(column);
  };
  set(model.layers, "layers");
  set(model.hidden, "hidden");
  set(model.heads, "heads");
  set(model.sequence, "seq");
  set(model.vocabulary, "vocab");
  FieldValues values;
  for (const FieldFacts& field : block_columns()) {
    if (row.text(field.key).empty()) continue;
    const auto value = value_in(row, field);
    if (!value) {
      const auto& words = std::get<OneWord>(field.kind).words;
      row.fail(field.key,
               fmt::format("'{}' is none of {}", row.text(field.key), fmt::join(words, ", ")));
    }
    values[field.key] = *value;
  }
  model_fields().set(model, values);
  if (const std::string why = excess(model); !why.empty()) row.fail("layers", why);
  if (const std::string why = contradiction(model); !why.empty()) row.fail("heads", why);
  return model;
}

// Flops of a step by the convention that the notes name, as published flop/s count them.
Flops published_flops(const RowReader& row, const Question& question) {
  const std::string convention = row.note("conv");
  if (convention.starts_with("model3")) {
    return model_flops(question.model, question.global_batch, Recompute::none);
  }
  if (convention.starts_with("hw4")) {
    return model_flops(question.model, question.global_batch, Recompute::full);
  }
  if (convention.starts_with("neox60")) {
    // 6 P + 60 s h l a token, as GPT-NeoX prints.
    const Model& model = question.model;
    const auto sequence = static_cast<double>(model.sequence);
    const double a_token = 6e9 * row.positive("params_B") + 60.0 * sequence *
                                                                static_cast<double>(model.hidden) *
                                                                static_cast<double>(model.layers);
    return {a_token * sequence * static_cast<double>(question.global_batch)};
  }
  row.fail("notes", "flop/s without seconds need their convention: conv=model3, hw4 or neox60");
}

// None where the row has neither seconds, nor iter_s= in its notes, nor flop/s.
Seconds published_seconds(const RowReader& row, const Question& question) {
  if (!row.text("seconds").empty()) return {row.positive("seconds")};
  if (const std::string said = row.note("iter_s"); !said.empty()) {
    return {row.positive("notes", said)};
  }
  if (row.text("tflops_per_gpu").empty()) return {};
  const FlopsPerSecond all{1e12 * row.positive("tflops_per_gpu") *
                           static_cast<double>(question.devices)};
  return published_flops(row, question) / all;
}

// None if the row says nothing about it.
std::optional<ProcessGrid> read_grid(const RowReader& row) {
  const std::string text = row.text("grid");
  const bool by_axes = !(row.text("tp") + row.text("pp") + row.text("dp")).empty();
  try {
    if (!text.empty() && by_axes) row.fail("grid", "the row has tp, pp or dp as well; give one");
    if (!text.empty()) return ProcessGrid::parse(text);
    if (!by_axes) return std::nullopt;
    return ProcessGrid(row.whole_or_one("tp"), 1, 1, row.whole_or_one("dp"),
                       row.whole_or_one("pp"));
  } catch (const std::invalid_argument& error) {
    row.fail(text.empty() ? "tp" : "grid", error.what());
  }
}

std::optional<std::int64_t> read_micro_batches(const RowReader& row, const Question& question) {
  if (!question.grid || row.text("micro_batch").empty()) return std::nullopt;
  const std::int64_t unit = batch_unit(*question.grid, row.whole("micro_batch"));
  if (question.global_batch % unit != 0) {
    row.fail("micro_batch", fmt::format("a batch of {} sequences is no multiple of {}: micro-batch "
                                        "x shares",
                                        question.global_batch, unit));
  }
  return question.global_batch / unit;
}

Scales read_scale_cells(const RowReader& row) {
  Scales scales;
  for (const std::string& entry : words_of(row.text("scales"), ';')) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) row.fail("scales", "'" + entry + "' is no KEY=FACTOR");
    scales[entry.substr(0, equals)] = row.positive("scales", entry.substr(equals + 1));
  }
  return scales;
}

// Sets the options that the row has cells for; a word that this version does not know leaves the
// case out.
void read_options(const RowReader& row, ValidationCase& one) {
  FieldValues values;
  for (const FieldFacts& field : option_columns()) {
    const std::string cell = row.text(field.key);
    if (cell.empty()) continue;
    if (const auto value = value_in(row, field)) {
      values[field.key] = *value;
    } else if (one.left_out.empty()) {
      const auto& words = std::get<OneWord>(field.kind).words;
      one.left_out = fmt::format("{} = {} cannot be expressed yet; there {} {}", field.key, cell,
                                 words.size() == 1 ? "is" : "are", fmt::join(words, ", "));
    }
  }
  step_fields().set(one.question.options, values);
  try {
    ask_of_software(one.question, row.text("software"), "row", values);
  } catch (const std::runtime_error& error) {
    row.fail("platform", error.what());
  }
}

template <typename Word>
std::vector<std::string> names_up_to(Word last) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.emplace_back(name(static_cast<Word>(i)));
  return names;
}

// None if the row says nothing about memory.
std::optional<MeasuredMemory> read_memory(const RowReader& row) {
  if ((row.text("peak_bytes") + row.text("outcome")).empty()) return std::nullopt;
  MeasuredMemory memory;
  if (const std::string cell = row.text("peak_bytes"); !cell.empty()) {
    const auto bytes = read_number<std::int64_t>(cell);
    if (!bytes || *bytes < 1) row.fail("peak_bytes", "'" + cell + "' is no whole number above 0");
    memory.peak = {static_cast<double>(*bytes)};
  }
  memory.is = static_cast<PeakIs>(row.word_in("peak_is", names_up_to(PeakIs::device)));
  memory.of = static_cast<PeakOf>(row.word_in("peak_of", names_up_to(PeakOf::fullest)));
  memory.outcome =
      static_cast<MemoryOutcome>(row.word_in("outcome", names_up_to(MemoryOutcome::out_of_memory)));
  return memory;
}

// A row that is one collective of neighbouring devices; false if it is none.
bool read_collective(const RowReader& row, ValidationCase& one) {
  const auto kind = kind_named(row.text("part"), around_rows);
  if (!kind) return false;
  one.measured = Measured::collective;
  one.collective = *kind;
  const auto bytes = read_number<std::int64_t>(row.text("bytes"));
  if (!bytes || *bytes < 1)
    row.fail("bytes", "'" + row.text("bytes") + "' is no whole number above 0");
  one.buffer = {static_cast<double>(*bytes)};
  one.question.platform = row.needed_text("platform");
  one.question.scales = read_scale_cells(row);
  one.question.devices = row.whole("n_gpus");
  one.published = {row.positive("seconds")};
  return true;
}

ValidationCase read_case(const RowReader& row, const std::vector<std::string>& awaited) {
  ValidationCase one;
  one.id = row.needed_text("id");
  one.source = row.needed_text("source");
  one.study = row.text("study").empty() ? one.source : row.text("study");
  one.stand_in = row.text("stand_in");
  one.in_sample = row.text("in_sample");
  one.left_out = row.text("left_out");
  one.memory = read_memory(row);
  if (!one.left_out.empty() && row.text("platform").empty()) return one;
  if (read_collective(row, one)) return one;

  Question& question = one.question;
  question.platform = row.needed_text("platform");
  question.scales = read_scale_cells(row);
  question.model = read_model_cells(row);
  question.devices = row.whole("n_gpus");
  question.global_batch = row.whole("global_batch_sequences");
  question.grid = read_grid(row);
  const std::int64_t context = row.whole_or_one("cp");
  if (question.grid && question.grid->size() * context != question.devices) {
    row.fail("n_gpus", fmt::format("the grid has {} devices, not {}",
                                   question.grid->size() * context, question.devices));
  }
  question.micro_batches = read_micro_batches(row, question);
  // Of a grid that is searched: what its software takes at once.
  if (!question.grid && !row.text("micro_batch").empty()) {
    question.most_at_once = row.whole("micro_batch");
  }
  if (context > 1 && one.left_out.empty()) one.left_out = "context parallelism is not modelled";
  read_options(row, one);
  if (const std::string part = row.text("part"); part == "layer") {
    one.measured = Measured::layer;
    if (!question.grid || !question.micro_batches) row.fail("part", "a layer needs a grid");
  } else if (!part.empty()) {
    row.fail("part", "'" + part + "' is neither layer nor a collective");
  }
  one.published = published_seconds(row, question);
  for (const std::string& option : awaited) {
    if (!row.text(option).empty()) one.unsaid.push_back(option + " = " + row.text(option));
  }
  return one;
}

// The awaited options that this version does not have. Refuses columns that nobody knows.
std::vector<std::string> missing_options(const CellTable& table, const std::string& path) {
  std::vector<std::string> known = needed_columns;
  known.insert(known.end(), other_columns.begin(), other_columns.end());
  for (const FieldFacts& field : option_columns()) known.push_back(field.key);
  for (const FieldFacts& field : block_columns()) known.push_back(field.key);
  known.insert(known.end(), model_columns.begin(), model_columns.end());
  const bool collectives = table.has("bytes");
  std::vector<std::string> needed = needed_columns;
  if (collectives) std::erase(needed, "global_batch_sequences");
  if (!collectives && !table.has("model"))
    needed.insert(needed.end(), model_columns.begin(), model_columns.end());
  for (const std::string& column : needed) {
    if (table.has(column)) continue;
    throw std::runtime_error(fmt::format("{}: the column '{}' is missing", path, column));
  }
  const auto awaits = table.remarks().find("awaits");
  const std::vector<std::string> awaited =
      awaits == table.remarks().end() ? std::vector<std::string>{} : words_of(awaits->second, ' ');
  std::vector<std::string> missing;
  for (const std::string& column : table.columns()) {
    if (one_of(known, column)) continue;
    if (!one_of(awaited, column)) {
      throw std::runtime_error(
          fmt::format("{}: unknown column '{}'{}", path, column, did_you_mean(column, known)));
    }
    missing.push_back(column);
  }
  return missing;
}

void read_remarks(const CellTable& table, ValidationSet& set) {
  const std::vector<std::string> known{"title",         "in_sample",   "awaits",
                                       "bound_percent", "least_cases", "memory_bound_percent"};
  for (const auto& [key, value] : table.remarks()) {
    if (!one_of(known, key)) {
      table.fail_remark(key, "it is not known" + did_you_mean(key, known));
    }
    if (key == "title") set.title = value;
    if (key == "in_sample") set.in_sample = value;
    if (key == "bound_percent" || key == "memory_bound_percent") {
      const auto percent = read_number<double>(value);
      if (!percent || !(*percent > 0.0)) table.fail_remark(key, "it must be a number above 0");
      (key == "bound_percent" ? set.bound : set.memory_bound) = *percent / 100.0;
    }
    if (key == "least_cases") {
      const auto count = read_number<std::int64_t>(value);
      if (!count || *count < 1) table.fail_remark(key, "it must be a whole number above 0");
      set.least_cases = *count;
    }
  }
}

std::filesystem::path sets_folder() {
  return std::filesystem::path(FOURFOLD_SOURCE_DIR) / "scaling" / "validation" / "sets";
}

}  // namespace

std::vector<std::string> known_validation_sets() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(sets_folder())) {
    if (entry.path().extension() == ".csv") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

ValidationSet read_validation_set(const std::string& name_or_path) {
  const bool is_path = name_or_path.ends_with(".csv");
  const std::vector<std::string> known = known_validation_sets();
  if (!is_path && !one_of(known, name_or_path)) {
    throw std::runtime_error(
        fmt::format("unknown validation set '{}'; there are {}, and .csv files of your own",
                    name_or_path, fmt::join(known, ", ")));
  }
  const std::string path =
      is_path ? name_or_path : (sets_folder() / (name_or_path + ".csv")).string();
  const CellTable table(path);
  ValidationSet set;
  set.name = std::filesystem::path(path).stem().string();
  set.title = set.name;
  read_remarks(table, set);
  const std::vector<std::string> awaited = missing_options(table, path);
  std::set<std::string> ids;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    set.cases.push_back(read_case(RowReader(table, i), awaited));
    if (!ids.insert(set.cases.back().id).second) {
      table.fail(i, "id", "'" + set.cases.back().id + "' is there twice");
    }
  }
  if (set.cases.empty()) throw std::runtime_error(path + " has no rows");
  return set;
}

}  // namespace fourfold::inline scaling::inline validation
