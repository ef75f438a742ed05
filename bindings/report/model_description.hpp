// SPDX-License-Identifier: Apache-2.0
// A model's sizes as a description: what its layers are made of, and what that comes to.
#pragma once

#include <string>

#include "bindings/report/description.hpp"
#include "workloads/models/model.hpp"

namespace warploom {

// `8.03 G`, `1.01 T`
std::string parameters_in_words(std::int64_t parameters);

// `name`: as it was asked for.
Description describe_model(const std::string& name, const Model& model);

}  // namespace warploom
