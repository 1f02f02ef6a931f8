// Stands in for libFuzzer where there is none: runs files, all files of directories, all inputs of `.hex` files, and
// then `-runs=N` inputs of random bytes by `-seed=S`. An input that ends the process, in whatever way, is left in
// `-exact_artifact_path=PATH`, as each is written there before it runs. The options are libFuzzer's. A `.hex` file,
// which scripts/fuzz.py writes, has an input a line, and each byte as two lowercase digits.
#include <algorithm>
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

void write(const fs::path& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (file.close(); file) return;
  std::fprintf(stderr, "cannot write %s\n", path.c_str());
  std::exit(2);
}

Bytes read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

int digit(char text) {
  if ('0' <= text && text <= '9') return text - '0';
  if ('a' <= text && text <= 'f') return text - 'a' + 10;
  return -1;
}

// An input for each line. Ends the process at the first that is none.
std::vector<Bytes> read_lines(const fs::path& path) {
  std::ifstream file(path);
  std::vector<Bytes> inputs;
  for (std::string line; std::getline(file, line);) {
    Bytes& bytes = inputs.emplace_back(line.size() / 2);
    bool good = !line.empty() && line.size() % 2 == 0;
    for (size_t i = 0; good && i < bytes.size(); ++i) {
      const int high = digit(line[2 * i]), low = digit(line[2 * i + 1]);
      good = high >= 0 && low >= 0;
      bytes[i] = static_cast<uint8_t>(16 * high + low);
    }
    if (good) continue;
    std::fprintf(stderr, "%s line %zu is '%s', expected pairs of lowercase hexadecimal digits\n", path.c_str(),
                 inputs.size(), line.c_str());
    std::exit(2);
  }
  if (!inputs.empty()) return inputs;
  std::fprintf(stderr, "cannot read %s, expected a file with an input a line\n", path.c_str());
  std::exit(2);
}

// What a file holds: one input, or those of its lines.
std::vector<Bytes> read_inputs(const fs::path& path) {
  return path.extension() == ".hex" ? read_lines(path) : std::vector<Bytes>{read(path)};
}

}  // namespace

// ThreadSanitizer asks for this. By itself it goes on after a race, and then no input is known to have it.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() { return "halt_on_error=1"; }

int main(int argc, char** argv) {
  std::vector<fs::path> files;
  fs::path kept = "crash-input";
  uint64_t runs = 0, seed = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("-runs=", 0) == 0) {
      runs = std::stoull(argument.substr(6));
    } else if (argument.rfind("-seed=", 0) == 0) {
      seed = std::stoull(argument.substr(6));
    } else if (argument.rfind("-exact_artifact_path=", 0) == 0) {
      kept = argument.substr(21);
    } else if (argument[0] == '-') {
      std::fprintf(stderr,
                   "unknown option %s, expected -runs=N, -seed=S, -exact_artifact_path=PATH, files and directories\n",
                   argv[i]);
      return 2;
    } else if (fs::is_directory(argument)) {
      for (const auto& entry : fs::directory_iterator(argument)) files.push_back(entry.path());
    } else {
      files.emplace_back(argument);
    }
  }
  LLVMFuzzerInitialize(&argc, &argv);
  std::sort(files.begin(), files.end());
  const auto run = [&](const Bytes& bytes) {
    write(kept, bytes);
    // A block of its own, so that reads beyond it are seen.
    const Bytes copy(bytes);
    LLVMFuzzerTestOneInput(copy.data(), copy.size());
  };
  std::fprintf(stderr, "an input that fails is left in %s\n", kept.c_str());
  size_t kept_inputs = 0;
  for (const fs::path& file : files) {
    for (const Bytes& bytes : read_inputs(file)) {
      run(bytes);
      ++kept_inputs;
    }
  }
  std::mt19937_64 random(seed);
  for (uint64_t i = 0; i < runs; ++i) {
    Bytes bytes(random() % 400);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    run(bytes);
  }
  fs::remove(kept);
  std::printf("%zu kept and %llu random inputs ran clean\n", kept_inputs, static_cast<unsigned long long>(runs));
  return 0;
}
