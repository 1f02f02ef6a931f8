// The images and windows of ROIs, as many ROIs at once as a vector has lanes: rules M5 to M8, M10 and M11 where no
// rounding or limit asks for more than 32 bits. Compiled once per target.
//
//   rows of ROIs   b x1 y1 x2 y2        images  b b b b           windows of each bin,
//                  b x1 y1 x2 y2   -->  edges   x1 x1 x1 x1  -->  start end start end
//                  ...                          ...
#include "kernels/roi.h"
#include "kernels/simd/transpose.h"
#include "kernels/upper_halves.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Float>
class WindowFinder {
  static constexpr int kLanes = kVectorBytes / sizeof(Float);
  static constexpr int kOfBlock = 16 / sizeof(Float);
  using Floats = Vector<Float, kVectorBytes>;
  using Mask = Vector<typename IntegerOf<sizeof(Float)>::type, kVectorBytes>;
  using Ints = Vector<int32_t, kLanes * 4>;

 public:
  explicit WindowFinder(const RoiRows& rois) : rois_(rois), scale_(static_cast<Float>(rois.spatial_scale)) {}

  bool find() const {
    constexpr int64_t kMostImages = 1 << 24;                            // exact in float
    if (rois_.images == 0 || rois_.images > kMostImages) return false;  // of none, -0.5 is no batch number either
    Mask far{};
    for (int64_t roi = 0; roi < rois_.count; roi += kLanes) {
      const int64_t left = rois_.count - roi, some = left < kLanes ? left : kLanes;
      const Float* const rows = static_cast<const Float*>(rois_.values) + 5 * roi;
      Floats columns[4];  // x1, y1, x2, y2
      load_rows(rows, some, columns);
      const Floats batches = load_batches(rows, some);
      far |= ~((batches > -1) & (batches < static_cast<Float>(rois_.images)));
      const Ints x1 = edges(columns[0], far), y1 = edges(columns[1], far), x2 = edges(columns[2], far),
                 y2 = edges(columns[3], far);
      if (!all_false(far)) return false;
      write_images(batches, some, rois_.image + roi);
      write<false>(y1, y2, rois_.bins_y, rois_.height, some, rois_.y + roi * rois_.bins_y, nullptr);
      RoiWindow* const x = rois_.x + roi * rois_.bins_x;
      if (rois_.widths) {
        write<true>(x1, x2, rois_.bins_x, rois_.width, some, x, rois_.widths + roi);
      } else {
        write<false>(x1, x2, rois_.bins_x, rois_.width, some, x, nullptr);
      }
    }
    return true;
  }

 private:
  // What comes behind the batch in so many rows. If there are fewer rows than lanes, the last row fills the rest.
  static ONNX_MAXPOOL_INLINE void load_rows(const Float* rows, int64_t some, Floats* columns) {
    using Block = Vector<Float, 16>;
    constexpr int kBlocks = kVectorBytes / 16;
    Floats other[kOfBlock];
    for (int part = 0; part < 4; part += kOfBlock) {
      for (int i = 0; i < kOfBlock; ++i) {
        Block blocks[kBlocks];
        for (int block = 0; block < kBlocks; ++block) {
          const int64_t roi = i + block * kOfBlock;
          blocks[block] = load<Block>(rows + 5 * (roi < some ? roi : some - 1) + 1 + part);
        }
        columns[part + i] = combine_blocks<Floats, Float>(blocks);
      }
      Floats *from = columns + part, *to = other;
      transpose_in_blocks<Float, kOfBlock>(from, to);
      for (int i = 0; i < kOfBlock && from == other; ++i) columns[part + i] = from[i];
    }
  }

  static ONNX_MAXPOOL_INLINE Floats load_batches(const Float* rows, int64_t some) {
    Floats batches;
#pragma GCC unroll 16
    for (int64_t lane = 0; lane < kLanes; ++lane) batches[lane] = rows[5 * (lane < some ? lane : some - 1)];
    return batches;
  }
  // M10: batch numbers are truncated.
  static ONNX_MAXPOOL_INLINE void write_images(Floats batches, int64_t some, int64_t* to) {
    const auto images = __builtin_convertvector(__builtin_convertvector(batches, Ints), Vector<int64_t, kLanes * 8>);
    __builtin_memcpy(to, &images, static_cast<size_t>(some) * sizeof(int64_t));
  }

