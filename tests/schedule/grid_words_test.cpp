// What is read as a grid and as an order of ranks, and what every other text hears; and who meets
// whom on each channel of a pipeline.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedule/program/channel.hpp"
#include "schedule/program/process_grid.hpp"
#include "schedule/program/rank_order.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;

std::string of_grid(const std::string& text) {
  return refusal([&] { ProcessGrid::parse(text); });
}

TEST(GridWords, ThatAreNoGridHearWhy) {
  const auto no = [](const std::string& text, const std::string& why) {
    EXPECT_EQ(of_grid(text), "'" + text + "' is no process grid: " + why);
  };
  const std::string four =
      "write four extents as XxYxZxDATA, such as 8x4x16x64, or name them, such as x=8,data=8,"
      "pipe=16";
  const std::string named = "write each extent with its axis, such as x=8,data=8,pipe=16";
  for (const char* text : {"", "8", "8x4x2", "8x4x2x1x1", "8x4x2x", "8x4x2x1 ", " 8x4x2x1",
                           "8X4X2X1", "8x4x2x-1", "x8x4x2x1", "8xx2x1", "8,4,2,1"}) {
    no(text, four);
  }
  for (const char* text : {"x=2,", "x=2,8", "x=2,y"}) no(text, named);
  for (const char* text : {"x=", "x=a", "x=-1", "x=2 ", "x=2;y=2", "x= 2", "x=,y=2"}) {
    no(text, "the extent of axis x must be a whole number");
  }
  for (const char* axis : {"w", "XX", "", " x", "pipes"}) {
    no(fmt::format("{}=2", axis),
       fmt::format("'{}' is no axis; the axes are x (or tp), y, z (or fsdp), data (or dp) and pipe "
                   "(or pp)",
                   axis));
  }
  no("y=2,x=3,y=2", "axis y stands there twice");
  no("fsdp=2,z=2", "axis z stands there twice");
  no("dp=1,data=2", "axis data stands there twice");
  no("x=2,data=0", "the extent of axis data is 0");
}

TEST(GridWords, ThatNameTooManyRanksAreRefused) {
  EXPECT_EQ(of_grid("1000000000x1x1x1"), "accepted");
  EXPECT_EQ(of_grid("1000x1000x1000x1"), "accepted");
  EXPECT_EQ(of_grid("x=10,data=100000000"), "accepted");
  for (const char* text : {"1000000001x1x1x1", "1000x1000x1000x2", "1x1x3x400000000",
                           "999999999999999999x999999999999999999x1x1"}) {
    EXPECT_EQ(of_grid(text), fmt::format("process grid: {} has more than 1000000000 ranks; no "
                                         "machine has so many",
                                         text));
  }
  EXPECT_EQ(of_grid("x=2,pipe=500000001"),
            "process grid: x=2,pipe=500000001 has more than 1000000000 ranks; no machine has so "
            "many");
  EXPECT_EQ(of_grid("8x0x2x1"), "process grid: extent of axis y is 0; it must be at least 1");
  EXPECT_EQ(refusal([] { ProcessGrid(1, 1, 1, 1, -3); }),
            "process grid: extent of axis pipe is -3; it must be at least 1");
}

// A text of each grid is read back as the grid, and names what is not 1 where there is a pipeline.
TEST(GridWords, AreThoseThatGridsSay) {
  for (std::int64_t number = 0; number < 3 * 3 * 3 * 3 * 3; ++number) {
    const auto digit = [&](int place) {
      std::int64_t rest = number;
      for (int i = 0; i < place; ++i) rest /= 3;
      return std::vector<std::int64_t>{1, 2, 12}[static_cast<std::size_t>(rest % 3)];
    };
    const ProcessGrid grid(digit(0), digit(1), digit(2), digit(3), digit(4));
    std::string named;
    for (Axis axis : all_axes) {
      if (grid.extent(axis) == 1) continue;
      named += fmt::format("{}{}={}", named.empty() ? "" : ",", name(axis), grid.extent(axis));
    }
    const bool pipe = grid.extent(Axis::pipe) > 1;
    const std::string four = fmt::format("{}x{}x{}x{}", digit(0), digit(1), digit(2), digit(3));

    EXPECT_EQ(grid.str(), pipe ? named : four);
    EXPECT_EQ(ProcessGrid::parse(grid.str()), grid);
    if (named.empty()) continue;
    EXPECT_EQ(ProcessGrid::parse(named), grid);
  }
}

