// SPDX-License-Identifier: Apache-2.0
// The texts in which traces hold the shapes and types of an operator's inputs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warploom {

using Shape = std::vector<std::int64_t>;

// "[[16, 1024], [1024, 4096], []]" (Kineto) or "32,3,224,224;64,3,11,11" (Ascend): one shape an input, empty for what
// is no tensor. Nothing where the text is neither, or nested deeper (lists of tensors are flattened one level).
std::vector<Shape> parse_shapes(std::string_view text);

// "[\"c10::BFloat16\", \"Scalar\"]" or "FLOAT;DT_BF16": one word an input.
std::vector<std::string> parse_words(std::string_view text);

// Of a shape; 1 for a scalar's empty one. Throws nothing: what overflows counts as the largest number.
std::int64_t element_count(const Shape& shape);

}  // namespace warploom
