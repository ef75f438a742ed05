// SPDX-License-Identifier: Apache-2.0
// A model's sizes as a description: what its layers are made of, and what that comes to.
#pragma once

#include <string>

#include "bindings/report/description.hpp"
#include "workloads/models/model.hpp"

namespace warploom {

// `name`: as it was asked for.
Description describe_model(const std::string& name, const Model& model);

}  // namespace warploom
