// SPDX-License-Identifier: Apache-2.0
// The write to the cache, products with the latents' projections, copies and attention, in order.
#include "hw_models/programs/mla_program.hpp"

#include "hw_models/kernels/attention_tiling.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/programs/attention_program.hpp"
#include "hw_models/programs/attention_serving.hpp"
#include "hw_models/programs/attention_work.hpp"
#include "hw_models/programs/gemm_program.hpp"
#include "hw_models/programs/streaming_program.hpp"

namespace warploom {

namespace {

void append(std::vector<KernelProgram>& programs, std::vector<KernelProgram> more) {
  for (KernelProgram& program : more) programs.push_back(std::move(program));
}

// A copy of `elements` in other places or another type, of PyTorch: four elements a thread.
KernelProgram copy_program(const char* name, std::int64_t elements, double in, double out, double cold) {
  StreamingPass pass;
  pass.reads = {{"in", in, cold}};
  pass.writes = {{"out", out, cold}};
  pass.work = {0, 4, 0};
  pass.vector = 4;
  return streaming_program(flat_kernel(name, elements, 128, pass));
}

}  // namespace

std::vector<KernelProgram> mla_programs(const MlaShape& shape, const DeviceSpec& device) {
  AttentionShape core = mla_core(shape);
  const double cold = 1 - found_in_l2(core, device);
  const double width = bits(shape.type) / 8.0;
  const double stored = bits(kv_type(core)) / 8.0;
  std::vector<KernelProgram> programs;
  if (shape.serving) {
    AttentionShape latent;  // one vector a token
    latent.batch = shape.batch;
    latent.query_heads = latent.kv_heads = 1;
    latent.query_length = shape.query_length;
    latent.kv_length = shape.kv_length;
    latent.head_dim = (shape.latent + shape.rope) / 2;  // as much as a key and a value of half of it
    latent.type = shape.type;
    latent.kv_type = shape.kv_type;
    latent.serving = true;
    latent.warm = shape.warm;
    programs.push_back(latent_write_program(latent, device));
  }
  const std::int64_t tokens = shape.batch * shape.query_length;
  GemmShape into{.m = tokens, .n = shape.latent, .k = shape.nope, .batch = shape.heads, .is_warm = shape.warm};
  into.input = into.output = shape.type;
  if (is_absorbed(shape)) {
    if (shape.projections) append(programs, gemm_programs(into, device));
    if (shape.serving) {  // the parts of the queries are joined
      const std::int64_t joined = tokens * shape.heads * (shape.latent + shape.rope);
      programs.push_back(copy_program("joined queries", joined, width, width, cold));
    }
  } else {
    if (shape.projections) {
      into.m = shape.batch * shape.kv_length;
      into.n = shape.heads * (shape.nope + shape.value);
      into.k = shape.latent;
      into.batch = 1;
      append(programs, gemm_programs(into, device));
    }
    const std::int64_t heads = shape.batch * shape.kv_length * shape.heads;
    programs.push_back(copy_program("joined keys", heads * (shape.nope + shape.rope), width, width, cold));
    if (stored < width) {
      const std::int64_t wide = heads * (shape.nope + shape.rope + shape.value);
      programs.push_back(copy_program("narrow keys and values", wide, width, stored, cold));
    }
  }
  append(programs, attention_programs(core, device));
  if (is_absorbed(shape) && shape.projections) {
    into.n = shape.value;
    into.k = shape.latent;
    append(programs, gemm_programs(into, device));
  }
  return programs;
}

}  // namespace warploom
