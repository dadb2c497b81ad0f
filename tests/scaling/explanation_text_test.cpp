// What people read about a tiny step on the crossbar, word for word, and the same as JSON.
#include "scaling/text/explanation_text.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/paths.hpp"

namespace fourfold::tests {
namespace {

Explanation tiny() {
  Point point;
  point.platform = "crossbar";
  point.model = {"gpt-tiny", 4, 1024, 8, 256, 4096};
  point.grid = {2, 2, 2, 2};
  point.global_batch = 64;
  point.options.micro_batches = 2;
  return explain_step(point, read_platform(point.platform), std::nullopt);
}

TEST(ExplanationText, IsTheGoldenOne) {
  std::ifstream file(source_path("tests/golden/explanation_gpt-tiny.txt"));
  std::stringstream golden;
  golden << file.rdbuf();

  EXPECT_EQ(explanation_text(tiny()), golden.str());
}

TEST(ExplanationText, AsJsonSumsToTheStep) {
  const nlohmann::json json = json_of(tiny());

  double sum = 0.0;
  for (const auto& part : json.at("critical_path_s").items()) sum += part.value().get<double>();

  EXPECT_NEAR(sum, json.at("total_s").get<double>(), 1e-12);
  EXPECT_EQ(json.at("lanes").size(), tiny().outcome.channels.size());
  EXPECT_EQ(json.at("verdict").get<std::string>(), tiny().verdict());
}

}  // namespace
}  // namespace fourfold::tests
