// First bytes of files and what they mean; see file_kind.hpp.
#include "engine/train/data/file_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "support/text_file.hpp"

namespace fourfold::inline engine::inline train::inline data {

namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes;
  std::size_t place;
  const char* what;
  const char* cure;
};

constexpr const char* unpack = "unpack it first";
constexpr const char* write_jsonl = "write its texts as .jsonl, a {\"text\": \"...\"} a line";

constexpr std::array magics{
    Magic{"\x1f\x8b\x08"sv, 0, "is packed by gzip", unpack},
    Magic{"\x28\xb5\x2f\xfd"sv, 0, "is packed by zstd", unpack},
    Magic{"\xfd\x37zXZ\0"sv, 0, "is packed by xz", unpack},
    Magic{"BZh"sv, 0, "is packed by bzip2", unpack},
    Magic{"\x04\x22\x4d\x18"sv, 0, "is packed by lz4", unpack},
    Magic{"PK\x03\x04"sv, 0, "is a zip archive", unpack},
    Magic{"ustar"sv, 257, "is a tar archive", unpack},
    Magic{"PAR1"sv, 0, "is a parquet file", write_jsonl},
    Magic{"ARROW1"sv, 0, "is an Arrow file", write_jsonl},
    Magic{"SQLite format 3"sv, 0, "is an SQLite file", write_jsonl},
    Magic{"\x89HDF"sv, 0, "is an HDF5 file", write_jsonl},
    Magic{"Obj\1"sv, 0, "is an Avro file", write_jsonl},
    Magic{"%PDF-"sv, 0, "is a PDF file", write_jsonl},
    Magic{"7z\xbc\xaf\x27\x1c"sv, 0, "is a 7z archive", unpack},
    Magic{"Rar!\x1a\x07"sv, 0, "is a rar archive", unpack},
    Magic{"\x89PNG\r\n"sv, 0, "is a picture", write_jsonl},
    Magic{"\x7f\x45LF"sv, 0, "is a program", write_jsonl},
    Magic{"GGUF"sv, 0, "is a model", "name texts or tokens"},
    Magic{"MMIDIDX\0\0"sv, 0, "is an index of Megatron-LM", "name the .bin beside it"},
    Magic{"TNTIDX\0\0"sv, 0, "is an old index of Megatron-LM", "name the .bin beside it"}};

// Two or three bytes may be tokens: the next ones tell.
bool is_really(const Magic& magic, const std::string& beginning) {
  if (magic.bytes.starts_with('\x1f')) {  // flags below 32, and what wrote it
    return beginning.size() > 9 && static_cast<unsigned char>(beginning[3]) < 32 &&
           (beginning[9] == '\xff' || static_cast<unsigned char>(beginning[9]) < 14);
  }
  if (magic.bytes == "BZh"sv) return beginning.substr(4, 6) == "1AY&SY";
  return true;
}

[[noreturn]] void fail(const std::string& why) {
  throw std::runtime_error(why);
}

// A list of objects, or one over several lines: no documents, which have a line each.
bool is_json_over_lines(std::string_view text) {
  const auto skip = [&](std::string_view letters) {
    text.remove_prefix(std::min(text.find_first_not_of(letters), text.size()));
  };
  constexpr auto blanks = " \t\r\n"sv;
  text = without_mark(text);
  skip(blanks);
  const bool list = text.starts_with('[');
  if (list) {
    text.remove_prefix(1);
    skip(blanks);
  }
  if (!text.starts_with('{')) return false;
  text.remove_prefix(1);
  skip(" \t\r"sv);
  const bool over_lines = text.starts_with('\n');
  skip(blanks);
  return text.starts_with('"') && (list || over_lines);
}

}  // namespace

void refuse_packed(const std::string& beginning) {
  for (const Magic& magic : magics) {
    const bool begins = std::string_view(beginning)
                            .substr(std::min(magic.place, beginning.size()))
                            .starts_with(magic.bytes);
    if (begins && is_really(magic, beginning)) fail(fmt::format("{}; {}", magic.what, magic.cure));
  }
  if (is_json_over_lines(beginning)) {
    fail(fmt::format("is JSON over several lines or in a list; {}", write_jsonl));
  }
}

void refuse_no_text(const std::string& part, std::int64_t place) {
  if (place == 0 && (part.starts_with("\xff\xfe\0\0"sv) || part.starts_with("\0\0\xfe\xff"sv))) {
    fail("is text in UTF-32; write it in UTF-8");
  }
  if (place == 0 && (part.starts_with("\xff\xfe") || part.starts_with("\xfe\xff"))) {
    fail("is text in UTF-16; write it in UTF-8");
  }
  const std::size_t zero = part.find('\0');
  if (zero == std::string::npos) return;
  const auto zeros = [&](std::size_t first) {
    std::size_t count = 0;
    for (std::size_t i = first; i < part.size(); i += 2) count += part[i] == '\0' ? 1 : 0;
    return count;
  };
  constexpr std::size_t few = 8;  // bytes that tell nothing
  const std::size_t half = part.size() / 2;
  if (half > few && std::max(zeros(0), zeros(1)) > half * 9 / 10) {
    fail("is text in UTF-16, or numbers; write text in UTF-8, and name tokens .bin");
  }
  fail(
      fmt::format("holds a zero byte at place {} (the first is 0), and so is no text; name tokens "
                  ".bin",
                  place + static_cast<std::int64_t>(zero)));
}

