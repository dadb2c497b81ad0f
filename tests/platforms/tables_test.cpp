// The optional tables and keys of a machine file, with numbers of which no two are alike: where
// each ends, what stands in their place when they are left out, and what a factor on them reaches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "platforms/operation.hpp"
#include "platforms/platform.hpp"
#include "tests/platforms/written_machine.hpp"

namespace fourfold::tests {
namespace {

std::string product(const std::string& form, int m, int k, int n, double rate) {
  return fmt::format("{{ form = \"{}\", m = {}, k = {}, n = {}, rate_Tflops = {} }}, ", form, m, k,
                     n, rate);
}

// Two m, one k and three n, in an order of its own.
std::string nn_products() {
  std::string rows;
  for (int n : {40, 10, 20}) {
    for (int m : {64, 16}) rows += product("NN", m, 100, n, m + n / 100.0);
  }
  return rows;
}

WrittenMachine with_table(const std::string& path, const std::string& rows) {
  WrittenMachine machine;
  machine.others = list(path, rows);
  return machine;
}

TEST(Tables, OfProductsAreGridsByForm) {
  const std::string tn = product("TN", 3, 5, 7, 9.5) + product("TN", 3, 6, 7, 8.5);
  const Processor processor = with_table("processor.products", nn_products() + tn).read().processor;

  const ProductGrid& nn = processor.products[0];
  EXPECT_EQ(nn.m, (std::vector<double>{16, 64}));
  EXPECT_EQ(nn.k, (std::vector<double>{100}));
  EXPECT_EQ(nn.n, (std::vector<double>{10, 20, 40}));
  ASSERT_EQ(nn.rates.size(), 6U);
  for (std::size_t m = 0; m < 2; ++m) {
    for (std::size_t n = 0; n < 3; ++n) {
      EXPECT_DOUBLE_EQ(nn.rates[m * 3 + n].value, (nn.m[m] + nn.n[n] / 100.0) * 1e12);
    }
  }
  EXPECT_TRUE(processor.products[1].empty());
  EXPECT_EQ(processor.products[2].k, (std::vector<double>{5, 6}));
  EXPECT_DOUBLE_EQ(processor.products[2].rates[0].value, 9.5e12);
  EXPECT_DOUBLE_EQ(processor.products[2].rates[1].value, 8.5e12);
}

void expect_edges_of_rows(const std::string& path, const std::vector<Edge>& edges) {
  expect_edges([&](const std::string& rows) { return with_table(path, rows).said(); }, edges);
}

TEST(Tables, OfProductsThatAreNoGridsAreRefused) {
  const std::string each = "but a row for each combination of their m, k and n would be ";
  expect_edges_of_rows(
      "processor.products",
      {{nn_products(), ""},
       {nn_products() + product("NN", 16, 100, 40, 1), "m NN-16x100x40 stands twice"},
       {nn_products() + product("NN", 16, 101, 40, 1), "has 7 rows of form NN, " + each + "12"},
       {product("NT", 4, 4, 4, 1) + product("NT", 5, 5, 4, 1), "2 rows of form NT, " + each + "4"},
       {product("TT", 4, 4, 4, 1), "form is \"TT\", but it must be NN, NT or TN"},
       {product("NN", 0, 4, 4, 1), "processor.products.m is 0, but it must be at least 1"},
       {product("NN", 4, -1, 4, 1), "k is -1, but it must be from 0 to 1000000000000"},
       {product("NN", 4, 4, 0, 1), "processor.products.n is 0, but it must be at least 1"},
       {product("NN", 1, 1, 1, 200), ""},
       {product("NN", 1, 1, 1, 201), "rate_Tflops is 201, above the advertised peak of 200"}});
}

TEST(Tables, OfAttentionAndCrowdingAreReadRowByRow) {
  WrittenMachine machine;
  machine.others =
      list("processor.attention",
           "{ sequence = 1, forward_Tflops = 31, backward_Tflops = 21 }, "
           "{ sequence = 64, forward_Tflops = 33, backward_Tflops = 23 }") +
      list("node.crowding", "{ devices = 1, slowdown = 1.5 }, { devices = 3, slowdown = 0.75 }");
  const Platform platform = machine.read({{"processor.attention.64.backward_Tflops", 2.0},
                                          {"processor.attention.forward_Tflops", 0.5},
                                          {"node.crowding.slowdown", 2.0}});

  const auto& attention = platform.processor.attention;
  ASSERT_EQ(attention.size(), 2U);
  EXPECT_EQ(attention[0].sequence, 1);
  EXPECT_EQ(attention[1].sequence, 64);
  EXPECT_DOUBLE_EQ(attention[0].forward.value, 15.5e12);
  EXPECT_DOUBLE_EQ(attention[1].forward.value, 16.5e12);
  EXPECT_DOUBLE_EQ(attention[0].backward.value, 21e12);
  EXPECT_DOUBLE_EQ(attention[1].backward.value, 46e12);
  ASSERT_EQ(platform.node.crowding.size(), 2U);
  EXPECT_EQ(platform.node.crowding[1].devices, 3);
  EXPECT_DOUBLE_EQ(platform.node.crowding[0].slowdown, 3.0);
  EXPECT_DOUBLE_EQ(platform.node.crowding[1].slowdown, 1.5);
}

TEST(Tables, OfAttentionAndCrowdingMustAscendFromOne) {
  for (const auto& [path, key, rest] :
       {std::tuple{"processor.attention", "sequence", "forward_Tflops = 3, backward_Tflops = 2"},
        {"node.crowding", "devices", "slowdown = 1"}}) {
    const auto rows = [key = key, rest = rest](int first, int second) {
      return fmt::format("{{ {0} = {1}, {2} }}, {{ {0} = {3}, {2} }}", key, first, rest, second);
    };
    const auto ascend = [path = path, key = key](int wrong) {
      return fmt::format("{}.{} is {}, but rows must ascend from 1 on", path, key, wrong);
    };
    expect_edges_of_rows(path, {{rows(1, 2), ""},
                                {rows(0, 2), ascend(0)},
                                {rows(2, 2), ascend(2)},
                                {rows(3, 2), ascend(2)}});
  }
}

std::string measured(const std::string& kind, int members, int devices, double bytes, double time) {
  return fmt::format("{{ kind = \"{}\", members = {}, devices = {}, bytes = {}, time_us = {} }}, ",
                     kind, members, devices, bytes, time);
}

TEST(Tables, OfMeasuredCollectivesAreListsByGroup) {
  const std::string rows =
      measured("all-gather", 2, 2, 1, 11) + measured("all-gather", 2, 2, 64, 12) +
      measured("all-gather", 2, 4, 32, 13) + measured("all-gather", 4, 4, 16, 14) +
      measured("reduce-scatter", 4, 4, 16, 15) + measured("all-reduce", 4, 4, 16, 16) +
      measured("send", 2, 4, 16, 17);
  const std::vector<MeasuredCollectives> all =
      with_table("library.measured", rows)
          .read({{"library.measured.send-2-4-16.time_us", 2.0}})
          .library.measured;

  std::vector<std::string> groups;
  for (const MeasuredCollectives& one : all) {
    std::string text = fmt::format("{} {} {}:", name(one.kind), one.members, one.devices);
    for (const auto& row : one.rows) text += fmt::format(" {} in {:g}", row.bytes, row.time.value);
    groups.push_back(text);
  }
  EXPECT_EQ(groups,
            (std::vector<std::string>{
                "all-gather 2 2: 1 in 1.1e-05 64 in 1.2e-05", "all-gather 2 4: 32 in 1.3e-05",
                "all-gather 4 4: 16 in 1.4e-05", "reduce-scatter 4 4: 16 in 1.5e-05",
                "all-reduce 4 4: 16 in 1.6e-05", "send 2 4: 16 in 3.4e-05"}));
}

TEST(Tables, OfMeasuredCollectivesRefuseGroupsThatAreNone) {
  const std::string sound = measured("send", 2, 2, 8, 1);
  const std::string group = ", but a group has 2 to all of the 2 devices that are busy, or so many";
  const std::string ascend = ", but rows must ascend from 1 on";
  expect_edges_of_rows("library.measured",
                       {{sound, ""},
                        {measured("send", 1, 2, 1, 1), "library.measured.members is 1" + group},
                        {measured("send", 3, 2, 1, 1), "library.measured.members is 3" + group},
                        {measured("send", 2, 2, 0, 1), "library.measured.bytes is 0" + ascend},
                        {sound + sound, "library.measured.bytes is 8" + ascend},
                        {sound + measured("all-reduce", 2, 2, 8, 1), ""},
                        {sound + measured("all-reduce", 2, 2, 8, 1) + measured("send", 2, 2, 9, 1),
                         "send of 2 members and 2 devices stands in two places; rows of one kind"},
                        {measured("scan", 2, 2, 8, 1),
                         "kind is \"scan\", but it must be all-gather, reduce-scatter, all-reduce, "
                         "send, all-to-all, all-to-all-v, broadcast or neighbour-exchange"}});
}

// Each optional key of the processor and of a protocol alone, and none.
TEST(OptionalKeys, AreTheirDefaultsWhereTheyAreLeftOut) {
  const Platform plain = WrittenMachine().read();
  const Processor& processor = plain.processor;

  EXPECT_FALSE(processor.flash_1 || processor.flash_3 || processor.tiles || processor.host_link);
  EXPECT_EQ(processor.spread, 0.0);
  EXPECT_TRUE(processor.attention.empty());
  EXPECT_EQ(plain.library.simple.ring_base_factor, 1.0);
  EXPECT_EQ(plain.library.simple.bandwidth_exponent_across, 1.0);
  EXPECT_EQ(plain.library.sharing_a_node, 4);
  EXPECT_EQ(plain.default_software, "fused");
  EXPECT_EQ(plain.name, "AreTheirDefaultsWhereTheyAreLeftOut-written");
  const MachineOperation operation = operation_of(plain);
  EXPECT_FALSE(operation.node_power || operation.node_failures || operation.file_system);
}

// A factor reaches every row of a list that is named without a row's label, or one row alone.
TEST(Tables, OfProductsAreScaledAsAWholeOrByRow) {
  const WrittenMachine machine = with_table("processor.products", nn_products());

  const Processor as_written = machine.read().processor;
  const Processor whole = machine.read({{"processor.products.rate_Tflops", 2.0}}).processor;
  const Processor row =
      machine.read({{"processor.products.NN-16x100x20.rate_Tflops", 2.0}}).processor;

  for (std::size_t i = 0; i < 6; ++i) {
    const double rate = as_written.products[0].rates[i].value;
    EXPECT_DOUBLE_EQ(whole.products[0].rates[i].value, 2.0 * rate);
    EXPECT_DOUBLE_EQ(row.products[0].rates[i].value, i == 1 ? 2.0 * rate : rate);
  }
}

TEST(OptionalKeys, AreReadAndScaled) {
  WrittenMachine machine;
  machine.processor = "attention_flash_1 = " + number("0.5") +
                      "\nattention_flash_3 = " + number("1.75") +
                      "\nhost_link_GBps = " + number("55") + "\nspread = " + number("0.02") +
                      "\ncompute_units = " + number("108") + "\ntile_edge = " + number("64") +
                      "\nproduct_start = " + number("0") + "\n";
  machine.simple = "ring_base_factor = " + number("0.75") +
                   "\nbandwidth_exponent_across = " + number("0.5") + "\n";
  machine.others = "[operation]\nnode_power_W = " + number("7000") +
                   "\nnode_failures_per_day = " + number("0.01") +
                   "\nfile_system_write_GBps = " + number("900") + "\n";
  const Platform platform = machine.read({{"operation.node_power_W", 2.0},
                                          {"processor.spread", 0.5},
                                          {"library.simple.ring_base_factor", 2.0}});

  const Processor& processor = platform.processor;
  EXPECT_EQ(processor.flash_1, 0.5);
  EXPECT_EQ(processor.flash_3, 1.75);
  EXPECT_DOUBLE_EQ(processor.host_link->value, 55e9);
  EXPECT_DOUBLE_EQ(processor.spread, 0.01);
  EXPECT_EQ(processor.tiles->units, 108);
  EXPECT_EQ(processor.tiles->edge, 64);
  EXPECT_EQ(processor.tiles->start_up, 0.0);
  EXPECT_EQ(platform.library.simple.ring_base_factor, 1.5);
  EXPECT_EQ(platform.library.simple.bandwidth_exponent_across, 0.5);
  EXPECT_EQ(platform.library.low_latency.ring_base_factor, 1.0);
  const MachineOperation operation = operation_of(platform);
  EXPECT_EQ(operation.node_power->value, 14000);
  EXPECT_EQ(operation.node_failures->value, 0.01);
  EXPECT_EQ(operation.file_system->value, 900);
  int of_operation = 0;
  for (const Fact& fact : platform.facts) of_operation += is_of_operation(fact) ? 1 : 0;
  EXPECT_EQ(of_operation, 3);
}

// Where a key may be 0, the least that is refused is below it; where it may not, 0 is.
TEST(OptionalKeys, MayBeWhatTheirRangeSays) {
  const auto key = [](const std::string& name, const std::string& value) {
    return name + " = " + number(value) + "\n";
  };
  const std::string positive = " is 0, but it must be greater than 0";
  expect_edges(&WrittenMachine::processor,
               {{key("spread", "0"), ""},
                {key("spread", "1"), "spread is 1, but it must be 0 or more and less than 1"},
                {key("attention_flash_1", "0"), "processor.attention_flash_1" + positive},
                {key("host_link_GBps", "0"), "processor.host_link_GBps" + positive},
                // Of tiles, three come together.
                {key("compute_units", "108"), "is missing"},
                {key("tile_edge", "64"), "is missing"},
                {key("product_start", "9"), "is missing"}});
  expect_edges(&WrittenMachine::simple,
               {{key("ring_base_factor", "0"), "library.simple.ring_base_factor" + positive},
                {key("ring_base_factor", "3"), ""},
                {key("bandwidth_exponent_across", "1"), ""},
                {key("bandwidth_exponent_across", "1.1"),
                 "is 1.1, but it must be greater than 0 and at most 1"}});
  for (const char* name : {"node_power_W", "node_failures_per_day", "file_system_write_GBps"}) {
    expect_edges(&WrittenMachine::others,
                 {{"[operation]\n" + key(name, "0"), "operation." + (name + positive)}});
  }
}

TEST(GlobalBandwidth, ReachesTheLinksAboveTheSecondLastTier) {
  WrittenMachine machine;
  machine.network = "kind = \"fat-tree\"\nlink_bandwidth_GBps = " + number("40") +
                    "\nrails = " + number("1") + "\n" +
                    list("network.tiers",
                         "{ tier = 1, members = 3, oversubscription = 1.5 }, "
                         "{ tier = 2, members = 2, oversubscription = 4 }, "
                         "{ tier = 3, members = 2 }");
  const auto network =
      std::get<FatTreeNetwork>(machine.read({{"network.global_bandwidth", 2.0}}).network);

  EXPECT_EQ(network.tiers[0].oversubscription, 1.5);
  EXPECT_EQ(network.tiers[1].oversubscription, 2.0);
  EXPECT_EQ(network.tiers[2].oversubscription, 1.0);
}

// Links between groups are as fast as the others unless a file says otherwise, whichever is scaled.
TEST(GlobalBandwidth, OfADragonflyMultipliesWhatTheFileSays) {
  const auto network = [](const std::string& own, const Scales& scales) {
    WrittenMachine machine;
    machine.network =
        "kind = \"dragonfly\"\ngroups = " + number("3") + "\nswitches_per_group = " + number("5") +
        "\nnodes_per_group = " + number("4") + "\nlinks_per_group_pair = " + number("2") +
        "\nlink_bandwidth_GBps = " + number("20") + "\n" +
        (own.empty() ? "" : "global_link_bandwidth_GBps = " + number(own) + "\n") +
        "local_detours = " + number("3") + "\nglobal_detours = " + number("1") + "\n";
    return std::get<DragonflyNetwork>(machine.read(scales).network);
  };
  EXPECT_EQ(network("", {}).global_link_bandwidth.value, 20e9);
  EXPECT_EQ(network("50", {}).global_link_bandwidth.value, 50e9);
  EXPECT_EQ(network("50", {}).link_bandwidth.value, 20e9);
  const Scales both{{"network.global_bandwidth", 0.5}, {"network.link_bandwidth_GBps", 3.0}};
  EXPECT_EQ(network("", both).global_link_bandwidth.value, 30e9);
  EXPECT_EQ(network("50", both).global_link_bandwidth.value, 25e9);
  EXPECT_EQ(network("50", both).link_bandwidth.value, 60e9);
  EXPECT_EQ(network("50", {{"network.global_link_bandwidth_GBps", 2.0}}).link_bandwidth.value,
            20e9);
}

}  // namespace
}  // namespace fourfold::tests
