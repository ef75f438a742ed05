// SPDX-License-Identifier: Apache-2.0
// A folder that gets all the files of a run or none: they are written beside it and renamed when all are there.
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/cli/interrupts.hpp"

namespace warploom {

class OutputFolder {
 public:
  // Makes the folder if need be and proves that it takes files; throws UserError. `names` are all the files that a run
  // may leave here: those that this one does not write are removed by commit(), so that files of two runs do not mix.
  OutputFolder(const std::string& path, std::vector<std::string> names, Interrupts& interrupts);
  // Without commit(): as if it had never been.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Throws UserError when the disk does not take it.
  void write(std::string_view name, const std::function<void(std::ostream&)>& content);
  void write(std::string_view name, std::string_view text);
  void commit();

  const std::vector<std::string>& written() const { return written_; }

 private:
  void make_folders();
  void refuse_folders_in_the_way() const;
  void undo() noexcept;

  std::filesystem::path folder_;
  std::vector<std::string> names_;
  Interrupts& interrupts_;
  std::vector<std::filesystem::path> made_;  // folders that were not there before, outermost first
  std::filesystem::path staging_;            // inside the folder, so that a rename does not leave its file system
  std::vector<std::string> written_;
};

}  // namespace warploom
