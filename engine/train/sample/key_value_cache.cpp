// Attention of one word over what was kept; see key_value_cache.hpp.
#include "engine/train/sample/key_value_cache.hpp"

#include <algorithm>
#include <cmath>
#include <complex>

#include "engine/bf16.hpp"
#include "engine/reference/rotary.hpp"

namespace fourfold::inline engine::inline train::inline sample {

namespace {

const Function attention_that_keeps{.name = "forward, kept"};
const Function attention_to_kept{.name = "forward of kept"};
const Function add_next_position{"add_next_position"};
const Function turn_to_next_position{"turn_to_next_position"};

Schedule with_function(Schedule schedule, const Function& from, const Function& to) {
  for (Op& op : schedule.program.ops) {
    if (op.function == &from) op.function = &to;
  }
  return schedule;
}

void write(DeviceMemory& memory, const Tensor& to, const std::vector<float>& numbers) {
  HostView view(memory);
  std::byte* const bytes = view.open(to.data, to.bytes());
  if (to.precision == Precision::bf16) {
    std::transform(numbers.begin(), numbers.end(), reinterpret_cast<std::uint16_t*>(bytes),
                   bf16_bits);
  } else {
    std::copy(numbers.begin(), numbers.end(), reinterpret_cast<float*>(bytes));
  }
  view.close();
}

// To weights that add up to 1.
void softmax(std::vector<float>& scores) {
  const float highest = *std::max_element(scores.begin(), scores.end());
  float sum = 0.0F;
  for (float& score : scores) sum += score = std::exp(score - highest);
  for (float& score : scores) score /= sum;
}

}  // namespace

Schedule reading_pass(Schedule evaluation) {
  return with_function(std::move(evaluation), functions::attention, attention_that_keeps);
}

Schedule decoding_pass(Schedule evaluation) {
  Schedule of_kept = with_function(std::move(evaluation), functions::attention, attention_to_kept);
  return with_function(
      with_function(std::move(of_kept), functions::add_position, add_next_position),
      functions::rotary, turn_to_next_position);
}

void CachingBackend::compute(const Device& device, const Op& op, const KernelOperands& operands,
                             const ProgressCall& progress) {
  if (op.function == &attention_to_kept) return attend(device, op, operands);
  if (op.function == &add_next_position) return add_position(operands);
  if (op.function == &turn_to_next_position) return turn(device, op, operands);
  if (op.function != &attention_that_keeps) {
    return kernels_.compute(device, op, operands, progress);
  }
  if (words_ > 0) read(device, op, operands.inputs[0]);
  // A device that computes later looks at it after this call.
  Op& plain = plain_.try_emplace(&op, op).first->second;
  plain.function = &functions::attention;
  kernels_.compute(device, plain, operands, progress);
}

CachingBackend::Layout CachingBackend::layout_of(const Device& device, const Op& op,
                                                 const Tensor& qkv,
                                                 std::int64_t rows_a_text) const {
  Layout layout{qkv.rows / rows_a_text, 0, op.attributes.group, device.head_columns,
                op.attributes.sequence};
  layout.groups = qkv.cols / ((layout.queries + 2) * layout.columns);
  return layout;
}

CachingBackend::Kept& CachingBackend::kept(const Device& device, const Op& op,
                                           const Layout& layout) {
  Kept& own = layers_[(*device.program)[op.outputs[0]].label.full()];
  own.resize(static_cast<std::size_t>(layout.texts * layout.groups * 2 * layout.columns *
                                      layout.sequence));
  return own;
}

void CachingBackend::keep(const Layout& layout, const float* key_and_value, std::int64_t place,
                          float* of_group) {
  for (std::int64_t c = 0; c < layout.columns; ++c) {
    of_group[c * layout.sequence + place] = key_and_value[c];
  }
  std::copy_n(key_and_value + layout.columns, layout.columns,
              of_group + layout.columns * (layout.sequence + place));
}

void CachingBackend::read(const Device& device, const Op& op, const Tensor& qkv) {
  const Layout layout = layout_of(device, op, qkv, op.attributes.sequence);
  Kept& own = kept(device, op, layout);
  const std::vector<float> numbers = numbers_of(memory(), qkv);
  const std::int64_t of_group = (layout.queries + 2) * layout.columns;
  float* to = own.data();
  for (std::int64_t text = 0; text < layout.texts; ++text) {
    for (std::int64_t group = 0; group < layout.groups; ++group) {
      for (std::int64_t place = 0; place < words_; ++place) {
        const float* const row =
            numbers.data() + (text * op.attributes.sequence + place) * qkv.cols;
        keep(layout, row + group * of_group + layout.queries * layout.columns, place, to);
      }
      to += 2 * layout.columns * layout.sequence;
    }
  }
}

void CachingBackend::attend(const Device& device, const Op& op, const KernelOperands& operands) {
  const Tensor& qkv = operands.inputs[0];
  const Layout layout = layout_of(device, op, qkv, 1);
  Kept& own = kept(device, op, layout);
  const std::vector<float> numbers = numbers_of(memory(), qkv);
  std::vector<float> output(static_cast<std::size_t>(operands.output.size()), 0.0F);
  const std::int64_t window = op.attributes.window;
  const std::int64_t first = window == 0 ? 0 : std::max<std::int64_t>(0, words_ - window);
  std::vector<float> scores(static_cast<std::size_t>(words_ - first));
  const float scale = 1.0F / std::sqrt(static_cast<float>(layout.columns));
  const float* of_group = numbers.data();
  float* kept_of_group = own.data();
  float* out = output.data();
  for (std::int64_t i = 0; i < layout.texts * layout.groups; ++i) {
    keep(layout, of_group + layout.queries * layout.columns, words_ - 1, kept_of_group);
    const float* const values = kept_of_group + layout.columns * layout.sequence;
    for (std::int64_t q = 0; q < layout.queries; ++q, out += layout.columns) {
      std::fill(scores.begin(), scores.end(), 0.0F);
      for (std::int64_t c = 0; c < layout.columns; ++c) {
        const float query = of_group[q * layout.columns + c] * scale;
        const float* const keys = kept_of_group + c * layout.sequence;
        for (std::int64_t t = first; t < words_; ++t)
          scores[static_cast<std::size_t>(t - first)] += query * keys[t];
      }
      softmax(scores);
      for (std::int64_t t = first; t < words_; ++t) {
        const float weight = scores[static_cast<std::size_t>(t - first)];
        for (std::int64_t c = 0; c < layout.columns; ++c)
          out[c] += weight * values[t * layout.columns + c];
      }
    }
    of_group += (layout.queries + 2) * layout.columns;
    kept_of_group += 2 * layout.columns * layout.sequence;
  }
  write(memory(), operands.output, output);
}

// Every row is the last word of its text.
void CachingBackend::add_position(const KernelOperands& operands) {
  std::vector<float> rows = numbers_of(memory(), operands.inputs[0]);
  const Tensor& table = operands.inputs[1];
  Tensor row = table.stretch((words_ - 1) * table.cols, table.cols);
  const std::vector<float> position = numbers_of(memory(), row);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += position[i % position.size()];
  write(memory(), operands.output, rows);
}

// The same of queries and keys.
void CachingBackend::turn(const Device& device, const Op& op, const KernelOperands& operands) {
  const Layout layout = layout_of(device, op, operands.inputs[0], 1);
  std::vector<float> numbers = numbers_of(memory(), operands.inputs[0]);
  const std::int64_t half = layout.columns / 2;
  std::vector<std::complex<float>> turns;
  for (std::int64_t i = 0; i < half; ++i) {
    const double frequency = reference::rotary_frequency(device.rotary, layout.columns, i);
    turns.emplace_back(std::polar(1.0, frequency * static_cast<double>(words_ - 1)));
  }
  float* head = numbers.data();
  for (std::int64_t i = 0; i < layout.texts * layout.groups; ++i) {
    for (std::int64_t of_group = 0; of_group <= layout.queries; ++of_group) {
      for (std::int64_t c = 0; c < half; ++c) {
        const std::complex<float> turned =
            std::complex(head[c], head[half + c]) * turns[static_cast<std::size_t>(c)];
        head[c] = turned.real();
        head[half + c] = turned.imag();
      }
      head += layout.columns;
    }
    head += layout.columns;  // the group's values
  }
  write(memory(), operands.output, numbers);
}

}  // namespace fourfold::inline engine::inline train::inline sample
