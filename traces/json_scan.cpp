// SPDX-License-Identifier: Apache-2.0
// SSE2 where there is, plain C++ elsewhere.
#include "traces/json_scan.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace warploom {

namespace {

using Mask = std::uint64_t;

struct Block {
  Mask quotes = 0;
  Mask backslashes = 0;
  Mask opening = 0;
  Mask closing = 0;
};

#if defined(__SSE2__)
// `[`, `]` and `{`, `}` differ by the bit 0x20 alone; no other byte becomes one of `{`, `}` by setting it.
Block load(const char* at) {
  Block block;
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i to_brace = _mm_set1_epi8(0x20);
  const __m128i open = _mm_set1_epi8('{');
  const __m128i close = _mm_set1_epi8('}');
  for (int part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * part));
    const __m128i folded = _mm_or_si128(bytes, to_brace);
    const auto mask = [part](__m128i equal) {
      return static_cast<Mask>(static_cast<std::uint32_t>(_mm_movemask_epi8(equal))) << (16 * part);
    };
    block.quotes |= mask(_mm_cmpeq_epi8(bytes, quote));
    block.backslashes |= mask(_mm_cmpeq_epi8(bytes, backslash));
    block.opening |= mask(_mm_cmpeq_epi8(folded, open));
    block.closing |= mask(_mm_cmpeq_epi8(folded, close));
  }
  return block;
}
#else
Block load(const char* at) {
  Block block;
  for (int i = 0; i < 64; ++i) {
    const Mask bit = Mask{1} << i;
    switch (at[i]) {
      case '"':
        block.quotes |= bit;
        break;
      case '\\':
        block.backslashes |= bit;
        break;
      case '{':
      case '[':
        block.opening |= bit;
        break;
      case '}':
      case ']':
        block.closing |= bit;
        break;
      default:
        break;
    }
  }
  return block;
}
#endif

// Bytes that a backslash before them escapes; `carry`: the first byte of the next block is one.
Mask escaped(Mask backslashes, bool& carry) {
  Mask result = carry ? 1 : 0;
  carry = false;
  backslashes &= ~result;
  while (backslashes != 0) {  // rare: taken one by one
    const int at = std::countr_zero(backslashes);
    backslashes &= backslashes - 1;
    if (at == 63) {
      carry = true;
    } else {
      const Mask next = Mask{2} << at;
      result |= next;
      backslashes &= ~next;
    }
  }
  return result;
}

// Bit i: an odd number of quotes up to and including i.
Mask prefix_xor(Mask bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

// Walks blocks; `visit(block, quotes that count, in string, valid)` returns the bit it sought, or 64.
template <class Visit>
const char* walk(const char* begin, const char* end, Visit visit) {
  bool carry = false;
  Mask in_string = 0;  // all ones within a string
  for (const char* at = begin; at < end; at += 64) {
    Block block = load(at);
    const auto left = end - at;
    const Mask valid = left >= 64 ? ~Mask{0} : (Mask{1} << left) - 1;
    block.quotes &= valid;
    if (block.backslashes != 0 || carry) block.quotes &= ~escaped(block.backslashes & valid, carry);
    const Mask strings = prefix_xor(block.quotes) ^ in_string;
    in_string = static_cast<Mask>(static_cast<std::int64_t>(strings) >> 63);
    if (const int bit = visit(block, valid & ~strings); bit < 64) return at + bit + 1;
  }
  return nullptr;
}

}  // namespace

std::int64_t count_lines(const char* begin, const char* end) {
  std::int64_t lines = 0;
#if defined(__SSE2__)
  const __m128i line_end = _mm_set1_epi8('\n');
  while (end - begin >= 16) {
    __m128i counts = _mm_setzero_si128();  // a byte each: at most 255 rounds
    for (int round = 0; round < 255 && end - begin >= 16; ++round, begin += 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(begin));
      counts = _mm_sub_epi8(counts, _mm_cmpeq_epi8(bytes, line_end));
    }
    const __m128i sums = _mm_sad_epu8(counts, _mm_setzero_si128());
    lines += _mm_cvtsi128_si64(sums) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums));
  }
#endif
  return lines + std::count(begin, end, '\n');
}

const char* find_bracket_end(const char* begin, const char* end) {
  std::int64_t depth = 0;
  return walk(begin, end, [&depth](const Block& block, Mask outside) {
    for (Mask brackets = (block.opening | block.closing) & outside; brackets != 0; brackets &= brackets - 1) {
      const int bit = std::countr_zero(brackets);
      depth += (block.opening >> bit & 1) != 0 ? 1 : -1;
      if (depth == 0) return bit;
    }
    return 64;
  });
}

const char* find_string_end(const char* begin, const char* end) {
  bool is_open = false;
  return walk(begin, end, [&is_open](const Block& block, Mask /*outside*/) {
    Mask quotes = block.quotes;
    if (!is_open) {
      quotes &= quotes - 1;  // the opening one, the first byte
      is_open = true;
    }
    return quotes == 0 ? 64 : std::countr_zero(quotes);
  });
}

}  // namespace warploom
