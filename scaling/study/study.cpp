// Joins answers with published rows; see study.hpp.
#include "scaling/study/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "scaling/study/sweep.hpp"
#include "scaling/words/machine_name.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

std::vector<std::string> unmatched_rows(const Published& published, const Campaign& campaign) {
  std::set<const PublishedRow*> met;
  for (std::size_t i = 0; i < campaign.questions.size(); ++i) {
    const Question& question = campaign.questions[i];
    const std::string label = campaign.tags.empty() ? "" : campaign.tags[i].label;
    met.insert(published.row(machine_name(question.platform), question.model.name, question.devices,
                             label));
  }
  std::vector<std::string> words;
  for (const PublishedRow& row : published.rows) {
    if (!met.contains(&row)) words.push_back(row.words());
  }
  return words;
}

}  // namespace

std::string label_with_value(const PointTag& tag) {
  // The label of a sweep over one key has its value in it.
  const bool shown = !tag.value || tag.label != tag.line;
  return shown ? tag.label : fmt::format("{}, {:g}", tag.label, *tag.value);
}

std::string label_with_value(const StudyRow& row) {
  return label_with_value(PointTag{row.label, row.value, row.repetition, row.line});
}

bool several_models(const Study& study) {
  std::map<std::int64_t, std::string> first;
  return std::ranges::any_of(study.rows, [&](const StudyRow& row) {
    const std::string& model = row.record.point.model.name;
    return first.emplace(row.record.devices(), model).first->second != model;
  });
}

bool several_systems(const Study& study) {
  const auto other = [&](const std::string& system) {
    return system != study.rows.front().record.system;
  };
  return std::ranges::any_of(study.rows,
                             [&](const StudyRow& row) { return other(row.record.system); }) ||
         (!study.rows.empty() && std::ranges::any_of(study.unfit, other, &UnfitPoint::system));
}

std::vector<std::string> series_of(const Study& study) {
  const bool several = several_systems(study);
  std::vector<std::string> names;
  std::map<std::string, std::set<std::string>> models;
  std::map<std::pair<std::string, std::int64_t>, std::set<std::string>> of_devices;
  for (const StudyRow& row : study.rows) {
    names.push_back(
        joined(joined(row.machine, several ? row.record.system : ""), label_with_value(row)));
    const std::string& model = row.record.point.model.name;
    models[names.back()].insert(model);
    of_devices[{names.back(), row.record.devices()}].insert(model);
  }
  std::set<std::string> growing;  // another model on other devices
  for (const auto& [name, trained] : models) {
    if (trained.size() > 1) growing.insert(name);
  }
  for (const auto& [point, trained] : of_devices) {
    if (trained.size() > 1) growing.erase(point.first);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (growing.contains(names[i])) continue;
    names[i] = fmt::format("{} on {}", study.rows[i].record.point.model.name, names[i]);
  }
  return names;
}

std::optional<double> StudyRow::deviation() const {
  if (!published) return std::nullopt;
  return record.seconds() / *published - 1.0;
}

Study make_study(const Campaign& campaign, const std::vector<Record>& records,
                 const std::vector<PointTag>& tags) {
  Study study{campaign.title, {}, {}, campaign.tokens, campaign.axis};
  Published published;
  if (!campaign.published.empty()) published = read_published(campaign.published);
  study.published_source = published.source;
  for (const Record& record : records) {
    StudyRow row;
    row.machine = machine_name(record.point.platform);
    row.record = record;
    row.given = record.tried == 1;  // who asked says better, see study_of
    if (!tags.empty()) {
      const PointTag& tag = tags.at(study.rows.size());
      row.label = tag.label;
      row.line = tag.line;
      row.rest = tag.rest;
      row.stated = tag.stated;
      row.value = tag.value;
      row.repetition = tag.repetition;
    }
    const PublishedRow* other =
        published.row(row.machine, record.point.model.name, record.devices(), row.label);
    if (other != nullptr) {
      row.derived = !other->seconds.has_value();
      row.published = row.derived ? record.model_flops / *other->rate : *other->seconds;
      row.published_rate = other->rate;
    }
    study.rows.push_back(row);
  }
  study.unmatched = unmatched_rows(published, campaign);
  return study;
}

namespace {

void name_all(StudyRow& row, const std::string& word) {
  row.label = row.line = joined(row.label, word);
  row.rest = joined(row.rest, word);
}

}  // namespace

Study with_twins(const Study& study) {
  Study whole = study;
  for (StudyRow& row : whole.rows) {
    if (row.record.measured) name_all(row, "measured");
  }
  for (const StudyRow& row : study.rows) {
    if (!row.twin || row.repetition > 1) continue;
    StudyRow twin = row;
    twin.record = *row.twin;
    name_all(twin, "simulated");
    twin.twin.reset();
    whole.rows.push_back(twin);
  }
  return whole;
}

std::vector<std::string> different(const Study& study,
                                   const std::function<std::string(const StudyRow&)>& word_of) {
  std::vector<std::string> words;
  for (const StudyRow& row : study.rows) {
    const std::string word = word_of(row);
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
  return words;
}

std::vector<std::string> machines(const Study& study) {
  return different(study, [](const StudyRow& row) { return row.machine; });
}

}  // namespace fourfold::inline scaling::inline study
