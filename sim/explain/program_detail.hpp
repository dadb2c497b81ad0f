// What a timed program was lowered from: the names and seconds of its kernels and posts, step by
// step, for those who explain a time or draw it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "schedule/fold/names.hpp"
#include "sim/cost/timed_program.hpp"
#include "sim/question/point.hpp"

namespace fourfold::inline sim::inline explain {

// What a timed program was lowered from, kernel by kernel.
class ProgramDetail {
 public:
  // Throws std::logic_error if `program` is not the point's.
  ProgramDetail(const Point& point, const Platform& platform, const TimedProgram& program);

  struct Kernel {
    std::int32_t name = -1;
    Seconds time;
  };
  // Of a compute step; empty for others.
  const std::vector<Kernel>& kernels(std::int32_t step) const { return kernels_.at(step); }
  std::int32_t post_name(std::int32_t step) const { return post_names_.at(step); }
  const std::vector<std::string>& names() const { return names_; }
  // Those of all stages, one after the other.
  const std::vector<NamedSection>& sections() const { return sections_; }
  std::int32_t first_section(std::int64_t stage) const { return first_sections_.at(stage); }
  // By how many micro-batches the rounds of a cycle differ, whose sections are said once; 0 where
  // each round has its own.
  std::int64_t micro_batches(std::size_t cycle) const { return micro_batches_.at(cycle); }
  const TimedProgram& program() const { return program_; }
  // Spans of a timeline with every repetition, roughly.
  std::int64_t span_count() const;

 private:
  // Names the steps of a body, which follow those that were paired before.
  class Pairing;
  void add(const NamedStep& step, std::size_t body, const std::vector<Seconds>& times,
           Pairing& pairing);
  std::int32_t number(const std::string& name);

  const TimedProgram& program_;
  std::vector<std::vector<Kernel>> kernels_;  // by step
  std::vector<std::int32_t> post_names_;      // by step
  std::vector<std::string> names_;
  std::vector<NamedSection> sections_;
  std::vector<std::int32_t> first_sections_;  // by stage
  std::vector<std::int64_t> micro_batches_;   // by cycle
};

}  // namespace fourfold::inline sim::inline explain
