// SPDX-License-Identifier: Apache-2.0
// Reads a program line by line: first words say what a line is, the others are in any order.
#include "hw_models/programs/program_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <vector>

#include "hw_models/programs/program_words.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

using namespace program_words;

constexpr std::size_t most_mistakes = 50;
constexpr std::int64_t most_count = 1'000'000'000;
constexpr std::int64_t most_bytes = 1'000'000'000'000;
constexpr std::size_t most_named = 256;  // rings, streams, roles, groups
constexpr std::size_t most_loops = 16;   // in each other

// What `end` closes.
constexpr std::string_view end_word = "end";

class Parser {
 public:
  Parser(const std::string& name, const ProgramTextLimits& limits)
      : file_(std::make_shared<const std::string>(name)), limits_(limits) {
    program_.name = std::filesystem::path(name).stem().string();
  }

  KernelProgram parse(std::string_view text) {
    for (std::size_t at = 0; at <= text.size() && mistakes_.error_count() < most_mistakes;) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      ++line_;
      words_ = words_of(text.substr(at, end - at));
      if (!words_.empty()) take_line();
      at = end + 1;
    }
    check_whole();
    mistakes_.throw_if_any();
    return std::move(program_);
  }

 private:
  // ---- Lines -------------------------------------------------------------------------------------------------------

  void take_line() {
    const std::string_view first = words_.front().text;
    if (first == "program") return take_name();
    if (first == "blocks") return take_blocks();
    if (first == "shared_memory" || first == "footprint") return take_size(first);
    if (first == "tensor_columns") {
      if (const auto columns = number_at(1, 0, 65536)) program_.tensor_columns = static_cast<int>(*columns);
      return expect_words(2);
    }
    if (first == "stream") return take_stream();
    if (first == "ring") return take_ring();
    if (first == "role") return take_role();
    take_instruction();
  }

  void take_name() {
    if (words_.size() < 2) return mistake(words_.front(), "expected a name behind `program`");
    std::string name;
    for (std::size_t i = 1; i < words_.size(); ++i) {
      name += (name.empty() ? "" : " ") + std::string(words_[i].text);
    }
    program_.name = name.substr(0, 200);
  }

  void take_blocks() {
    BlockGroup group;
    if (const auto count = number_at(1, 1, most_count)) group.blocks = *count;
    for (std::size_t i = 2; i < words_.size(); ++i) {
      const auto turns = keyed(words_[i], "turns", 1, most_count);
      if (turns) group.turns = *turns;
    }
    if (program_.blocks.size() >= most_named) return mistake(words_.front(), "too many groups of blocks");
    program_.blocks.push_back(group);
  }

  void take_size(std::string_view what) {
    std::string text;
    for (std::size_t i = 1; i < words_.size(); ++i) text += (i > 1 ? " " : "") + std::string(words_[i].text);
    const auto size = parse_quantity<Bytes>(text);
    if (!size || *size < Bytes(0)) {
      return mistake(words_.front(),
                     fmt::format("`{}`: expected a size such as `32 KiB`, got {}", what, warploom::quoted(text)));
    }
    (what == "footprint" ? program_.footprint : program_.shared_memory) = *size;
  }

  void take_stream() {
    TileStream stream;
    stream.name = new_name(stream_names());
    for (std::size_t i = 2; i < words_.size(); ++i) {
      if (const auto share = keyed_decimal(words_[i], "from_memory", 0, 1)) {
        stream.from_memory = *share;
      } else if (const auto cluster = keyed_decimal(words_[i], "cluster", 1, 64)) {
        stream.cluster = *cluster;
      } else {
        unknown(words_[i], {"from_memory=", "cluster="});
      }
    }
    program_.streams.push_back(std::move(stream));
  }

  void take_ring() {
    Ring ring;
    ring.name = new_name(ring_names());
    const auto set = [](int& into, std::optional<std::int64_t> value) {
      if (value) into = static_cast<int>(*value);
      return value.has_value();
    };
    for (std::size_t i = 2; i < words_.size(); ++i) {
      constexpr std::int64_t most = 1 << 20;
      if (set(ring.arrivals, keyed(words_[i], "arrivals", 1, most))) continue;
      if (set(ring.copies, keyed(words_[i], "copies", 0, most))) continue;
      if (set(ring.products, keyed(words_[i], "products", 0, most))) continue;
      if (set(ring.free_at_start, keyed(words_[i], "free", 0, most))) continue;
      unknown(words_[i], {"arrivals=", "copies=", "products=", "free="});
    }
    program_.rings.push_back(std::move(ring));
  }

  void take_role() {
    close_role();
    std::vector<std::string> names;
    for (const WarpRole& role : program_.roles) names.push_back(role.name);
    WarpRole role;
    role.name = new_name(names);
    for (std::size_t i = 2; i < words_.size(); ++i) {
      if (const auto warps = keyed(words_[i], "warps", 1, 64)) {
        role.warps = static_cast<int>(*warps);
      } else if (const auto registers = keyed(words_[i], "registers", 1, 255)) {
        role.registers = static_cast<int>(*registers);
      } else {
        unknown(words_[i], {"warps=", "registers="});
      }
    }
    program_.roles.push_back(std::move(role));
    role_at_ = words_.front();
    role_line_ = line_;
  }

  void take_instruction() {
    const Word& first = words_.front();
    const bool is_end = first.text == end_word;
    const auto op = is_end ? Op::end_loop : enum_from_name<Op>(first.text);
    if (!op || (*op == Op::end_loop && !is_end)) return unknown(first, known_words());
    if (program_.roles.empty()) return mistake(first, "an instruction before the first `role`");
    if (++instructions_ > limits_.instructions) {
      if (instructions_ == limits_.instructions + 1) {
        mistake(first, fmt::format("more than {} instructions", limits_.instructions));
      }
      return;
    }
    Instruction what{.op = *op};
    if (takes_number(*op)) what.count = *op == Op::loop ? 1 : 0;
    for (std::size_t i = 1; i < words_.size(); ++i) take_operand(words_[i], what);
    check_instruction(what);
    program_.roles.back().code.push_back(what);
    follow_loops(what);
  }

  // ---- Operands ----------------------------------------------------------------------------------------------------

  void take_operand(const Word& word, Instruction& what) {
    const std::string_view text = word.text;
    if (text == "waits") {
      what.waits = true;
    } else if (text == "a_in_registers" && is_product(what.op)) {
      what.a_in_registers = true;
    } else if (text == "turns" && what.op == Op::loop) {
      what.count = 0;
    } else if (text.find('=') != std::string_view::npos) {
      take_keyed(word, what);
    } else if (const auto number = takes_number(what.op) ? whole_number(text) : std::nullopt) {
      const std::int64_t least = what.op == Op::loop ? 1 : 0;
      if (in_range(word, *number, least, most_count)) what.count = *number;
    } else if (const auto times = text.front() == 'x' ? whole_number(text.substr(1)) : std::nullopt) {
      if (in_range(word, *times, 1, most_count)) what.count = *times;
    } else {
      take_name_operand(word, what);
    }
  }

  void take_keyed(const Word& word, Instruction& what) {
    if (is_product(what.op)) {
      if (const auto m = keyed(word, "m", 0, 4096)) return void(what.m = static_cast<int>(*m));
      if (const auto n = keyed(word, "n", 0, 4096)) return void(what.n = static_cast<int>(*n));
      if (const auto k = keyed(word, "k", 0, 4096)) return void(what.k = static_cast<int>(*k));
      if (const auto share = keyed_decimal(word, "b_share", 0, 1)) return void(what.b_share = *share);
      if (word.text.starts_with("type=")) return take_type(word, what);
    }
    if (what.op == Op::tcgen05 && word.text.starts_with("ring=")) {
      what.ring = index_of(word, word.text.substr(5), ring_names(), "ring");
      return;
    }
    if (moves_bytes(what.op)) {
      if (const auto bytes = keyed(word, "bytes", 0, most_bytes)) return void(what.bytes = *bytes);
    }
    if (touches_lines(what.op)) {
      if (const auto lines = keyed_decimal(word, "lines", 1, 32)) return void(what.lines = *lines);
    }
    if (what.op == Op::shared_load || what.op == Op::shared_store) {
      if (const auto ways = keyed_decimal(word, "conflict", 1, 32)) return void(what.conflict = *ways);
    }
    if (is_math(what.op)) {
      if (const auto paths = keyed_decimal(word, "paths", 1, 32)) return void(what.paths = *paths);
      if (const auto fma = keyed(word, "fma", 0, most_count)) return void(what.fma = *fma);
      if (const auto alu = keyed(word, "alu", 0, most_count)) return void(what.alu = *alu);
    }
    if (what.op == Op::loop) {
      if (const auto stages = keyed(word, "stages", 1, 4096)) return void(what.stages = static_cast<int>(*stages));
    }
    unknown(word, keys_of(what.op));
  }

  void take_type(const Word& word, Instruction& what) {
    const auto type = find_data_type(word.text.substr(5));
    if (!type) {
      std::vector<std::string> known;
      for (const auto& [one, spelling] : data_type_names) known.emplace_back(spelling);
      return mistake(word, fmt::format("there is no data type {}", warploom::quoted(word.text.substr(5))),
                     "types are " + join(known));
    }
    what.type = *type;
  }

  void take_name_operand(const Word& word, Instruction& what) {
    // A copy takes both, the stream first.
    if (takes_stream(what.op) && what.stream < 0) {
      what.stream = index_of(word, word.text, stream_names(), "stream");
    } else if (takes_ring(what.op) && what.ring < 0) {
      what.ring = index_of(word, word.text, ring_names(), "ring");
    } else {
      unknown(word, keys_of(what.op));
    }
  }

  static std::vector<std::string> keys_of(Op op) {
    std::vector<std::string> keys = {"xCOUNT", "waits"};
    if (is_product(op)) keys.insert(keys.end(), {"m=", "n=", "k=", "type=", "a_in_registers", "b_share="});
    if (op == Op::tcgen05) keys.emplace_back("ring=");
    if (moves_bytes(op)) keys.emplace_back("bytes=");
    if (touches_lines(op)) keys.emplace_back("lines=");
    if (op == Op::shared_load || op == Op::shared_store) keys.emplace_back("conflict=");
    if (is_math(op)) keys.insert(keys.end(), {"paths=", "fma=", "alu="});
    if (op == Op::loop) keys = {"COUNT", "turns", "stages="};
    if (op == Op::wait || op == Op::arrive || op == Op::sync) keys = {"the name of a ring"};
    if (op == Op::drain || op == Op::use) keys = {"COUNT"};
    if (op == Op::depend || op == Op::end_loop) keys = {"nothing more"};
    return keys;
  }

  // ---- Checks ------------------------------------------------------------------------------------------------------

  void check_instruction(Instruction& what) {
    const Word& first = words_.front();
    if (takes_ring(what.op) && what.ring < 0) mistake(first, fmt::format("`{}` needs a ring", first.text));
    if (takes_stream(what.op) && what.stream < 0) mistake(first, fmt::format("`{}` needs a stream", first.text));
    if (moves_bytes(what.op) && what.bytes == 0) mistake(first, fmt::format("`{}` needs `bytes=`", first.text));
    if (is_product(what.op) && (what.m < 1 || what.n < 1 || what.k < 1) && what.ring < 0) {
      mistake(first, fmt::format("`{}` needs `m=`, `n=` and `k=`", first.text));
    }
    if (what.op == Op::wgmma && program_.roles.back().warps % 4 != 0) {
      mistake(first, fmt::format("a warpgroup is four warps, the role has {}", program_.roles.back().warps));
    }
    if (what.ring >= 0 && what.op == Op::tcgen05 && program_.rings[what.ring].products == 0) {
      mistake(first, "the ring of a product says how many of them are in a phase: `products=`");
    }
    if (what.ring >= 0 && what.op == Op::copy_tile && program_.rings[what.ring].copies == 0) {
      mistake(first, "the ring of a copy says how many of them are in a phase: `copies=`");
    }
    if (is_product(what.op)) program_.type = what.type;
  }

  // Loops must close, and their turns multiply.
  void follow_loops(const Instruction& what) {
    if (what.op == Op::loop) {
      if (loops_.size() >= most_loops)
        mistake(words_.front(), fmt::format("more than {} loops in each other", most_loops));
      loops_.push_back({what.count, words_.front(), line_});
    } else if (what.op == Op::end_loop) {
      if (loops_.empty()) return mistake(words_.front(), "`end` without a `loop`");
      loops_.pop_back();
    }
    double times = 1;
    for (const Loop& loop : loops_) times *= loop.turns > 0 ? static_cast<double>(loop.turns) : turns_factor;
    executed_ += times;
    if (is_product(what.op)) count_flops(what, times);
    has_turns_ |= std::ranges::any_of(loops_, [](const Loop& loop) { return loop.turns == 0; });
    if (executed_ > limits_.executed && !is_too_long_) {
      is_too_long_ = true;
      mistake(words_.front(),
              fmt::format("a warp of `{}` would execute more than {:.0e} instructions", program_.roles.back().name,
                          limits_.executed),
              "one instruction stands for many with `xCOUNT`");
    }
  }

  // Of Tensor Cores: a warp's, a warpgroup's, or what a warp issues for its block.
  void count_flops(const Instruction& what, double times) {
    const double issuers = program_.roles.back().warps / (what.op == Op::wgmma ? 4.0 : 1.0);
    const double flops = 2.0 * what.m * what.n * what.k * static_cast<double>(what.count) * times * issuers;
    const bool is_in_turns = std::ranges::any_of(loops_, [](const Loop& loop) { return loop.turns == 0; });
    (is_in_turns ? flops_a_turn_ : flops_) += flops;
  }

  void close_role() {
    for (const Loop& loop : loops_) {
      mistakes_.error(Origin(file_, loop.line, loop.at.column), "", "`loop` without an `end`");
    }
    if (!program_.roles.empty() && program_.roles.back().code.empty()) {
      mistakes_.error(Origin(file_, role_line_, role_at_.column), "", "the role has no instructions");
    }
    executed_of_all_ = std::max(executed_of_all_, has_turns_ ? executed_ : 0.0);
    loops_.clear();
    executed_ = 0;
    has_turns_ = false;
  }

  void check_whole() {
    const std::size_t before = mistakes_.error_count();
    close_role();
    if (before > 0 || mistakes_.has_errors()) return;
    if (program_.roles.empty()) {
      mistakes_.error(Origin(file_, 1, 0), "", "a program needs a role with instructions",
                      "such as `role threads warps=4`, then `fma x16` on the next line");
    }
    if (program_.blocks.empty()) program_.blocks.push_back({});
    std::int64_t turns = 1;
    std::int64_t blocks = 0;
    for (const BlockGroup& group : program_.blocks) {
      turns = std::max(turns, group.turns);
      blocks += group.blocks;
      program_.flops +=
          Flops(static_cast<double>(group.blocks) * (flops_ + flops_a_turn_ * static_cast<double>(group.turns)));
    }
    if (blocks > most_count) mistakes_.error(Origin(file_, 1, 0), "", "the groups have too many blocks together");
    if (executed_of_all_ * static_cast<double>(turns) > limits_.executed) {
      mistakes_.error(
          Origin(file_, 1, 0), "",
          fmt::format("with {} turns a warp would execute more than {:.0e} instructions", turns, limits_.executed));
    }
    if (program_.warps() > 64) {
      mistakes_.error(Origin(file_, 1, 0), "",
                      fmt::format("a block has at most 64 warps, this one has {}", program_.warps()));
    }
  }

  // ---- Pieces ------------------------------------------------------------------------------------------------------

  void mistake(const Word& at, std::string message, std::string hint = {}) {
    mistakes_.error(Origin(file_, line_, at.column), "", std::move(message), std::move(hint));
  }

  void unknown(const Word& word, const std::vector<std::string>& known) {
    if (was_out_of_range_) {  // said already
      was_out_of_range_ = false;
      return;
    }
    mistake(word, fmt::format("{} means nothing here", warploom::quoted(word.text)),
            suggestion(word.text.substr(0, word.text.find('=') + 1), known, "expected " + join(known)));
  }

  static std::vector<std::string> known_words() {
    std::vector<std::string> known = {"program", "blocks", "shared_memory", "footprint", "tensor_columns",
                                      "stream",  "ring",   "role",          "end"};
    for (const auto& [op, name] : EnumNames<Op>::values) {
      if (op != Op::end_loop) known.emplace_back(name);
    }
    return known;
  }

  std::vector<std::string> ring_names() const {
    std::vector<std::string> names;
    for (const Ring& ring : program_.rings) names.push_back(ring.name);
    return names;
  }
  std::vector<std::string> stream_names() const {
    std::vector<std::string> names;
    for (const TileStream& stream : program_.streams) names.push_back(stream.name);
    return names;
  }

  int index_of(const Word& word, std::string_view name, const std::vector<std::string>& names, const char* what) {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<int>(found - names.begin());
    mistake(word, fmt::format("there is no {} {}", what, warploom::quoted(name)),
            names.empty() ? fmt::format("declare it above: `{} {}`", what, name)
                          : suggestion(name, names, fmt::format("there are {}", join(names))));
    return 0;
  }

  // The second word of a line, which must be new.
  std::string new_name(const std::vector<std::string>& known) {
    if (words_.size() < 2 || words_[1].text.find('=') != std::string_view::npos) {
      mistake(words_.front(), fmt::format("expected a name behind `{}`", words_.front().text));
      words_.insert(words_.begin() + 1, Word{"?", words_.front().column});
      return "?";
    }
    const std::string name(words_[1].text.substr(0, 64));
    if (std::ranges::find(known, name) != known.end()) {
      mistake(words_[1], fmt::format("there is a {} {} already", words_.front().text, warploom::quoted(name)));
    }
    if (known.size() >= most_named) mistake(words_[1], fmt::format("more than {} of them", most_named));
    return name;
  }

  void expect_words(std::size_t count) {
    if (words_.size() > count) unknown(words_[count], {"nothing more"});
  }

  bool in_range(const Word& word, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return true;
    mistake(word, fmt::format("expected {} to {}, got {}", least, most, value));
    return false;
  }

  std::optional<std::int64_t> number_at(std::size_t index, std::int64_t least, std::int64_t most) {
    const auto value = index < words_.size() ? whole_number(words_[index].text) : std::nullopt;
    if (!value) {
      mistake(words_.front(), fmt::format("expected a whole number behind `{}`", words_.front().text));
      return {};
    }
    return in_range(words_[index], *value, least, most) ? value : std::nullopt;
  }

  // The value of `key=value`; nothing for another key. A value out of range is a mistake, which unknown() leaves at
  // that.
  std::optional<std::int64_t> keyed(const Word& word, std::string_view key, std::int64_t least, std::int64_t most) {
    if (!word.text.starts_with(key) || word.text.substr(key.size()).substr(0, 1) != "=") return {};
    const auto value = whole_number(word.text.substr(key.size() + 1));
    if (value && *value >= least && *value <= most) return value;
    bad_value(word, key, fmt::format("a whole number from {} to {}", least, most));
    return {};
  }
  std::optional<double> keyed_decimal(const Word& word, std::string_view key, double least, double most) {
    if (!word.text.starts_with(key) || word.text.substr(key.size()).substr(0, 1) != "=") return {};
    const auto value = decimal_number(word.text.substr(key.size() + 1));
    if (value && *value >= least && *value <= most) return value;
    bad_value(word, key, fmt::format("a number from {} to {}", least, most));
    return {};
  }
  void bad_value(const Word& word, std::string_view key, const std::string& expected) {
    mistake(word, fmt::format("`{}`: expected {}, got {}", key, expected,
                              warploom::quoted(word.text.substr(key.size() + 1))));
    was_out_of_range_ = true;
  }

  struct Loop {
    std::int64_t turns;
    Word at;
    int line;
  };
  static constexpr double turns_factor = 1;  // of `loop turns`, until the groups are known

  std::shared_ptr<const std::string> file_;
  ProgramTextLimits limits_;
  KernelProgram program_;
  Diagnostics mistakes_;
  std::vector<Word> words_;
  int line_ = 0;
  std::vector<Loop> loops_;
  Word role_at_;
  int role_line_ = 0;
  std::size_t instructions_ = 0;
  double executed_ = 0;         // by a warp of the role
  double executed_of_all_ = 0;  // the most of a role with loops over a group's turns
  double flops_ = 0;            // of a block, those of loops over a group's turns beside them
  double flops_a_turn_ = 0;
  bool has_turns_ = false;
  bool is_too_long_ = false;
  bool was_out_of_range_ = false;
};

}  // namespace

