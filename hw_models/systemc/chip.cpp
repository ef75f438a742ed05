// SPDX-License-Identifier: Apache-2.0
// The chip: SMs, the dispatch of blocks to them, and the memories that they share; and how SystemC is entered and left.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <systemc>
#include <vector>

#include "hw_models/detailed.hpp"
#include "hw_models/systemc/sm.hpp"
#include "sim/core/errors.hpp"

// libsystemc.so brings a main() that calls this; nothing here does.
__attribute__((visibility("default"))) int sc_main(int /*unused*/, char** /*unused*/) { return 0; }

namespace warploom {

namespace {

using detailed::MemorySystem;
using detailed::Sm;

constexpr std::int64_t most_activations = 50'000'000;
constexpr double most_cycles = 1e15;

// SystemC's kernel is one a process: one simulation at a time, each in a context of its own, deleted behind it.
class Context {
 public:
  Context() : lock_(mutex()), context_(std::make_unique<sc_core::sc_simcontext>()) {
    sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
    sc_core::sc_report_handler::set_actions(sc_core::SC_WARNING, sc_core::SC_DO_NOTHING);
    sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_THROW);
    sc_core::sc_report_handler::set_actions(sc_core::SC_FATAL, sc_core::SC_THROW);
    sc_core::sc_curr_simcontext = context_.get();
    sc_core::sc_default_global_context = context_.get();
  }
  ~Context() {
    context_.reset();
    sc_core::sc_curr_simcontext = nullptr;
    sc_core::sc_default_global_context = nullptr;
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  std::lock_guard<std::mutex> lock_;
  std::unique_ptr<sc_core::sc_simcontext> context_;
};

double total_work(const KernelProgram& program) {
  double work = 0;
  for (const BlockGroup& group : program.blocks) {
    work += static_cast<double>(group.blocks) * detailed::block_work(group);
  }
  return work;
}

BlockPicture lanes_of(const KernelProgram& program) {
  BlockPicture picture;
  for (const WarpRole& role : program.roles) {
    for (int w = 0; w < role.warps; ++w) picture.lanes.push_back(fmt::format("{} {}", role.name, w));
  }
  for (const char* unit : {"Tensor Cores", "copies", "shared memory", "stores"}) picture.lanes.emplace_back(unit);
  return picture;
}

// Plays until nothing happens any more.
void play(const KernelProgram& program, const std::vector<std::unique_ptr<Sm>>& sms,
          const std::function<void(double share)>& progress) {
  const double slice = progress ? 2e4 : 1e6;  // cycles between looks at the activations
  const double all = progress ? total_work(program) : 1;
  for (;;) {
    // Where nothing happens for long, on to what comes next.
    const auto pending = static_cast<double>(sc_core::sc_time_to_pending_activity().value());
    const bool is_idle = sc_core::sc_pending_activity() && pending > slice;
    if (is_idle && pending > most_cycles - static_cast<double>(sc_core::sc_time_stamp().value())) {
      throw UserError(fmt::format("`{}` takes more than {} cycles", program.name, most_cycles),
                      "it moves too much, or the device moves too little in a cycle");
    }
    sc_core::sc_start(is_idle ? pending + 1 : slice, sc_core::SC_PS);
    std::int64_t activations = 0;
    double started = 0;
    for (const auto& sm : sms) {
      activations += sm->activations();
      started += sm->work();
    }
    if (progress) progress(started / all);
    if (activations > most_activations) {
      throw UserError(
          fmt::format("`{}` takes more than {} activations of the model's processes", program.name, most_activations),
          sms.size() > 1 ? "leave out `--sms all`, take a smaller kernel, or mark loops whose turns are alike"
                         : "shorten its loops, or mark those whose turns are alike");
    }
    if (!sc_core::sc_pending_activity()) break;
  }
  for (const auto& sm : sms) {
    if (sm->is_done()) continue;
    throw UserError(fmt::format("`{}` waits for ever: {}", program.name, sm->held()));
  }
}

// Before anything is played: what is thrown in a process of SystemC's passes for a mistake of ours.
void check_types(const KernelProgram& program, const DeviceSpec& device) {
  for (const WarpRole& role : program.roles) {
    for (const Instruction& what : role.code) {
      if (what.op != Op::mma && what.op != Op::wgmma && what.op != Op::tcgen05) continue;
      device.tensor_flops_per_cycle(what.type);
      if (what.is_sparse) device.sparse_flops_per_cycle(what.type);
    }
  }
}

}  // namespace

bool has_detailed_model() { return true; }

DetailedResult simulate_detailed(const KernelProgram& program, const DeviceSpec& device, Frequency clock,
                                 const DetailedOptions& options) {
  check_types(program, device);
  DetailedResult result;
  result.program = program.name;
  result.clock = clock;
  result.blocks = program.block_count();
  result.blocks_an_sm = resident_blocks(program, device);
  result.warps_an_sm = result.blocks_an_sm * program.warps();
  result.occupancy = result.warps_an_sm / (device.sm.threads / 32.0);
  result.waves = static_cast<double>(result.blocks) / (static_cast<double>(device.sm.count) * result.blocks_an_sm);
  if (options.draws) result.picture = lanes_of(program);

  const Context context;
  const detailed::SmRates rates = detailed::rates_of(device);
  MemorySystem memory(device, clock, program, options.all_sms);
  std::unique_ptr<detailed::BlockSource> blocks;
  int count = 1;
  if (options.all_sms) {
    blocks = std::make_unique<detailed::SharedBlocks>(program.blocks);
    count = device.sm.count;
  } else {
    blocks = std::make_unique<detailed::OwnBlocks>(
        detailed::busiest_sm(program.blocks, device.sm.count, result.blocks_an_sm));
  }
  std::vector<std::unique_ptr<Sm>> sms;
  for (int i = 0; i < count; ++i) {
    BlockPicture* picture = options.draws && i == 0 ? &result.picture : nullptr;
    sms.push_back(std::make_unique<Sm>(fmt::format("sm_{}", i).c_str(), program, rates, *blocks, memory,
                                       result.blocks_an_sm, !options.all_sms, picture));
  }
  // Places are filled SM by SM, one block each, then the next.
  for (int place = 0; place < result.blocks_an_sm; ++place) {
    for (const auto& sm : sms) sm->take_block();
  }
  play(program, sms, options.progress);

  double work = 0;
  double skipped = 0;
  for (const auto& sm : sms) {
    result.cycles = std::max(result.cycles, sm->cycles());
    result.prologue = std::max(result.prologue, sm->prologue());
    result.sm_cycles += sm->cycles() / count;
    result.sm.add(sm->counts(), 1.0 / count);
    result.activations += sm->activations();
    work += sm->work();
    skipped += sm->skipped() / count;
  }
  result.cycles = std::max(result.cycles, memory.written_back() + skipped);
  result.scale = total_work(program) / work * count;
  result.extrapolated = result.sm_cycles > 0 ? skipped / result.sm_cycles : 0;
  return result;
}

}  // namespace warploom
