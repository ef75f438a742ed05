// SPDX-License-Identifier: Apache-2.0
// Reads an MSCCL file strictly, with bounds on all that it can ask for.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <pugixml.hpp>
#include <set>

#include "network/collectives/msccl_program.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

constexpr std::size_t most_bytes = 64U << 20;
constexpr std::int32_t most_gpus = 256;
constexpr std::int32_t most_chunks = 65'536;          // of a buffer
constexpr std::int64_t most_chunks_in_all = 1 << 20;  // of all GPUs
constexpr std::size_t most_steps = 1 << 20;
constexpr std::int64_t most_moved = 1 << 22;  // chunks that all steps together touch

constexpr std::int32_t most_channels = 1024;

using BufferName = std::pair<std::string_view, MscclBuffer>;
constexpr std::array<BufferName, 3> buffer_names{
    BufferName{"i", MscclBuffer::input}, BufferName{"o", MscclBuffer::output}, BufferName{"s", MscclBuffer::scratch}};

class Reader {
 public:
  Reader(const std::string& text, const std::string& file) : text_(text) {
    program_.file = file;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '\n') line_ends_.push_back(at);
    }
  }

  MscclProgram read() {
    if (text_.size() > most_bytes) throw UserError(program_.at(0), "an MSCCL file of more than 64 MiB");
    pugi::xml_document document;
    const auto result = document.load_buffer(text_.data(), text_.size());
    if (!result) {
      throw UserError(program_.at(line_of(result.offset)), fmt::format("this is no XML: {}", result.description()));
    }
    const pugi::xml_node algo = only_child(document, "algo");
    read_algo(algo);
    std::int64_t chunks = 0;
    for (const pugi::xml_node gpu : algo.children()) {
      expect_element(gpu, "gpu");
      read_gpu(gpu);
      const auto& counts = program_.gpus[static_cast<std::size_t>(last_gpu_)].chunks;
      chunks += std::int64_t{counts[0]} + counts[1] + counts[2];
      if (chunks > most_chunks_in_all) refuse(gpu, fmt::format("more than {} chunks in all", most_chunks_in_all));
    }
    for (std::size_t id = 0; id < program_.gpus.size(); ++id) {
      if (program_.gpus[id].line == 0) refuse(algo, fmt::format("there is no gpu {} of {}", id, program_.gpus.size()));
    }
    check_blocks();
    return std::move(program_);
  }

 private:
  int line_of(std::ptrdiff_t offset) const {
    const auto at = static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0));
    return static_cast<int>(std::ranges::lower_bound(line_ends_, at) - line_ends_.begin()) + 1;
  }
  int line(pugi::xml_node node) const { return line_of(node.offset_debug()); }

  [[noreturn]] void refuse(pugi::xml_node node, const std::string& message, const std::string& hint = {}) const {
    throw UserError(program_.at(line(node)), message, hint);
  }

  static std::string tag(pugi::xml_node node) {
    return fmt::format("<{}>", std::string_view(node.name()).substr(0, 32));
  }

  void expect_element(pugi::xml_node node, std::string_view name) const {
    if (node.type() == pugi::node_element && name == node.name()) return;
    refuse(node, fmt::format("expected <{}>, got {}", name, node.type() == pugi::node_element ? tag(node) : "text"));
  }

  pugi::xml_node only_child(pugi::xml_node parent, std::string_view name) const {
    const pugi::xml_node child = parent.first_child();
    if (!child) throw UserError(program_.at(1), fmt::format("expected <{}>, got nothing", name));
    expect_element(child, name);
    if (child.next_sibling()) refuse(child.next_sibling(), fmt::format("a second element beside <{}>", name));
    return child;
  }

  void expect_attributes(pugi::xml_node node, const std::vector<std::string>& known) const {
    for (const pugi::xml_attribute attribute : node.attributes()) {
      const std::string name(std::string_view(attribute.name()).substr(0, 64));
      if (std::ranges::find(known, name) != known.end()) continue;
      refuse(node, fmt::format("{} has no attribute {}; expected some of {}", tag(node), quoted(name), join(known)),
             suggestion(name, known));
    }
  }

  // A whole number of a range; `otherwise` where the attribute is not there.
  std::int32_t number(pugi::xml_node node, const char* key, std::int32_t least, std::int32_t most,
                      std::optional<std::int32_t> otherwise = std::nullopt) const {
    const pugi::xml_attribute attribute = node.attribute(key);
    if (!attribute) {
      if (otherwise) return *otherwise;
      refuse(node, fmt::format("{} has no `{}`", tag(node), key));
    }
    const std::string_view text = attribute.value();
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most) return value;
    refuse(node, fmt::format("`{}` of {}: expected a whole number from {} to {}, got {}", key, tag(node), least, most,
                             quoted(std::string(text.substr(0, 32)))));
  }

  template <class Value, std::size_t Size>
  Value word(pugi::xml_node node, const char* key, const std::array<std::pair<std::string_view, Value>, Size>& known,
             std::optional<Value> otherwise = std::nullopt) const {
    const pugi::xml_attribute attribute = node.attribute(key);
    if (!attribute && otherwise) return *otherwise;
    std::vector<std::string> names;
    for (const auto& [name, value] : known) {
      if (attribute && name == attribute.value()) return value;
      names.emplace_back(name);
    }
    const std::string got =
        attribute ? quoted(std::string(std::string_view(attribute.value()).substr(0, 32))) : "nothing";
    refuse(node, fmt::format("`{}` of {}: expected one of {}, got {}", key, tag(node), join(names), got));
  }

  void read_algo(pugi::xml_node algo) {
    using Kind = std::pair<std::string_view, CollectiveKind>;
    constexpr std::array<Kind, 8> kinds{Kind{"allreduce", CollectiveKind::all_reduce},
                                        Kind{"allgather", CollectiveKind::all_gather},
                                        Kind{"reducescatter", CollectiveKind::reduce_scatter},
                                        Kind{"reduce_scatter", CollectiveKind::reduce_scatter},
                                        Kind{"alltoall", CollectiveKind::all_to_all},
                                        Kind{"broadcast", CollectiveKind::broadcast},
                                        Kind{"reduce", CollectiveKind::reduce},
                                        Kind{"all_reduce", CollectiveKind::all_reduce}};
    using Proto = std::pair<std::string_view, Protocol>;
    constexpr std::array<Proto, 3> protocols{Proto{"Simple", Protocol::simple}, Proto{"LL", Protocol::ll},
                                             Proto{"LL128", Protocol::ll128}};
    static const std::vector<std::string> attributes{"name",     "coll",      "proto",    "ngpus",
                                                     "inplace",  "nchannels", "nthreads", "nchunksperloop",
                                                     "minBytes", "maxBytes",  "redop",    "outofplace"};
    program_.line = line(algo);
    expect_attributes(algo, attributes);
    program_.name = std::string(std::string_view(algo.attribute("name").value()).substr(0, 256));
    if (program_.name.empty())
      refuse(algo, "<algo> has no `name`", "say what reports shall call it: `name=\"all_pairs\"`");
    program_.kind = word(algo, "coll", kinds);
    program_.protocol = word<Protocol>(algo, "proto", protocols, Protocol::simple);
    program_.in_place = number(algo, "inplace", 0, 1, 0) == 1;
    program_.gpus.resize(static_cast<std::size_t>(number(algo, "ngpus", 2, most_gpus)));
    program_.chunks = number(algo, "nchunksperloop", 1, most_chunks);
    program_.channels = number(algo, "nchannels", 1, most_channels, most_channels);
    number(algo, "nthreads", 32, 1024, 512);
    number(algo, "outofplace", 0, 1, 0);
    program_.least_bytes = size(algo, "minBytes", 0);
    program_.most_bytes = size(algo, "maxBytes", INT64_MAX);
    if (program_.least_bytes > program_.most_bytes) {
      refuse(algo, fmt::format("`minBytes` of <algo> is {}, above its `maxBytes`, {}", program_.least_bytes,
                               program_.most_bytes));
    }
    using Op = std::pair<std::string_view, int>;
    constexpr std::array<Op, 6> ops{Op{"sum", 0}, Op{"nop", 0}, Op{"prod", 0},
                                    Op{"min", 0}, Op{"max", 0}, Op{"avg", 0}};
    word<int>(algo, "redop", ops, 0);
  }

  std::int64_t size(pugi::xml_node node, const char* key, std::int64_t otherwise) const {
    const pugi::xml_attribute attribute = node.attribute(key);
    if (!attribute) return otherwise;
    const std::string_view text = attribute.value();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= 0) return value;
    refuse(node, fmt::format("`{}` of {}: expected a number of bytes, got {}", key, tag(node),
                             quoted(std::string(text.substr(0, 32)))));
  }

  void read_gpu(pugi::xml_node node) {
    static const std::vector<std::string> attributes{"id", "i_chunks", "o_chunks", "s_chunks"};
    expect_attributes(node, attributes);
    const auto ranks = static_cast<std::int32_t>(program_.gpus.size());
    last_gpu_ = number(node, "id", 0, ranks - 1);
    MscclGpu& gpu = program_.gpus[static_cast<std::size_t>(last_gpu_)];
    if (gpu.line != 0) refuse(node, fmt::format("gpu {} stands here twice; first at line {}", last_gpu_, gpu.line));
    gpu.line = line(node);
    gpu.chunks = {number(node, "i_chunks", 0, most_chunks), number(node, "o_chunks", 0, most_chunks),
                  number(node, "s_chunks", 0, most_chunks, 0)};
    expect_chunks(node, gpu);
    gpu.first_block = static_cast<std::int32_t>(program_.blocks.size());
    std::set<std::int32_t> ids;
    for (const pugi::xml_node block : node.children()) {
      expect_element(block, "tb");
      read_block(block, ranks);
      if (!ids.insert(program_.blocks.back().id).second)
        refuse(block, fmt::format("gpu {} has tb {} twice", last_gpu_, program_.blocks.back().id));
    }
    gpu.end_block = static_cast<std::int32_t>(program_.blocks.size());
  }

  // Buffers are as large as the collective's data; in place one of them may be left out.
  void expect_chunks(pugi::xml_node node, const MscclGpu& gpu) const {
    const auto ranks = static_cast<std::int32_t>(program_.gpus.size());
    const std::int32_t whole = program_.chunks;
    std::int32_t input = whole;
    std::int32_t output = whole;
    const bool is_gather = program_.kind == CollectiveKind::all_gather;
    const bool is_scatter = program_.kind == CollectiveKind::reduce_scatter;
    if (is_gather || is_scatter || program_.kind == CollectiveKind::all_to_all) {
      if (whole % ranks != 0) refuse(node, fmt::format("{} chunks cannot be shared by {} ranks", whole, ranks));
      if (is_gather) input = whole / ranks;
      if (is_scatter) output = whole / ranks;
    }
    const auto expect = [&](const char* key, std::int32_t got, std::int32_t wanted, bool is_alias) {
      if (got == wanted || (program_.in_place && is_alias && got == 0)) return;
      refuse(node, fmt::format("`{}` of gpu {}: expected {} for {} of {} chunks, got {}", key, last_gpu_, wanted,
                               warploom::name(program_.kind), whole, got));
    };
    expect("i_chunks", gpu.chunks[0], input, is_gather);
    expect("o_chunks", gpu.chunks[1], output, !is_gather);
  }

  void read_block(pugi::xml_node node, std::int32_t ranks) {
    static const std::vector<std::string> attributes{"id", "send", "recv", "chan"};
    expect_attributes(node, attributes);
    MscclBlock block;
    block.gpu = last_gpu_;
    block.line = line(node);
    block.id = number(node, "id", 0, 65'535);
    block.send_peer = number(node, "send", -1, ranks - 1, -1);
    block.recv_peer = number(node, "recv", -1, ranks - 1, -1);
    block.channel = number(node, "chan", 0, most_channels - 1, 0);
    if (block.channel >= program_.channels) {
      refuse(
          node,
          fmt::format("tb {} of gpu {} is on channel {} of {}", block.id, last_gpu_, block.channel, program_.channels),
          "`nchannels` of <algo> says how many there are; they count from 0");
    }
    if (block.send_peer == last_gpu_ || block.recv_peer == last_gpu_)
      refuse(node, fmt::format("tb {} of gpu {} sends to or receives from its own gpu", block.id, last_gpu_));
    block.first = static_cast<std::int32_t>(program_.steps.size());
    const auto index = static_cast<std::int32_t>(program_.blocks.size());
    for (const pugi::xml_node step : node.children()) {
      expect_element(step, "step");
      if (program_.steps.size() >= most_steps) refuse(step, fmt::format("more than {} steps", most_steps));
      read_step(step, block, index);
    }
    block.end = static_cast<std::int32_t>(program_.steps.size());
    program_.blocks.push_back(block);
  }

  void read_step(pugi::xml_node node, const MscclBlock& block, std::int32_t index) {
    using Type = std::pair<std::string_view, MscclType>;
    constexpr std::array<Type, 9> types{Type{"s", MscclType::send},
                                        Type{"r", MscclType::recv},
                                        Type{"rcs", MscclType::recv_copy_send},
                                        Type{"rrc", MscclType::recv_reduce},
                                        Type{"rrs", MscclType::recv_reduce_send},
                                        Type{"rrcs", MscclType::recv_reduce_copy_send},
                                        Type{"cpy", MscclType::copy},
                                        Type{"re", MscclType::reduce},
                                        Type{"nop", MscclType::nop}};
    static const std::vector<std::string> attributes{"s",      "type", "srcbuf", "srcoff", "dstbuf",
                                                     "dstoff", "cnt",  "depid",  "deps",   "hasdep"};
    expect_attributes(node, attributes);
    MscclStep step;
    step.block = index;
    step.line = line(node);
    const auto expected = static_cast<std::int32_t>(program_.steps.size()) - block.first;
    step.number = number(node, "s", 0, INT32_MAX);
    if (step.number != expected)
      refuse(node, fmt::format("steps of tb {} of gpu {} are numbered in order: expected {}, got {}", block.id,
                               block.gpu, expected, step.number));
    step.type = word(node, "type", types);
    step.waits_for_block = number(node, "depid", -1, 65'535, -1);
    step.waits_for_step = number(node, "deps", -1, INT32_MAX, -1);
    number(node, "hasdep", 0, 1, 0);
    if (step.type == MscclType::nop) {
      number(node, "cnt", 0, most_chunks, 0);
      expect_unused(node, "src");
      expect_unused(node, "dst");
    } else {
      step.count = number(node, "cnt", 1, most_chunks, 1);
      moved_ += step.count;
      if (moved_ > most_moved) refuse(node, fmt::format("steps of more than {} chunks in all", most_moved));
      if (step.type != MscclType::recv && step.type != MscclType::recv_copy_send) {
        step.source = chunk(node, "src", step.count);
      } else {
        expect_unused(node, "src");
      }
      if (step.type != MscclType::send && step.type != MscclType::recv_reduce_send) {
        step.target = chunk(node, "dst", step.count);
      } else {
        expect_unused(node, "dst");
      }
    }
    if (sends(step.type) && block.send_peer < 0)
      refuse(node, fmt::format("tb {} of gpu {} sends but has no `send` peer", block.id, block.gpu));
    if (receives(step.type) && block.recv_peer < 0)
      refuse(node, fmt::format("tb {} of gpu {} receives but has no `recv` peer", block.id, block.gpu));
    program_.steps.push_back(step);
  }

  // Of a side that the step does not touch: msccl-tools writes the peer's, or -1.
  void expect_unused(pugi::xml_node node, const std::string& side) const {
    word<MscclBuffer>(node, (side + "buf").c_str(), buffer_names, MscclBuffer::input);
    number(node, (side + "off").c_str(), -1, most_chunks, -1);
  }

  MscclChunk chunk(pugi::xml_node node, const std::string& side, std::int32_t count) const {
    const std::string buffer_key = side + "buf";
    const std::string offset_key = side + "off";
    MscclChunk chunk{word(node, buffer_key.c_str(), buffer_names), number(node, offset_key.c_str(), 0, most_chunks)};
    // In place, one buffer is a part of the other.
    const std::int32_t given = chunk.offset;
    const std::int32_t own = program_.chunks / static_cast<std::int32_t>(program_.gpus.size());
    std::int32_t size =
        program_.gpus[static_cast<std::size_t>(last_gpu_)].chunks[static_cast<std::size_t>(chunk.buffer)];
    if (program_.in_place && program_.kind == CollectiveKind::all_gather && chunk.buffer == MscclBuffer::input) {
      size = own;
      chunk = {MscclBuffer::output, chunk.offset + last_gpu_ * own};
    } else if (program_.in_place && program_.kind == CollectiveKind::reduce_scatter &&
               chunk.buffer == MscclBuffer::output) {
      size = own;
      chunk = {MscclBuffer::input, chunk.offset + last_gpu_ * own};
    } else if (program_.in_place && chunk.buffer == MscclBuffer::output &&
               program_.kind != CollectiveKind::all_gather && program_.kind != CollectiveKind::all_to_all) {
      size = program_.chunks;
      chunk.buffer = MscclBuffer::input;
    }
    if (given + count > size)
      refuse(node, fmt::format("chunks {} to {} are outside the {} chunks of buffer `{}` of gpu {}", given,
                               given + count - 1, size, node.attribute(buffer_key.c_str()).value(), last_gpu_));
    return chunk;
  }

  // A connection has one threadblock at each end.
  void check_blocks() const {
    std::set<std::array<std::int32_t, 4>> ends;
    for (const MscclBlock& block : program_.blocks) {
      const auto take = [&](std::int32_t peer, std::int32_t direction) {
        if (peer < 0 || ends.insert({block.gpu, peer, block.channel, direction}).second) return;
        throw UserError(program_.at(block.line),
                        fmt::format("a second threadblock of gpu {} {} gpu {} on channel {}", block.gpu,
                                    direction == 0 ? "sends to" : "receives from", peer, block.channel));
      };
      take(block.send_peer, 0);
      take(block.recv_peer, 1);
    }
  }

  const std::string& text_;
  std::vector<std::size_t> line_ends_;
  MscclProgram program_;
  std::int32_t last_gpu_ = 0;
  std::int64_t moved_ = 0;
};

}  // namespace

MscclProgram read_msccl(const std::string& text, const std::string& file) { return Reader(text, file).read(); }

std::string MscclProgram::name_of(std::int32_t step) const {
  const MscclStep& one = steps[static_cast<std::size_t>(step)];
  const MscclBlock& block = blocks[static_cast<std::size_t>(one.block)];
  return fmt::format("gpu {}, tb {}, step {}", block.gpu, block.id, one.number);
}

}  // namespace warploom
