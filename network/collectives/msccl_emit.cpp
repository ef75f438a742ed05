// SPDX-License-Identifier: Apache-2.0
// Writes a schedule as an MSCCL file: for every pair of ranks a threadblock that sends and one that receives, with
// waits so that a chunk is read after what came before it and written after it was read.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "network/collectives/msccl_xml.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

struct Place {
  int block = -1;
  int step = -1;
  friend auto operator<=>(const Place&, const Place&) = default;
};

struct Line {
  std::string type;
  int chunk = 0;
  Place after;
};

struct Block {
  int peer = 0;
  bool sends = false;
  std::vector<Line> lines;
};

// One GPU's threadblocks as they grow.
class Gpu {
 public:
  void send(int peer, int chunk) { readers_[chunk].push_back(add(peer, true, "s", chunk, written(chunk))); }
  void receive(int peer, int chunk, bool reduces) {
    std::vector<Place> waits = written(chunk);
    for (const Place& reader : readers_[chunk]) waits.push_back(reader);
    writer_[chunk] = add(peer, false, reduces ? "rrc" : "r", chunk, waits);
    readers_[chunk].clear();
  }
  const std::vector<Block>& blocks() const { return blocks_; }

 private:
  std::vector<Place> written(int chunk) const {
    const auto found = writer_.find(chunk);
    return found == writer_.end() ? std::vector<Place>() : std::vector{found->second};
  }

  // A step waits for one other; a step of nothing for each more.
  Place add(int peer, bool sends, const std::string& type, int chunk, const std::vector<Place>& waits) {
    const auto [known, is_new] = index_.try_emplace({peer, sends}, static_cast<int>(blocks_.size()));
    if (is_new) blocks_.push_back({peer, sends, {}});
    auto& lines = blocks_[static_cast<std::size_t>(known->second)].lines;
    std::vector<Place> others;
    for (const Place& wait : waits) {
      if (wait.block != known->second) others.push_back(wait);
    }
    for (std::size_t i = 0; i + 1 < others.size(); ++i) lines.push_back({"nop", 0, others[i]});
    lines.push_back({type, chunk, others.empty() ? Place() : others.back()});
    return {known->second, static_cast<int>(lines.size()) - 1};
  }

  std::vector<Block> blocks_;
  std::map<std::pair<int, bool>, int> index_;
  std::map<int, Place> writer_;
  std::map<int, std::vector<Place>> readers_;  // since it was written
};

std::string step_text(int number, const Line& line, char buffer) {
  const std::string waits = fmt::format("depid=\"{}\" deps=\"{}\"", line.after.block, line.after.step);
  if (line.type == "nop") return fmt::format("      <step s=\"{}\" type=\"nop\" {}/>\n", number, waits);
  return fmt::format(
      "      <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" cnt=\"1\" {}/>\n",
      number, line.type, buffer, line.chunk, buffer, line.chunk, waits);
}

}  // namespace

std::string msccl_xml(const Schedule& schedule, CollectiveKind kind, const std::string& name) {
  const bool is_gather = kind == CollectiveKind::all_gather;
  const bool is_scatter = kind == CollectiveKind::reduce_scatter;
  WARPLOOM_CHECK(is_gather || is_scatter || kind == CollectiveKind::all_reduce, "no MSCCL file of {}",
                 warploom::name(kind));
  std::vector<Transfer> transfers = schedule.transfers;
  std::ranges::stable_sort(transfers, {}, &Transfer::step);
  std::vector<Gpu> gpus(static_cast<std::size_t>(schedule.ranks));
  for (std::size_t i = 0; i < transfers.size();) {
    std::size_t end = i;
    while (end < transfers.size() && transfers[end].step == transfers[i].step) ++end;
    // All sends of a step read what was there before it.
    for (std::size_t t = i; t < end; ++t)
      gpus[static_cast<std::size_t>(transfers[t].from)].send(transfers[t].to, transfers[t].chunk);
    for (; i < end; ++i)
      gpus[static_cast<std::size_t>(transfers[i].to)].receive(transfers[i].from, transfers[i].chunk,
                                                              transfers[i].reduce);
  }
  const char buffer = is_gather ? 'o' : 'i';
  const int own = schedule.chunks / schedule.ranks;
  std::string text = fmt::format(
      "<algo name=\"{}\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"{}\" ngpus=\"{}\" coll=\"{}\" "
      "inplace=\"1\">\n",
      name, schedule.chunks, schedule.ranks,
      is_gather    ? "allgather"
      : is_scatter ? "reducescatter"
                   : "allreduce");
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    text += fmt::format("  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"0\">\n", g,
                        is_gather ? own : schedule.chunks,
                        is_gather    ? schedule.chunks
                        : is_scatter ? own
                                     : 0);
    const auto& blocks = gpus[g].blocks();
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const Block& block = blocks[b];
      text += fmt::format("    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"0\">\n", b, block.sends ? block.peer : -1,
                          block.sends ? -1 : block.peer);
      for (std::size_t s = 0; s < block.lines.size(); ++s)
        text += step_text(static_cast<int>(s), block.lines[s], buffer);
      text += "    </tb>\n";
    }
    text += "  </gpu>\n";
  }
  return text + "</algo>\n";
}

}  // namespace warploom
