// From records to what people read; see memorisation_record.hpp.
#include "scaling/study/memorisation_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scaling/study/figure.hpp"
#include "support/json_object.hpp"
#include "support/json_text.hpp"
#include "support/plain_sentence.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline study {

std::string to_json(const MemorisationRecord& record) {
  const nlohmann::ordered_json line{{"key", record.key},
                                    {"model", record.model},
                                    {"parameters", record.parameters},
                                    {"seed", record.seed},
                                    {"goldfish", record.goldfish},
                                    {"matches", record.matches},
                                    {"equal_words", record.equal_words},
                                    {"validation_loss", record.validation_loss},
                                    {"words_per_s", record.words_per_second},
                                    {"cpu_s", record.cpu_seconds}};
  return line.dump();
}

MemorisationRecord parse_memorisation_record(const std::string& line) {
  try {
    const nlohmann::json json = parse_json(line, "the line");
    MemorisationRecord record;
    record.key = json.at("key");
    record.model = json.at("model");
    record.parameters = json.at("parameters");
    record.seed = JsonObject(json, "the line").integer("seed");
    record.goldfish = json.at("goldfish");
    for (const nlohmann::json& one : json.at("matches")) {
      const std::optional<std::int64_t> number = whole_in(one);
      if (!number) throw std::runtime_error("'matches' must be whole numbers, 0 or more");
      record.matches.push_back(*number);
    }
    record.equal_words = json.at("equal_words").get<std::vector<double>>();
    record.validation_loss = json.at("validation_loss");
    record.words_per_second = json.at("words_per_s");
    record.cpu_seconds = json.at("cpu_s");
    return record;
  } catch (const std::exception& error) {
    throw std::runtime_error("is no record of a memorisation study: " + plain_sentence(error));
  }
}

std::vector<MemorisationSeries> series_of(const MemorisationStudy& study,
                                          const std::vector<MemorisationRecord>& records) {
  std::vector<MemorisationSeries> all;
  for (const bool goldfish : {false, true}) {
    for (const SizedModel& model : study.models) {
      MemorisationSeries series{model.name, 0.0, goldfish, {}, {}, {}};
      for (std::size_t b = 0; b < study.repetitions.size(); ++b) {
        std::vector<double> percent;
        for (const MemorisationRecord& record : records) {
          if (record.model != model.name || record.goldfish != goldfish) continue;
          series.parameters = record.parameters;
          percent.push_back(100.0 * static_cast<double>(record.matches.at(b)) /
                            static_cast<double>(study.documents));
        }
        if (percent.empty()) break;
        double sum = 0.0;
        for (const double one : percent) sum += one;
        series.mean.push_back(sum / static_cast<double>(percent.size()));
        series.low.push_back(std::ranges::min(percent));
        series.high.push_back(std::ranges::max(percent));
      }
      if (!series.mean.empty()) all.push_back(series);
    }
  }
  return all;
}

namespace {

std::string series_name(const MemorisationSeries& series) {
  return fmt::format("{}, {:.2f} million parameters{}", series.model, series.parameters / 1e6,
                     series.goldfish ? ", Goldfish" : "");
}

bool rises(const std::vector<double>& percent) {
  return std::ranges::is_sorted(percent) && percent.back() > percent.front();
}

const MemorisationSeries& largest(const std::vector<MemorisationSeries>& all) {
  return *std::ranges::max_element(all, {}, &MemorisationSeries::parameters);
}

// Sentences about one kind of loss.
std::string findings(const MemorisationStudy& study, const std::vector<MemorisationSeries>& plain,
                     const std::vector<MemorisationSeries>& goldfish) {
  std::string text;
  for (const MemorisationSeries& series : plain) {
    text += fmt::format("{}: matches {} with repetitions\n", series_name(series),
                        rises(series.mean) ? "rise" : "do not rise throughout");
  }
  const MemorisationSeries& most = largest(plain);
  const auto smaller = std::ranges::min_element(plain, {}, &MemorisationSeries::parameters);
  text +=
      fmt::format("at {} repetitions the largest model completes {:.1f} %, the smallest {:.1f} %\n",
                  study.repetitions.back(), most.mean.back(), smaller->mean.back());
  if (study.repetitions.front() == 0) {
    double control = 0.0;
    for (const MemorisationSeries& series : plain) control = std::max(control, series.mean.front());
    text += fmt::format("documents that nobody has trained on are completed at {:.1f} % at most\n",
                        control);
  }
  if (goldfish.empty()) return text;
  const MemorisationSeries& kept = largest(goldfish);
  return text +
         fmt::format("with Goldfish loss (k {}, h {}) the largest model completes {:.1f} %\n",
                     study.goldfish_k, study.goldfish_h, kept.mean.back());
}

}  // namespace

std::string memorisation_csv(const MemorisationStudy& study,
                             const std::vector<MemorisationSeries>& series) {
  std::string text = "series,goldfish,place,repetitions,percent,low,high\n";
  for (const MemorisationSeries& one : series) {
    MemorisationSeries named = one;
    named.model = csv_cell(one.model);
    for (std::size_t b = 0; b < one.mean.size(); ++b) {
      text += fmt::format("\"{}\",{},{},{},{:.2f},{:.2f},{:.2f}\n", series_name(named),
                          one.goldfish ? 1 : 0, b, study.repetitions[b], one.mean[b], one.low[b],
                          one.high[b]);
    }
  }
  return text;
}

std::string memorisation_table(const MemorisationStudy& study,
                               const std::vector<MemorisationSeries>& series) {
  std::string text = fmt::format(
      "{}\n\nDocuments of {} bytes whose last {} the model writes word for word, in % of {} a "
      "bucket:\n"
      "mean over {} (least - most)\n\n{:46}",
      study.title, study.document_tokens, study.ending_tokens, study.documents,
      counted(std::ssize(study.seeds), "seed"), "repetitions");
  for (const std::int64_t times : study.repetitions) text += fmt::format("{:>18}", times);
  text += "\n";
  std::vector<MemorisationSeries> plain, goldfish;
  for (const MemorisationSeries& one : series) {
    text += fmt::format("{:46}", series_name(one));
    for (std::size_t b = 0; b < one.mean.size(); ++b) {
      text += fmt::format(
          "{:>18}", fmt::format("{:.1f} ({:.0f} - {:.0f})", one.mean[b], one.low[b], one.high[b]));
    }
    text += "\n";
    (one.goldfish ? goldfish : plain).push_back(one);
  }
  return plain.empty() ? text : text + "\n" + findings(study, plain, goldfish);
}

}  // namespace fourfold::inline scaling::inline study
