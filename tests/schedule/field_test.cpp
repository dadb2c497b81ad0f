// A table of fields says and reads what its rows say, whatever the fields mean.
#include "support/field.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum class Colour { red, green };
const char* name(Colour colour) {
  return colour == Colour::red ? "red" : "green";
}

struct Lamp {
  std::int64_t bulbs = 2;
  Colour colour = Colour::red;
  bool dims = true, blinks = false, hums = false;

  bool operator==(const Lamp&) const = default;
};

const FieldTable<Lamp>& lamp_fields() {
  static const FieldTable<Lamp> table(
      {number_field<Lamp>({.key = "bulbs", .flag = "--bulbs", .help = "in the lamp"},
                          {.most = 9, .reason = "as no lamp has more"}, &Lamp::bulbs),
       word_field<Lamp>({.key = "colour", .flag = "--colour", .help = "of its light"},
                        std::vector{Colour::red, Colour::green}, &Lamp::colour),
       on_off_field<Lamp>({.key = "can.dim", .flag = "--can", .help = "a dimmer"}, {"dim"},
                          &Lamp::dims),
       on_off_field<Lamp>({.key = "can.blink", .flag = "--can", .help = "a relay"}, {"blink"},
                          &Lamp::blinks),
       on_off_field<Lamp>({.key = "hums", .flag = "--hum", .help = "a transformer's sound"}, {},
                          &Lamp::hums)});
  return table;
}

std::string refusal(const std::string& flag, const std::string& word) {
  try {
    lamp_fields().with({}, flag, word);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Fields, SayEveryValueAndReadItBack) {
  const Lamp lamp{7, Colour::green, false, true, true};

  Lamp again;
  lamp_fields().set(again, lamp_fields().values(lamp));

  EXPECT_EQ(again, lamp);
}

TEST(Fields, LeaveWhatIsNotSaid) {
  Lamp lamp{7, Colour::green, false, true, true};

  lamp_fields().set(lamp, {{"bulbs", std::int64_t{3}}});

  EXPECT_EQ(lamp, (Lamp{3, Colour::green, false, true, true}));
}

TEST(Fields, AreFlagsThatSayWhatTheyRead) {
  EXPECT_THAT(flags_of(lamp_fields().facts()),
              ElementsAre("--bulbs", "--colour", "--can", "--hum"));
  for (const auto& [flag, word] :
       {std::pair{"--bulbs", "1"}, std::pair{"--bulbs", "9"}, std::pair{"--colour", "green"},
        std::pair{"--can", "none"}, std::pair{"--can", "blink"}, std::pair{"--can", "dim"},
        std::pair{"--can", "all"}, std::pair{"--hum", "on"}, std::pair{"--hum", "off"}}) {
    EXPECT_EQ(lamp_fields().word(lamp_fields().with({}, flag, word), flag), word);
  }
}

TEST(Fields, TellInTheHelpWhatAFlagTakes) {
  EXPECT_EQ(flag_help(lamp_fields().facts(), "--colour"), "of its light: red or green");
  EXPECT_EQ(flag_help(lamp_fields().facts(), "--can"),
            "all, none, or some of dim,blink: dim, a dimmer; blink, a relay");
  EXPECT_EQ(flag_help(lamp_fields().facts(), "--hum"), "a transformer's sound: on or off");
}

TEST(Fields, RefuseInWords) {
  EXPECT_EQ(refusal("--bulbs", "10"), "--bulbs: '10' is no whole number from 1 to 9");
  EXPECT_EQ(refusal("--bulbs", "3.5"), "--bulbs: '3.5' is no whole number from 1 to 9");
  EXPECT_EQ(refusal("--colour", "gren"),
            "unknown --colour 'gren'; did you mean \"green\"? It is one of red, green");
  EXPECT_EQ(refusal("--can", "blnk"),
            "unknown --can 'blnk'; did you mean \"blink\"? It is one of all, none, dim, blink");
  EXPECT_EQ(refusal("--hum", "onn"),
            "unknown --hum 'onn'; did you mean \"on\"? It is one of on, off");
  EXPECT_THAT(refusal("--can", "dim,all"), HasSubstr("all stands alone"));
}

TEST(Fields, OutOfTheirRangeAreNamedWithTheBoundAndItsReason) {
  const std::vector<FieldFacts>& facts = lamp_fields().facts();

  EXPECT_EQ(out_of_range(facts, lamp_fields().values({9, Colour::red, true, true})), "");
  EXPECT_EQ(out_of_range(facts, {{"bulbs", std::int64_t{10}}}),
            "bulbs = 10, but it must be at most 9, as no lamp has more");
  EXPECT_EQ(out_of_range(facts, {{"bulbs", std::int64_t{0}}}),
            "bulbs = 0, but it must be at least 1");
}

struct Oven {
  double degrees = 1.5;
};

TEST(Fields, OfRealNumbersSayThemShortAndHoldTheirBounds) {
  const FieldTable<Oven> table({real_field<Oven>(
      {.key = "degrees", .flag = "--degrees", .help = "of heat"}, {0.5, 2.0}, &Oven::degrees)});
  const auto refused = [&](const std::string& word) {
    return tests::refusal<std::runtime_error>([&] { table.with({}, "--degrees", word); });
  };

  EXPECT_EQ(table.word(Oven{}, "--degrees"), "1.5");
  EXPECT_EQ(table.with({}, "--degrees", "2").degrees, 2.0);
  EXPECT_EQ(refused("2.1"), "--degrees: '2.1' is no number from 0.5 to 2");
  EXPECT_EQ(refused("warm"), "--degrees: 'warm' is no number from 0.5 to 2");
  EXPECT_EQ(refused("nan"), "--degrees: 'nan' is no number from 0.5 to 2");
  EXPECT_EQ(out_of_range(table.facts(), {{"degrees", 0.25}}),
            "degrees = 0.25, but it must be at least 0.5");
  EXPECT_EQ(out_of_range(table.facts(), {{"degrees", 2.0}}), "");
  EXPECT_NE(out_of_range(table.facts(), {{"degrees", std::nan("")}}), "");
}

}  // namespace
}  // namespace fourfold::tests