KernelProgram parse_program(std::string_view text, const std::string& name, const ProgramTextLimits& limits) {
  if (text.size() > limits.bytes) {
    throw UserError(Origin(name, 1, 0),
                    fmt::format("a program of {} bytes, at most {} are read", text.size(), limits.bytes));
  }
  if (text.find('\0') != std::string_view::npos) {
    throw UserError(Origin(name, 1, 0), "expected text, got a NUL byte");
  }
  return Parser(name, limits).parse(text);
}

KernelProgram load_program(const std::string& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(status)) throw UserError("there is no file " + warploom::quoted(path));
  if (std::filesystem::is_directory(status)) throw UserError(warploom::quoted(path) + " is a folder, expected a file");
  std::ifstream file(path, std::ios::binary);
  std::string text(ProgramTextLimits().bytes + 1, '\0');  // one more than is read, so that it is told
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (!file && !file.eof())) throw UserError("cannot read " + warploom::quoted(path));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > ProgramTextLimits().bytes) {
    throw UserError(Origin(path, 1, 0),
                    fmt::format("larger than the {} bytes that are read of a program", ProgramTextLimits().bytes));
  }
  return parse_program(text, path);
}

void require_instructions(const KernelProgram& program, const DeviceSpec& device) {
  const TensorUnit unit = device.architecture.pipeline.tensor_unit;
  for (const WarpRole& role : program.roles) {
    for (const Instruction& what : role.code) {
      const bool needs_group = what.op == Op::wgmma && unit != TensorUnit::wgmma;
      const bool needs_block = (what.op == Op::tcgen05 || what.op == Op::tensor_load) && unit != TensorUnit::tcgen05;
      if (needs_group || needs_block) {
        throw UserError(fmt::format("`{}` of `{}`: {} has no such instruction", name(what.op), role.name, device.name),
                        fmt::format("its Tensor Cores are fed with `{}`", enum_name(unit)));
      }
      if (is_product(what.op)) device.tensor_flops_per_cycle(what.type);  // throws for a type it lacks
    }
  }
}

}  // namespace warploom
