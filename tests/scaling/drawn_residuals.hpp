// Runs that were measured, drawn: sources that differ in their number of runs and in what these are
// like.
#pragma once

#include <string>
#include <vector>

#include "scaling/bars/residuals.hpp"
#include "tests/drawn_steps.hpp"

namespace fourfold::tests {

inline double one_to_two(const Draw& draw, const std::string& what) {
  return 1.0 + 0.001 * static_cast<double>(draw.below(what, 1000));
}

inline std::vector<Residual> drawn_residuals(int sources) {
  std::vector<Residual> all;
  for (int source = 0; source < sources; ++source) {
    const Draw draw(source, 10);
    const std::int64_t runs = 1 + draw.below("runs", 5);
    for (std::int64_t i = 0; i < runs; ++i) {
      const std::string of = std::to_string(i);
      Residual one;
      one.source = "source " + std::to_string(source);
      one.id = one.source + " run " + of;
      one.like = {draw.of<std::string>("processor" + of, {"A", "A", "B"}),
                  draw.of("parallelism" + of,
                          {Parallelism::pipelined, Parallelism::sharded, Parallelism::whole})};
      one.ratio = 0.7 * one_to_two(draw, "ratio" + of);
      one.choice = one.source + draw.of<std::string>("choice" + of, {" x", " y"});
      one.configuration = one.source + " " + std::to_string(draw.below("configuration" + of, 3));
      all.push_back(one);
    }
  }
  return all;
}

}  // namespace fourfold::tests
