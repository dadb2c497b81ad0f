// What a training job of others is started with: the arguments of Megatron-LM, or a .yml of
// GPT-NeoX, as words by name; and the model that they speak of.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "schedule/models/foreign_config.hpp"

namespace fourfold::inline schedule::inline models {

// Whether a text is arguments, of which each begins with "--", or the path of a .yml.
bool says_launch(const std::string& text);

class LaunchWords {
 public:
  // Of arguments, "--num-layers 24 --bf16" say, or of the file at a path. Throws
  // std::runtime_error if it cannot be read.
  explicit LaunchWords(const std::string& text_or_path);

  static bool is_yml(const std::string& text);
  bool is_neox() const { return neox_; }
  std::string name() const;  // of the file, or "megatron"
  bool has(const std::string& name) const { return words_.contains(name); }
  // Of the first name that is there; `usual` if none is. These throw std::runtime_error with a
  // sentence where a value is none of its kind.
  std::int64_t number(const std::vector<std::string>& names, std::int64_t usual) const;
  double real(const std::vector<std::string>& names, double usual) const;
  std::string word(const std::vector<std::string>& names, const std::string& usual) const;
  bool flag(const std::string& name, bool usual = false) const;
  [[noreturn]] void refuse(const std::string& why) const;
  // What nobody has asked for, but for what changes no time of a step, such as the learning rate.
  std::vector<std::string> not_asked() const;

 private:
  void take_arguments(const std::string& text);
  void take_yml(const std::string& text);

  bool neox_;
  std::string from_;
  std::map<std::string, std::string> words_;  // names with '-' for '_', tables' before a '.'
  mutable std::set<std::string> asked_;
};

// Throws std::runtime_error with a sentence where it is no model that is known here.
ForeignModel model_in_launch(const LaunchWords& words);

}  // namespace fourfold::inline schedule::inline models
