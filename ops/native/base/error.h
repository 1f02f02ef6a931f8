// Errors, and how they print the values that they complain about: the words of errors.py.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "base/ort_abi.h"
#include "base/shape.h"

namespace onnx_maxpool {

// Thrown inside the library only; it becomes an OrtStatus where the library is left.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, int code = ort::kInvalidArgument)
      : std::runtime_error(message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

// The runtime has no memory for the scratch of a run, which may do with less.
class NoScratch : public Error {
 public:
  using Error::Error;
};

// Text out of a model or a setting, which need be neither UTF-8 nor free of NUL: what is not printable ASCII as \xff,
// byte by byte.
inline std::string escaped(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : bytes) {
    if (byte >= 0x20 && byte < 0x7f) {
      out += static_cast<char>(byte);
    } else {
      out += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return out;
}

// Whole numbers of up to so many are written with all their digits: 400, not 4e+02.
constexpr double kMostWhole = 1e7;

// The fewest digits that read back as the same value. Streams in the classic locale, because printf and strtod follow
// the process's: there a number may have a decimal comma.
template <class Float>
std::enable_if_t<std::is_floating_point_v<Float>, std::string> text(Float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value != 0 && std::fabs(value) <= kMostWhole && std::trunc(value) == value) {
    return std::to_string(static_cast<int64_t>(value));
  }
  std::string out;
  for (int digits = 1; digits <= std::numeric_limits<Float>::max_digits10; ++digits) {
    std::ostringstream print;
    print.imbue(std::locale::classic());
    print.precision(digits);
    print << value;
    out = print.str();
    std::istringstream read(out);
    read.imbue(std::locale::classic());
    // libc++ reads a subnormal number and still reports a failure. For a number beyond the largest, libstdc++ reports
    // one and gives the largest.
    Float back = 0;
    read >> back;
    if (back == value && (read || std::fabs(value) < 1)) break;
  }
  return out;
}

}  // namespace onnx_maxpool