TEST(RankOrderWords, ThatAreNoOrderHearWhy) {
  const auto heard = [](const std::string& text) {
    return refusal([&] { RankOrder::parse(text); });
  };
  EXPECT_EQ(heard(""), "'' is no order of ranks: it names no axis");
  for (const char* word : {"q", "XX", " y", ""}) {
    const std::string text = fmt::format("x,{},z", word);
    EXPECT_EQ(heard(text), fmt::format("'{}' is no order of ranks: '{}' is no axis; write such as "
                                       "x,y,z,pipe,data, neighbours first",
                                       text, word));
  }
  EXPECT_EQ(heard("z,fsdp"), "'z,fsdp' is no order of ranks: axis z stands there twice");
  EXPECT_EQ(RankOrder::parse("data").str(), "data,x,y,z,pipe");
  EXPECT_EQ(RankOrder::parse("pp,fsdp,tp,dp,y").str(), "pipe,z,x,data,y");
}

// Neighbours along an axis are as far apart as those axes before it have ranks, and each rank has a
// place of its own.
TEST(RankOrders, PutTheFirstAxissNeighboursNextToEachOther) {
  const ProcessGrid grid(2, 1, 3, 4, 5);
  for (const char* text : {"", "x,y,z,data,pipe", "pipe,x,data,z,y", "x,y,z,pipe,data"}) {
    const RankOrder order = *text == 0 ? RankOrder() : RankOrder::parse(text);
    EXPECT_EQ(order.as_numbered(), order == RankOrder()) << text;
    std::int64_t distance = 1;
    std::string axes = order.str() + ",";
    for (; !axes.empty(); axes.erase(0, axes.find(',') + 1)) {
      const Axis axis = *std::ranges::find_if(
          all_axes, [&](Axis one) { return axes.starts_with(std::string(name(one)) + ","); });
      EXPECT_EQ(order.distance(grid, axis), distance) << text;
      distance *= grid.extent(axis);
    }
    EXPECT_EQ(distance, grid.size());
    for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
      std::int64_t place = 0;
      for (Axis axis : all_axes) place += grid.coordinate(rank, axis) * order.distance(grid, axis);
      EXPECT_EQ(order.place(grid, rank), place) << text;
    }
  }
  EXPECT_EQ(RankOrder().str(), "x,y,z,data,pipe");
}

// Every message has one channel that joins its two stages and no other, the sender first.
TEST(MessageChannels, JoinTheTwoStagesOfEveryMessage) {
  for (std::int64_t stages = 2; stages <= 9; ++stages) {
    for (std::int64_t from = 0; from < stages; ++from) {
      const std::int64_t next = (from + 1) % stages, before = (from + stages - 1) % stages;
      const Channel forward = forward_from(from, stages), backward = backward_from(from);
      for (std::int64_t i = 0; i < stages; ++i) {
        const bool in_forward = i == from || i == next, in_backward = i == from || i == before;
        const std::vector<std::int64_t> ahead = group(forward, stages, i);
        const std::vector<std::int64_t> back = group(backward, stages, i);

        for (std::int64_t x : {0, 1}) {  // of two lines of stages, the one that the rank is on
          const std::vector<std::int64_t> on_line =
              group(forward, ProcessGrid(2, 1, 1, 1, stages), 2 * i + x);
          ASSERT_EQ(on_line.size(), ahead.size());
          for (std::size_t k = 0; k < ahead.size(); ++k) EXPECT_EQ(on_line[k], 2 * ahead[k] + x);
        }
        EXPECT_EQ(in_forward, ahead == std::vector<std::int64_t>({from, next})) << stages;
        EXPECT_EQ(in_backward, back == std::vector<std::int64_t>({from, before})) << stages;
        // Others have partners of their own on it, or none.
        for (const auto* others : {&ahead, &back}) {
          EXPECT_TRUE(others->empty() || others->size() == 2);
          const bool own = others->empty() || (*others)[0] == i || (*others)[1] == i;
          EXPECT_TRUE(own) << stages << " stages, " << i;
        }
      }
    }
  }
}

TEST(MessageChannels, OfTheEndsLeaveOutTheMiddle) {
  const Channel ends{Axis::pipe, "ends", Group::ends};
  for (std::int64_t stages = 2; stages <= 6; ++stages) {
    for (std::int64_t i = 0; i < stages; ++i) {
      const bool end = i == 0 || i == stages - 1;
      const std::vector<std::int64_t> both{0, stages - 1};
      EXPECT_EQ(group(ends, stages, i), end ? both : std::vector<std::int64_t>());
    }
  }
  for (Group kind : {Group::line, Group::ends, Group::wrap, Group::after_even, Group::before_odd}) {
    EXPECT_THAT(group(Channel{Axis::pipe, "alone", kind}, 1, 0), ElementsAre(0));
    EXPECT_EQ(members(Channel{Axis::pipe, "alone", kind}, ProcessGrid(2, 2, 1, 1, 1)), 1);
    EXPECT_EQ(members(Channel{Axis::pipe, "five", kind}, ProcessGrid(2, 2, 1, 1, 5)),
              kind == Group::line ? 5 : 2);
  }
}

}  // namespace
}  // namespace fourfold::tests