std::optional<Numbers> numbers_in_npy(const std::string& beginning) {
  constexpr std::string_view magic = "\x93NUMPY"sv;
  if (!beginning.starts_with(magic) || beginning.size() < 12) return std::nullopt;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(beginning[i]); };
  const bool is_first = byte(6) == 1;
  const std::size_t head = is_first ? 10 : 12;
  const std::size_t length = byte(8) + 256U * byte(9) + (is_first ? 0U : 65'536U * byte(10));
  if (head + length > beginning.size()) fail("has a head of NumPy that is cut off");
  const std::string text = beginning.substr(head, length);
  const auto after = [&](const char* key) {
    const std::size_t at = text.find(key);
    if (at == std::string::npos) fail(fmt::format("has a head of NumPy without {}", key));
    return text.substr(text.find(':', at) + 1);
  };
  const std::string type = after("'descr'");
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> known{
      {{"'<u2'", 2}, {"'<i4'", 4}, {"'<u4'", 4}, {"'<i8'", 8}, {"'<u8'", 8}}};
  const auto* const found = std::ranges::find_if(known, [&](const auto& one) {
    return std::string_view(type)
        .substr(std::min(type.find('\''), type.size()))
        .starts_with(one.first);
  });
  if (found == known.end()) {
    fail("is a .npy of no whole numbers of 16, 32 or 64 bits, which tokens are");
  }
  Numbers numbers{static_cast<std::int64_t>(head + length), found->second, 1};
  const std::string shape = after("'shape'");
  const std::size_t close = shape.find(')');
  if (close == std::string::npos) fail("has a head of NumPy without a shape");
  for (std::size_t i = shape.find('('); i < close; ++i) {
    if (shape[i] < '0' || shape[i] > '9') continue;
    std::int64_t extent = 0;
    const auto read = std::from_chars(shape.data() + i, shape.data() + close, extent);
    constexpr std::int64_t most = std::int64_t{1} << 48;
    if (read.ec != std::errc() || (extent > 0 && numbers.count > most / extent)) {
      fail("is a .npy of more numbers than there are");
    }
    numbers.count *= extent;
    i = static_cast<std::size_t>(read.ptr - shape.data()) - 1;
  }
  const bool in_columns = after("'fortran_order'").find("True") != std::string::npos;
  if (in_columns && std::ranges::count(shape.substr(0, close), ',') > 0 &&
      shape.find_first_of("0123456789", shape.find(',')) < close) {
    fail(
        "is a .npy in Fortran's order, whose neighbours in the file are none in the text; save "
        "numpy.ascontiguousarray of it");
  }
  return numbers;
}

std::optional<Numbers> numbers_by_index(const std::string& bin_path) {
  const std::string path = std::filesystem::path(bin_path).replace_extension(".idx").string();
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::array<char, 34> head{};  // magic, version, kind of number, sequences, documents
  file.read(head.data(), head.size());
  if (!file || std::string_view(head.data(), 9) != "MMIDIDX\0\0"sv) {
    fail(fmt::format("has a {} beside it that is no index of Megatron-LM; take one of the two away",
                     path));
  }
  constexpr std::array<std::int64_t, 9> widths{0, 0, 0, 2, 4, 8, 0, 0, 2};  // by kind of number
  const auto kind = static_cast<std::size_t>(static_cast<unsigned char>(head[17]));
  const std::int64_t bytes = kind < widths.size() ? widths.at(kind) : 0;
  if (bytes == 0) {
    fail(fmt::format("has numbers of kind {} by {}, which are no tokens of 16, 32 or 64 bits", kind,
                     path));
  }
  std::int64_t sequences = 0;
  std::memcpy(&sequences, head.data() + 18, sizeof sequences);
  Numbers numbers{0, bytes, 0};
  std::vector<std::int32_t> lengths(1 << 16);
  while (sequences > 0) {
    const auto some = std::min<std::int64_t>(sequences, std::ssize(lengths));
    file.read(reinterpret_cast<char*>(lengths.data()), 4 * some);
    if (!file) fail(fmt::format("has an index {} that is cut off", path));
    for (std::int64_t i = 0; i < some; ++i) numbers.count += lengths[static_cast<std::size_t>(i)];
    sequences -= some;
  }
  return numbers;
}

std::int64_t apparent_bits(const std::vector<std::uint32_t>& pairs) {
  constexpr std::uint32_t few = 32, many = 1024;
  std::uint32_t largest_high = 0, largest_low = 0;
  bool second_pairs_are_0 = true;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    largest_high = std::max(largest_high, pairs[i] >> 16);
    largest_low = std::max(largest_low, pairs[i] & 0xFFFFU);
    if (i % 2 == 1 && pairs[i] != 0) second_pairs_are_0 = false;
  }
  if (std::max(largest_low, largest_high) == 0) return 0;
  if (second_pairs_are_0 && largest_high < few) return 64;
  if (largest_high == 0 || (largest_high < few && largest_low >= many)) return 32;
  return largest_high << 16 >= (std::uint32_t{1} << 24) ? 16 : 0;
}

}  // namespace fourfold::inline engine::inline train::inline data
