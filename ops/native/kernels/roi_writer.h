// The bins of an ROI, vectors with channels in the lanes, as elements in the output's order.
//
//   bins, from the kernel         strip by strip      output, one contiguous piece
//   b0: c0 c1 c2 c3               ------------->      c0: b0 b1 b2 b3 b4
//   b1: c0 c1 c2 c3                 transpose         c1: b0 b1 b2 b3 b4
//   ...                                               ...
//
// Strips go from last to first, blocks of channels from first to last: what a channel's last strip leaves beyond its
// bins, the next channels' strips overwrite; or, where there is room between channels, what a copy past the caches
// needs there.
#pragma once

#include "kernels/simd/order.h"
#include "kernels/simd/streamed_copy.h"
#include "kernels/simd/transpose.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Loops have what they need in variables of their own, as the compiler takes any store for one to what `this` points
// to.
template <class Key, int bytes, class Copy>
class BinWriter {
  using V = Vector<Key, bytes>;
  static constexpr int kLanes = bytes / sizeof(Key);
  // Bins that are transposed at once: of narrow keys a square would not fit the registers.
  static constexpr int kStrip = sizeof(Key) == 2 && bytes > 16 ? kLanes / 2 : kLanes;
  static constexpr int kFewBins = kStrip / 4, kFourBins = 4;
  static constexpr bool kStreams = Copy::kStreams;

 public:
  // Of the buffers from which it streams so many blocks of channels at a time, if it does.
  static int64_t vectors(int64_t blocks, int64_t bins) { return kStreams ? 2 * vectors_of_one(blocks, bins) : 0; }

  // Of ROIs with so many bins. Streams by way of `buffers`.
  BinWriter(ValueOrder<Key> order, int64_t blocks, int64_t bins, V* buffers)
      : order_(order),
        bins_(bins),
        pitch_(kStreams ? streamed_pitch(bins) : bins),
        buffers_{buffers, kStreams ? buffers + vectors_of_one(blocks, bins) : nullptr} {}

  // `from` are the bins of each block of channels, (blocks, bins), and a vector's lanes of room; `destination` is of
  // (channels, bins).
  ONNX_MAXPOOL_NOINLINE void write(const V* from, int64_t channels, Key* destination, Copy& copy) {
    second_ = !second_;  // the buffer that the last ROI's copy does not still read
    Key* const all = kStreams ? reinterpret_cast<Key*>(buffers_[second_]) : destination;
    Key* out = all;
    for (int64_t left = channels; left > 0; left -= kLanes, from += bins_, out += kLanes * pitch_) {
      write_block(from, static_cast<int>(left < kLanes ? left : kLanes), out, copy);
    }
    if constexpr (kStreams) begin_copy(destination, channels, all, copy);
  }

 private:
  static constexpr int kBlockLanes = 16 / sizeof(Key);
  // Whether blocks have no more lanes than four bins, and vectors more than a block.
  static constexpr bool kHasFourBins = sizeof(Key) >= 4 && bytes > 16;
  static constexpr int64_t kLineLanes = kStreamedLine / sizeof(Key);
  static constexpr int64_t kSize = sizeof(Key);

  // From a channel's bins to the next one's, in a buffer. Stores that straddle lines of memory take longer, so that a
  // channel of many bins begins with a line; of how many, measurements say (docs/benchmark/rois.md).
  static int64_t streamed_pitch(int64_t bins) {
    constexpr int64_t kManyBins = 64;
    return bins < kManyBins || bins % kLineLanes == 0 ? bins : (bins / kLineLanes + 2) * kLineLanes;
  }
  static int64_t vectors_of_one(int64_t blocks, int64_t bins) { return blocks * streamed_pitch(bins) + kLanes; }

  ONNX_MAXPOOL_INLINE void begin_copy(Key* to, int64_t channels, Key* from, Copy& copy) {
    if (pitch_ == bins_) return copy.begin(to, from, static_cast<size_t>(channels * bins_ * kSize));
    for (int64_t c = 1; c < channels; ++c) {
      __builtin_memcpy(from + (c - 1) * pitch_ + bins_, from + c * pitch_, kStreamedLine);
    }
    StreamedRows& rows = rows_[second_];  // the other one's copy may still go on
    rows = {channels, bins_ * kSize, pitch_ * kSize};
    copy.begin(to, from, rows);
  }

