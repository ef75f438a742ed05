// SPDX-License-Identifier: Apache-2.0
// Declared constants as the coordinates of a fit: one for each place that they are written in.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "workloads/calibration/calibration.hpp"
#include "workloads/calibration/constants.hpp"
#include "workloads/calibration/descent.hpp"

namespace warploom {

// Library files in parts that share no constant of this kind of table, each in order.
std::vector<std::vector<std::string>> files_that_share(ValidationContext& context,
                                                       std::span<const DeclaredConstant> declared,
                                                       const std::string& kind, const std::vector<std::string>& files);

// Every place of the library that a declared constant stands in, with its value and all that use it.
std::vector<FittedConstant> constants_in_library(ValidationContext& context);

class ParameterSet {
 public:
  // The constants of the kind that these files reach. Throws UserError for one that stands outside its range.
  ParameterSet(ValidationContext& context, std::span<const DeclaredConstant> declared, const std::string& kind,
               const std::vector<std::string>& files);

  std::size_t size() const { return parameters_.size(); }
  const std::vector<DescentRange>& ranges() const { return ranges_; }
  const std::vector<double>& start() const { return start_; }
  const DeclaredConstant& declared(std::size_t i) const { return *parameters_[i].declared; }
  const Origin& written(std::size_t i) const { return parameters_[i].written; }
  const std::vector<std::string>& files(std::size_t i) const { return parameters_[i].files; }  // that reach it

  // From now on the context predicts with these, beside what was settled before.
  void apply(const std::vector<double>& values);
  // As they will be written.
  std::vector<double> rounded(const std::vector<double>& values) const;
  std::vector<FittedConstant> fitted(const std::vector<double>& values, const std::vector<std::string>& sources);

 private:
  struct Parameter {
    const DeclaredConstant* declared;
    Origin written;
    std::string before;
    std::vector<std::string> files;
  };

  ValidationContext& context_;
  std::vector<std::string> files_;
  std::vector<std::vector<std::string>> settled_;  // overrides that each file had before
  std::vector<Parameter> parameters_;
  std::vector<DescentRange> ranges_;
  std::vector<double> start_;
};

}  // namespace warploom
