// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over the files of the folders and paths given, where libFuzzer is not linked.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void replay(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 0;
  try {
    replay("/dev/null");  // the empty input, which no corpus file can be in git without being noticed
    for (int i = 1; i < argc; ++i) {
      if (!std::filesystem::is_directory(argv[i])) {
        replay(argv[i]);
        ++count;
        continue;
      }
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
        if (!entry.is_regular_file()) {
          continue;
        }
        std::printf("%s\n", entry.path().c_str());
        replay(entry.path());
        ++count;
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "an exception left the fuzz target: %s\n", error.what());
    return 1;
  }
  std::printf("replayed %zu corpus files\n", count);
  return count > 0 ? 0 : 1;  // a target without a corpus tests nothing
}
