// Joins answers with published rows; see study.hpp.
#include "scaling/study/study.hpp"

#include <algorithm>
#include <filesystem>

namespace fourfold {
namespace {

// Flop/s per device of the machine's smallest point.
double smallest_rate_per_device(const std::vector<Record>& records, const std::string& machine) {
  const Record* smallest = nullptr;
  for (const Record& record : records) {
    if (machine_name(record.point.platform) != machine) continue;
    if (smallest == nullptr || record.devices() < smallest->devices()) smallest = &record;
  }
  return smallest->rate().value / static_cast<double>(smallest->devices());
}

}  // namespace

std::optional<double> StudyRow::deviation() const {
  if (!published) return std::nullopt;
  return record.seconds() / *published - 1.0;
}

std::string machine_name(const std::string& platform) {
  return std::filesystem::path(platform).stem().string();
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
    row.given = record.tried == 1;
    const double devices = static_cast<double>(record.devices());
    row.ideal_rate = {smallest_rate_per_device(records, row.machine) * devices};
    if (!tags.empty()) {
      const PointTag& tag = tags.at(study.rows.size());
      row.label = tag.label;
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
  return study;
}

Study with_twins(const Study& study) {
  Study whole = study;
  const auto labelled = [](const std::string& label, const char* rung) {
    return label.empty() ? rung : label + ", " + rung;
  };
  for (StudyRow& row : whole.rows) {
    if (row.record.measured) row.label = labelled(row.label, "measured");
  }
  for (const StudyRow& row : study.rows) {
    if (!row.twin || row.repetition > 1) continue;
    StudyRow twin = row;
    twin.record = *row.twin;
    twin.label = labelled(row.label, "simulated");
    twin.twin.reset();
    whole.rows.push_back(twin);
  }
  return whole;
}

std::vector<std::string> machines(const Study& study) {
  std::vector<std::string> names;
  for (const StudyRow& row : study.rows) {
    if (std::find(names.begin(), names.end(), row.machine) == names.end()) {
      names.push_back(row.machine);
    }
  }
  return names;
}

}  // namespace fourfold
