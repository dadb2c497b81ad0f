// The names of a campaign's points: none stands twice, and those that are called alike are alike.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "scaling/study/campaign.hpp"

namespace fourfold::inline scaling::inline study {

// Tables and curves call a point by its machine, devices, model, system and label.
class PointNames {
 public:
  // The next point. Throws std::runtime_error if it has been there, which would be one record and
  // two rows; if one of the same name differs in what else decides its seconds; or one of the same
  // curve, which may be on other devices, in machine or model; or if a model of the same name, on
  // whatever machine, is another one.
  void add(const Question& question, const PointTag& tag);
  std::size_t size() const { return number_; }

 private:
  // A point, and what must be as it is in all that are called so.
  struct Named {
    std::size_t number = 0;
    nlohmann::json rest;
  };
  using Known = std::map<std::string, Named>;
  static void refuse_other(const std::string& name, const Named& now, Known& known);

  std::map<std::string, std::size_t> number_of_;  // of what is asked, with the repetition
  Known models_, curves_, points_;
  std::size_t number_ = 0;
};

}  // namespace fourfold::inline scaling::inline study