  ONNX_MAXPOOL_INLINE void write_block(const V* from, int channels, Key* out, Copy& copy) const {
    const int64_t rest = bins_ % kStrip;
    int64_t end = bins_;
    if (kHasFourBins && bins_ == kFourBins && channels == kLanes) return write_four(from, out);
    if (bins_ <= kBlockLanes) return write_blocks(from, channels, out);
    if (channels < kLanes) {
      const int64_t last = bins_ % kLanes;
      if (last > kFewBins) {
        end = write_part(from, channels, out, end, kLanes, copy);
      } else {
        end -= last;
        write_some_columns(from, channels, out, end, copy);
      }
      if (end > 0) write_some_channels(from, channels, out, end - kLanes, copy);
      return;
    }
    if (rest <= kFewBins) {
      end -= rest;
      write_columns(from, out, end, copy);
    } else if (!kStreams) {
      end = write_part(from, channels, out, end, kStrip, copy);
    }
    if (end > 0) write_strips(from, out, (end - 1) / kStrip * kStrip, copy);
  }

  // Four bins of as many channels as there are lanes, which are four vectors of the output.
  ONNX_MAXPOOL_INLINE void write_four(const V* from, Key* out) const {
    if constexpr (kHasFourBins) {
      V bins[kFourBins], other[kFourBins], blocks[kFourBins];
      for (int i = 0; i < kFourBins; ++i) bins[i] = order_.from_key(from[i]);
      V *now = bins, *next = other;
      transpose_in_blocks<Key, kFourBins>(now, next);
      constexpr int kParts = kFourBins / kBlockLanes;  // of bins, as a block may have fewer lanes
      for (int i = 0; i < kFourBins; ++i) blocks[i] = now[i % kParts * kBlockLanes + i / kParts];
      now = blocks;
      next = other;
      gather_blocks<kFourBins, 1>(now, next);
      for (int i = 0; i < kFourBins; ++i) store(out + i * kLanes, now[i]);
    }
  }

  // All bins, of which there are no more than a block's lanes: a block for each channel, in the channels' order, as
  // each overwrites what the one before leaves beyond its bins. What the last ones would write beyond the block of
  // channels is others' place.
  ONNX_MAXPOOL_INLINE void write_blocks(const V* from, int channels, Key* out) const {
    if (bins_ == 1) return store_n(out, order_.from_key(from[0]), channels);
    V bins[kBlockLanes], other[kBlockLanes];
    for (int i = 0; i < kBlockLanes; ++i) bins[i] = order_.from_key(from[i]);
    V *now = bins, *next = other;
    transpose_in_blocks<Key, kBlockLanes>(now, next);
    if (channels == kLanes) return store_blocks(now, out, typename MakeSequence<kLanes / kBlockLanes>::type{});
    Key all[kLanes * kBlockLanes + kBlockLanes];
    store_blocks(now, all, typename MakeSequence<kLanes / kBlockLanes>::type{});
    copy_elements(all, channels * bins_, out);
  }
  // Fewer than a call to copy them would take.
  static ONNX_MAXPOOL_INLINE void copy_elements(const Key* from, int64_t count, Key* to) {
    int64_t i = 0;
    for (; i + kBlockLanes <= count; i += kBlockLanes) store(to + i, load<Vector<Key, 16>>(from + i));
    for (; i < count; ++i) to[i] = from[i];
  }
  template <int... numbers>
  ONNX_MAXPOOL_INLINE void store_blocks(const V* now, Key* out, Sequence<numbers...>) const {
    (store_block<numbers>(now, out), ...);
  }
  template <int number>
  ONNX_MAXPOOL_INLINE void store_block(const V* now, Key* out) const {
    const int64_t bins = bins_;
#pragma GCC unroll 8
    for (int i = 0; i < kBlockLanes; ++i) {
      const int c = number * kBlockLanes + i;
      const Vector<Key, 16> block = extract_block<Key, number>(now[i]);
      if (c * bins + kBlockLanes <= kLanes * bins) {
        store(out + c * bins, block);
      } else {
        for (int64_t bin = 0; bin < bins; ++bin) out[c * bins + bin] = block[bin];
      }
    }
  }

  // Of as many bins as a vector has lanes, a vector for each channel.
  ONNX_MAXPOOL_INLINE static void transpose_strip(ValueOrder<Key> order, const V* bins, V* square) {
    for (int i = 0; i < kLanes; ++i) square[i] = order.from_key(bins[i]);
    transpose<Key, kLanes>(square);
  }

