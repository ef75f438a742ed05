// SPDX-License-Identifier: Apache-2.0
// The kinds of tables, one function a file of tables/. tables.cpp lists them.
#pragma once

#include "workloads/validation/table_kind.hpp"

namespace warploom {

const TableKind& gemm_table();
const TableKind& gemm_quantized_table();
const TableKind& gemm_fp32_table();
const TableKind& quantize_table();
const TableKind& llm_layer_ops_table();
const TableKind& attention_table();
const TableKind& mla_table();
const TableKind& moe_table();
const TableKind& memory_bound_table();
const TableKind& training_table();
const TableKind& pipeline_bubbles_table();
const TableKind& collectives_table();
const TableKind& profiled_collectives_table();
const TableKind& custom_all_reduce_table();
const TableKind& moe_low_latency_table();
const TableKind& moe_normal_table();
const TableKind& moe_libraries_table();
const TableKind& replay_table();

}  // namespace warploom