  // M5: halves are rounded away from zero. `far` becomes true in lanes whose edges are not near, or not a number.
  ONNX_MAXPOOL_INLINE Ints edges(Floats coordinates, Mask& far) const {
    constexpr Float kNear = 1 << 22;  // an extent has at most 2^23 + 1 cells: exact in float, and sums fit in 32 bits
    const Floats cells = coordinates * scale_;
    const Mask near = (cells < kNear) & (cells > -kNear);
    far |= ~near;
    const Floats inside = near ? cells : Floats{};
    const Ints whole = __builtin_convertvector(inside, Ints);  // towards zero
    const Floats rest = inside - __builtin_convertvector(whole, Floats);
    return whole - ints(rest >= Float{0.5}) + ints(rest <= Float{-0.5});
  }
  // -1 where a comparison is true.
  static ONNX_MAXPOOL_INLINE Ints ints(Mask mask) { return __builtin_convertvector(mask, Ints); }

  // The windows of so many ROIs along an axis (M6 to M8), those of an ROI behind each other; and how many cells they
  // have.
  template <bool with_widths>
  static ONNX_MAXPOOL_INLINE void write(Ints first, Ints last, int64_t bins, int64_t size, int64_t some,
                                        RoiWindow* windows, BinWidths* widths) {
    const Ints whole = last - first + 1, extent = whole > 1 ? whole : Ints{} + 1;
    const auto clipped = [&](Ints cell) {
      const Ints end = Ints{} + static_cast<int32_t>(size);
      return min(max(first + cell, Ints{}), end);
    };
    if (bins == 1) return write_pairs(clipped(Ints{}), clipped(extent), some, windows, 1);
    const Floats bin_size = __builtin_convertvector(extent, Floats) / static_cast<Float>(bins);
    Ints least{}, most{}, down{};
    for (int32_t bin = 0; bin < bins; ++bin) {
      const Ints start = clipped(down);
      const Floats edge = bin_size * static_cast<Float>(bin + 1);
      down = __builtin_convertvector(edge, Ints);
      const Ints end = clipped(down - ints(__builtin_convertvector(down, Floats) < edge));
      write_pairs(start, end, some, windows + bin, bins);
      if constexpr (with_widths) {
        const Ints cells = end - start;
        least = bin == 0 ? cells : min(least, cells);
        most = bin == 0 ? cells : max(most, cells);
      }
    }
    if constexpr (with_widths) write_pairs(least, most, some, widths, 1);
  }

  // A pair of each of so many lanes, so many pairs apart.
  template <class Pair>
  static ONNX_MAXPOOL_INLINE void write_pairs(Ints first, Ints second, int64_t some, Pair* to, int64_t apart) {
    static_assert(sizeof(Pair) == sizeof(int64_t));
    int64_t pairs[kLanes];
    const Ints lower = interleave_whole_lower<int32_t>(first, second),
               upper = interleave_whole_upper<int32_t>(first, second);
    if (apart == 1 && some == kLanes) {
      store(reinterpret_cast<int32_t*>(to), lower);
      store(reinterpret_cast<int32_t*>(to) + kLanes, upper);
      return;
    }
    __builtin_memcpy(pairs, &lower, sizeof lower);
    __builtin_memcpy(pairs + kLanes / 2, &upper, sizeof upper);
    if (some == kLanes) {
#pragma GCC unroll 16
      for (int64_t i = 0; i < kLanes; ++i) __builtin_memcpy(to + i * apart, pairs + i, sizeof(Pair));
    } else {
      for (int64_t i = 0; i < some; ++i) __builtin_memcpy(to + i * apart, pairs + i, sizeof(Pair));
    }
  }

  const RoiRows& rois_;
  const Float scale_;
};

}  // namespace

bool find_roi_windows(const RoiRows& rois) {
  const ClearsUpperHalves clears;
  return rois.are_double ? WindowFinder<double>(rois).find() : WindowFinder<float>(rois).find();
}

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