  // The last strip before `end`, of strips of so many bins, where channels may be missing, and nothing may stick out of
  // the block: others write beside it. Returns where the strip begins.
  ONNX_MAXPOOL_NOINLINE int64_t write_part(const V* from, int channels, Key* out, int64_t end, int64_t strip,
                                           Copy& copy) const {
    const int64_t first = (end - 1) / strip * strip;
    const ValueOrder<Key> order = order_;
    const int64_t pitch = pitch_;
    V square[kLanes];
    transpose_strip(order, from + first, square);
    for (int c = 0; c < channels; ++c) {
      if (c % 2) copy.step();
      store_n(out + c * pitch + first, square[c], end - first, out + channels * pitch);
    }
    return first;
  }

  // The strips from this one down to the first, where channels are missing. Each is whole.
  ONNX_MAXPOOL_NOINLINE void write_some_channels(const V* from, int channels, Key* out, int64_t first,
                                                 Copy& streamed) const {
    const ValueOrder<Key> order = order_;
    const int64_t pitch = pitch_;
    Copy copy = streamed;
    for (; first >= 0; first -= kLanes) {
      V square[kLanes];
      transpose_strip(order, from + first, square);
      Key* to = out + first;
#pragma GCC unroll 32
      for (int c = 0; c < kLanes; ++c, to += pitch) {
        if (c == channels) break;
        store(to, square[c]);
        if (c % 2) copy.step();
      }
    }
    streamed = copy;
  }

  // The same of the bins from `first` on, one by one.
  ONNX_MAXPOOL_INLINE void write_some_columns(const V* from, int channels, Key* out, int64_t first,
                                              Copy& streamed) const {
    const ValueOrder<Key> order = order_;
    const int64_t bins = bins_, pitch = pitch_;
    for (int64_t bin = first; bin < bins; ++bin) {
      Key all[kLanes];
      store(all, order.from_key(from[bin]));
      for (int c = 0; c < channels; ++c) out[c * pitch + bin] = all[c];
      streamed.step();
    }
  }

  // The bins from `first` on, one by one: of a few that is cheaper than to transpose a strip.
  ONNX_MAXPOOL_INLINE void write_columns(const V* from, Key* out, int64_t first, Copy& streamed) const {
    const ValueOrder<Key> order = order_;
    const int64_t bins = bins_, pitch = pitch_;
    Copy copy = streamed;
    for (int64_t bin = first; bin < bins; ++bin) {
      Key channels[kLanes];
      store(channels, order.from_key(from[bin]));
#pragma GCC unroll 32
      for (int c = 0; c < kLanes; ++c) {
        out[c * pitch + bin] = channels[c];
        if (c % (kLanes / 2) == 0) copy.step();
      }
    }
    streamed = copy;
  }

  // The strips from this one down to the first.
  ONNX_MAXPOOL_NOINLINE void write_strips(const V* from, Key* out, int64_t first, Copy& streamed) const {
    if constexpr (kStrip < kLanes) {
      if (bins_ >= kStrip) return write_half_strips(from, out, first, streamed);
    }
    const ValueOrder<Key> order = order_;
    const int64_t pitch = pitch_;
    Copy copy = streamed;
    for (; first >= 0; first -= kStrip) {
      V square[kLanes];
      transpose_strip(order, from + first, square);
#pragma GCC unroll 32
      for (int c = 0; c < kLanes; ++c) {
        store(out + c * pitch + first, square[c]);
        if (c % 2) copy.step();
      }
    }
    streamed = copy;
  }

  // Channels come in another order than the output's, so that what is left beyond a channel's bins has to end before
  // the next one's last strip.
  void write_half_strips(const V* from, Key* out, int64_t first, Copy& streamed) const {
    const ValueOrder<Key> order = order_;
    const int64_t pitch = pitch_;
    Copy copy = streamed;
    for (; first >= 0; first -= kStrip) {
      V strip[kStrip];
      for (int i = 0; i < kStrip; ++i) strip[i] = order.from_key(from[first + i]);
      transpose_half<kLanes>(strip);
#pragma GCC unroll 16
      for (int i = 0; i < kStrip; ++i) {
        Key* const to = out + half_lane<kLanes>(i) * pitch + first;
        store(to, lower_half<Key>(strip[i]));
        store(to + kHalfApart * pitch, upper_half<Key>(strip[i]));
        if (i % 2) copy.step();
      }
    }
    streamed = copy;
  }

  const ValueOrder<Key> order_;
  const int64_t bins_, pitch_;  // pitch: from a channel's bins to the next one's
  V* const buffers_[2];
  bool second_ = false;
  StreamedRows rows_[2] = {{0, 0, 0}, {0, 0, 0}};  // of each buffer
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
