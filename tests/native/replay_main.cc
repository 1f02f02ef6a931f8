// Stands in for libFuzzer where there is none: runs files, all files of directories, and then `-runs=N` inputs of
// random bytes by `-seed=S`, which it takes as libFuzzer does. An input that ends the process is left in `crash-input`.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerInitialize(int*, char***);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

const Bytes* running = nullptr;

extern "C" void keep_input(int) {
  if (FILE* file = running ? std::fopen("crash-input", "wb") : nullptr) {
    std::fwrite(running->data(), 1, running->size(), file);
    std::fclose(file);
    std::fputs("the input is in ./crash-input\n", stderr);
  }
}

void run(const Bytes& bytes) {
  running = &bytes;
  // A block of its own, so that reads beyond it are seen.
  const Bytes copy(bytes);
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
  running = nullptr;
}

Bytes read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGABRT, keep_input);
  std::vector<fs::path> files;
  uint64_t runs = 0, seed = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("-runs=", 0) == 0) {
      runs = std::stoull(argument.substr(6));
    } else if (argument.rfind("-seed=", 0) == 0) {
      seed = std::stoull(argument.substr(6));
    } else if (argument[0] == '-') {
      std::fprintf(stderr, "unknown option %s, expected -runs=N, -seed=S, files and directories\n", argv[i]);
      return 2;
    } else if (fs::is_directory(argument)) {
      for (const auto& entry : fs::directory_iterator(argument)) files.push_back(entry.path());
    } else {
      files.emplace_back(argument);
    }
  }
  LLVMFuzzerInitialize(&argc, &argv);
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) run(read(file));
  std::mt19937_64 random(seed);
  for (uint64_t i = 0; i < runs; ++i) {
    Bytes bytes(random() % 400);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    run(bytes);
  }
  std::printf("%zu files and %llu random inputs ran clean\n", files.size(), static_cast<unsigned long long>(runs));
  return 0;
}
