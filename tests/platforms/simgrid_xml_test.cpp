// The exported platform file: what its routes cross, and in which direction.
#include "platforms/show/simgrid_xml.hpp"

#include <gtest/gtest.h>

#include <regex>

#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold::tests {
namespace {

// The links of a route, one after the other; the first stands for its latency.
std::string route_of(const std::string& xml, const std::string& from, const std::string& to) {
  const std::string head = "<route src=\"" + from + "\" dst=\"" + to + "\" symmetrical=\"NO\">";
  const std::size_t begin = xml.find(head) + head.size();
  const std::string route = xml.substr(begin, xml.find("</route>", begin) - begin);
  return std::regex_replace(route, std::regex("<link_ctn id=\"([^\"]*)\"/>"), "$1; ");
}

TEST(SimgridXml, RoutesLeaveTheSenderAndEnterTheReceiver) {
  const std::string xml = simgrid_xml(perlmutter(), 8);

  EXPECT_EQ(route_of(xml, "device-1", "device-6"),
            "latency 1; node 0 nic 1 out; group 0 switch 1 -&gt; switch 2; node 1 nic 2 in; ");
  EXPECT_EQ(route_of(xml, "device-2", "device-0"), "latency 2; node 0 device 2 -&gt; device 0; ");
}

}  // namespace
}  // namespace fourfold::tests
