"""AdaptiveMaxPool and MaxPooling1 as ONNX text, per number of spatial dimensions: rules P1 to P5 and A1 to A5."""

from __future__ import annotations

from onnx_maxpool.facts import LARGEST_SIDE

SHARED_CELLS = """
SharedCells (size, count) => (cells)
{
    # A2: the cells of the `count` windows that share out an axis of `size` cells; both scalars.
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    table = Constant <value_ints = [1, 1]> ()
    flat = Constant <value_ints = [-1]> ()
    largest = Sub(size, one)
    last = Reshape(largest, table)
    first = Reshape(zero, table)
    start_row, end_row = portable.EvenWindows(first, last, count)
    start = Reshape(start_row, flat)
    end = Reshape(end_row, flat)
    cells = portable.Cells(start, end)
}"""

SLIDING_CELLS = """
SlidingCells (size, window, stride, start_padding, end_padding) => (cells)
{
    # P3, P4: the cells of the windows that slide over an axis of `size` cells; all scalars.
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    half_padded = Add(size, start_padding)
    padded = Add(half_padded, end_padding)
    room = Sub(padded, window)
    steps = portable.FloorDiv(room, stride)
    most = Add(steps, one)
    is_short = Less(most, one)
    is_empty = Less(size, one)
    has_no_window = Or(is_short, is_empty)
    every_axis_has_a_window = portable.Require(has_no_window)
    count = Add(most, every_axis_has_a_window)
    i = Range(zero, count, one)
    distance = Mul(i, stride)
    free_start = Sub(distance, start_padding)
    free_end = Add(free_start, window)
    start = portable.Clamp(free_start, zero, size)
    end = portable.Clamp(free_end, zero, size)
    cells = portable.Cells(start, end)
}"""

SIGN_BIT_FLIPPED = """
SignBitFlipped (x) => (y)
{
    # 64-bit integers, with the order of unsigned ones turned into that of signed ones, or back.
    zero = Constant <value_int = 0> ()
    low = Constant <value_int = -9223372036854775808> ()
    raised = Sub(x, low)
    lowered = Add(x, low)
    is_negative = Less(x, zero)
    y = Where(is_negative, raised, lowered)
}"""

CHANNEL_INDEX = """
ChannelIndex (x_shape) => (index)
{
    # P5: the number of each channel in the whole input, (N, C).
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    column = Constant <value_ints = [-1, 1]> ()
    batches = Gather(x_shape, zero)
    channels = Gather(x_shape, one)
    batch_row = Range(zero, batches, one)
    channel = Range(zero, channels, one)
    batch = Reshape(batch_row, column)
    first = Mul(batch, channels)
    index = Add(first, channel)
}"""

ENCODED_FLOATS = """
Encoded (x) => (cells)
{
    computed = Cast <to = $to> (x)
    cells = portable.Classified(computed)
}"""

DECODED_FLOATS = """
Decoded (maxima) => (y)
{
    computed = portable.Declassified <axis = [-1]> (maxima)
    y = Cast <to = $T> (computed)
}"""

DECODED_FIRST_FLOATS = """
DecodedFirst (maxima, places) => (y, place)
{
    # Of a number the first place among the numbers; of -inf and NaN the first of their kind.
    one = Constant <value = $F {1}> ()
    y = portable.Decoded(maxima)
    number, class = portable.Halves <axis = [-1]> (maxima)
    number_place, class_place = portable.Halves <axis = [-1]> (places)
    is_number = Equal(class, one)
    place = Where(is_number, number_place, class_place)
}"""

MAX_ALONG = "MaxAlong <axis, axes> (x) => (y) { y = portable.ReduceMaxAlong <axes = @axes> (x) }"
IS_MAXIMUM = """
IsMaximum <axis, axes, column> (x) => (is_maximum)
{
    maximum = portable.ReduceMaxKept <axes = @axes> (x)
    is_maximum = Equal(x, maximum)
}"""

ENCODED_INTEGERS = "Encoded (x) => (cells) { cells = Cast <to = $to> (x) }"
DECODED_INTEGERS = "Decoded (maxima) => (y) { y = Cast <to = $T> (maxima) }"
DECODED_FIRST_INTEGERS = """
DecodedFirst (maxima, places) => (y, place)
{
    y = portable.Decoded(maxima)
    place = Identity(places)
}"""

# Of 32 bits and more: OpenVINO reduces them in float32, and ONNX Runtime's ReduceMax on AVX2 takes 2^32 - 1 for less
# than 3. TopK is right in both.
MAX_ALONG_WIDE = """
MaxAlong <axis, axes> (x) => (y)
{
    zero = Constant <value_int = 0> ()
    one = Constant <value_ints = [1]> ()
    maximum, place = TopK <axis = @axis> (x, one)
    y = Gather <axis = @axis> (maximum, zero)
}"""
IS_MAXIMUM_WIDE = """
IsMaximum <axis, axes, column> (x) => (is_maximum)
{
    # Only the first of a window, which is enough: it has the smallest index. `column` is [-1, 1, ...].
    zero = Constant <value_int = 0> ()
    step = Constant <value_int = 1> ()
    one = Constant <value_ints = [1]> ()
    maximum, place = TopK <axis = @axis> (x, one)
    axis = Constant <value_int = @axis> ()
    shape = Shape(x)
    size = Gather(shape, axis)
    row = Range(zero, size, step)
    column = Constant <value_ints = @column> ()
    places = Reshape(row, column)
    is_maximum = Equal(places, place)
}"""

ENCODED_UINT32 = """
Encoded (x) => (cells)
{
    low = Constant <value_int = -2147483648> ()
    wide = Cast <to = 7> (x)
    lowered = Add(wide, low)
    cells = Cast <to = 6> (lowered)
}"""
DECODED_UINT32 = """
Decoded (maxima) => (y)
{
    # Lowered once more, and the cast does the rest: 2^31 is no 32-bit integer, in which OpenVINO computes.
    low = Constant <value_int = -2147483648> ()
    wide = Cast <to = 7> (maxima)
    lowered = Add(wide, low)
    y = Cast <to = $T> (lowered)
}"""
ENCODED_UINT64 = "Encoded (x) => (cells) { signed = Cast <to = 7> (x) cells = portable.SignBitFlipped(signed) }"
DECODED_UINT64 = "Decoded (maxima) => (y) { signed = portable.SignBitFlipped(maxima) y = Cast <to = $T> (signed) }"

FOR_ANY = [SHARED_CELLS, SLIDING_CELLS, CHANNEL_INDEX]
_REDUCED = [MAX_ALONG, IS_MAXIMUM]
_WIDE = [DECODED_FIRST_INTEGERS, MAX_ALONG_WIDE, IS_MAXIMUM_WIDE]
FLOATS = [ENCODED_FLOATS, DECODED_FLOATS, DECODED_FIRST_FLOATS, *_REDUCED]
NARROW_INTEGERS = [ENCODED_INTEGERS, DECODED_INTEGERS, DECODED_FIRST_INTEGERS, *_REDUCED]
WIDE_INTEGERS = {
    "int32": [ENCODED_INTEGERS, DECODED_INTEGERS, *_WIDE],
    "uint32": [ENCODED_UINT32, DECODED_UINT32, *_WIDE],
    "int64": [ENCODED_INTEGERS, DECODED_INTEGERS, *_WIDE],
    "uint64": [SIGN_BIT_FLIPPED, ENCODED_UINT64, DECODED_UINT64, *_WIDE],
}
"""By their names."""


def window_texts(rank: int) -> list[str]:
    """The functions for `rank` spatial dimensions.

    Their names end in the rank, and then in `indexed` if they give an index.
    """
    return [
        *(_window_max(rank), _window_first_max(rank)),
        *(_adaptive_max_pool(rank), _adaptive_max_pool_indexed(rank)),
        *(_max_pooling1(rank), _max_pooling1_indexed(rank)),
    ]


def _tables(rank: int) -> str:
    return ", ".join(f"cells_{axis}" for axis in range(rank))


def _channels_last(rank: int) -> list[int]:
    return [*range(2, rank + 2), 0, 1]


def _channels_first(rank: int) -> list[int]:
    return [rank, rank + 1, *range(rank)]


def _window_max(rank: int) -> str:
    """The maximum over windows given as tables of cells, one table (P, K) per spatial dimension; x (N, C, spatial...).

    The axes are reduced one after the other, with the channels last, so that what is gathered lies together.
    """
    lines = [
        f"channels_last = Transpose <perm = {_channels_last(rank)}> (x)",
        f"maxima_{rank} = portable.Encoded(channels_last)",
    ]
    for axis in reversed(range(rank)):
        lines += [
            f"windows_{axis} = Gather <axis = {axis}> (maxima_{axis + 1}, cells_{axis})",
            f"maxima_{axis} = portable.MaxAlong <axis = {axis + 1}, axes = [{axis + 1}]> (windows_{axis})",
        ]
    lines += ["pooled = portable.Decoded(maxima_0)", f"y = Transpose <perm = {_channels_first(rank)}> (pooled)"]
    return _function(f"WindowMax_{rank} (x, {_tables(rank)}) => (y)", lines)


def _window_first_max(rank: int) -> str:
    """`_window_max` and the index of the first maximum in the flattened spatial dimensions (G5).

    That index is the smallest of those that hold the maximum. The last axis comes first, so that each stage finds the
    smallest among the cells that an axis adds.
    """
    lines = [
        "one = Constant <value_int = 1> ()",
        "shape = Shape(x)",
        f"channels_last = Transpose <perm = {_channels_last(rank)}> (x)",
        f"maxima_{rank} = portable.Encoded(channels_last)",
        f"distance_{rank} = Identity(one)",
    ]
    for axis in reversed(range(rank)):
        table_shape = [0, 0, *(1 for _ in range(rank - axis + 1))]
        lines += [
            f"axis_{axis} = Constant <value_int = {axis + 2}> ()",
            f"size_{axis} = Gather(shape, axis_{axis})",
            f"distance_{axis} = Mul(distance_{axis + 1}, size_{axis})",
            f"table_shape_{axis} = Constant <value_ints = {table_shape}> ()",
            f"steps_{axis} = Mul(cells_{axis}, distance_{axis + 1})",
            f"table_{axis} = Reshape(steps_{axis}, table_shape_{axis})",
        ]
    for axis in reversed(range(rank)):
        window_axis = f"axis = {axis + 1}, axes = [{axis + 1}]"
        column = [-1, *(1 for _ in range(rank - axis + 1))]
        earlier = f"places_of_windows_{axis} = Gather <axis = {axis}> (places_{axis + 1}, cells_{axis})"
        places = f"candidates_{axis} = Add(places_of_windows_{axis}, table_{axis})"
        lines += [
            f"windows_{axis} = Gather <axis = {axis}> (maxima_{axis + 1}, cells_{axis})",
            *([f"candidates_{axis} = Identity(table_{axis})"] if axis == rank - 1 else [earlier, places]),
            f"is_maximum_{axis} = portable.IsMaximum <{window_axis}, column = {column}> (windows_{axis})",
            f"maximal_{axis} = Where(is_maximum_{axis}, candidates_{axis}, distance_0)",
            f"places_{axis} = portable.ReduceMinAlong <axes = [{axis + 1}]> (maximal_{axis})",
            f"maxima_{axis} = portable.MaxAlong <axis = {axis + 1}, axes = [{axis + 1}]> (windows_{axis})",
        ]
    lines += [
        "pooled, place = portable.DecodedFirst(maxima_0, places_0)",
        f"y = Transpose <perm = {_channels_first(rank)}> (pooled)",
        f"index = Transpose <perm = {_channels_first(rank)}> (place)",
    ]
    return _function(f"WindowFirstMax_{rank} (x, {_tables(rank)}) => (y, index)", lines)


def _adaptive_cells(rank: int) -> list[str]:
    """A1, A5: the tables of cells, from the inputs' sizes."""
    lines = [
        "least = Constant <value_ints = [1]> ()",
        f"axes = Constant <value_ints = {list(range(2, rank + 2))}> ()",
        "shape = Shape(X)",
        "spatial = Gather(shape, axes)",
        "wanted = Cast <to = 7> (output_size)",
        "are_short = Less(wanted, least)",
        f"most = Constant <value_ints = [{LARGEST_SIDE}]> ()",
        "are_long = Less(most, wanted)",
        f"due = Constant <value_ints = [{rank}]> ()",
        "given = Shape(output_size)",
        "is_due = Equal(given, due)",
        "is_not_due = Not(is_due)",
        "bad = Concat <axis = 0> (are_short, are_long, is_not_due)",
        "every_size_is_in_range = portable.Require(bad)",
        "are_empty = Less(spatial, least)",
        "x_has_cells = portable.Require(are_empty)",
        "nothing = Add(every_size_is_in_range, x_has_cells)",
        "counts = Add(wanted, nothing)",
    ]
    for axis in range(rank):
        lines += [
            f"axis_{axis} = Constant <value_int = {axis}> ()",
            f"size_{axis} = Gather(spatial, axis_{axis})",
            f"count_{axis} = Gather(counts, axis_{axis})",
            f"cells_{axis} = portable.SharedCells(size_{axis}, count_{axis})",
        ]
    return lines


def _adaptive_max_pool(rank: int) -> str:
    lines = [*_adaptive_cells(rank), f"Y = portable.WindowMax_{rank}(X, {_tables(rank)})"]
    return _function(f"AdaptiveMaxPool_{rank} (X, output_size) => (Y)", lines)


def _adaptive_max_pool_indexed(rank: int) -> str:
    lines = [
        *_adaptive_cells(rank),
        f"Y, index = portable.WindowFirstMax_{rank}(X, {_tables(rank)})",
        "Indices = Cast <to = @index_type> (index)",
    ]
    return _function(f"AdaptiveMaxPool_{rank}_indexed <index_type> (X, output_size) => (Y, Indices)", lines)


SLIDING_ATTRIBUTES = ("window_size", "strides", "start_padding", "end_padding")


def _sliding_cells(rank: int) -> list[str]:
    """P2 to P4: the tables of cells, from the attributes."""
    lines = [f"{name} = Constant <value_ints = @{name}> ()" for name in SLIDING_ATTRIBUTES]
    lines.append("shape = Shape(X)")
    for axis in range(rank):
        lines += [
            f"axis_{axis} = Constant <value_int = {axis}> ()",
            f"x_axis_{axis} = Constant <value_int = {axis + 2}> ()",
            f"size_{axis} = Gather(shape, x_axis_{axis})",
            *(f"{name}_{axis} = Gather({name}, axis_{axis})" for name in SLIDING_ATTRIBUTES),
            f"cells_{axis} = portable.SlidingCells(size_{axis}, "
            + ", ".join(f"{name}_{axis}" for name in SLIDING_ATTRIBUTES)
            + ")",
        ]
    return lines


def _max_pooling1(rank: int) -> str:
    lines = [*_sliding_cells(rank), f"Y = portable.WindowMax_{rank}(X, {_tables(rank)})"]
    return _function(f"MaxPooling1_{rank} <{', '.join(SLIDING_ATTRIBUTES)}> (X) => (Y)", lines)


def _max_pooling1_indexed(rank: int) -> str:
    lines = [
        *_sliding_cells(rank),
        f"Y, cell = portable.WindowFirstMax_{rank}(X, {_tables(rank)})",
        "channel = portable.ChannelIndex(shape)",
        f"axes = Constant <value_ints = {list(range(2, rank + 2))}> ()",
        "spatial = Gather(shape, axes)",
        "area = ReduceProd <keepdims = 0> (spatial)",
        "first_row = Mul(channel, area)",
        f"first_shape = Constant <value_ints = {[0, 0, *(1 for _ in range(rank))]}> ()",
        "first = Reshape(first_row, first_shape)",
        "index = Add(first, cell)",
        "Indices = Cast <to = @index_type> (index)",
    ]
    attributes = ", ".join((*SLIDING_ATTRIBUTES, "index_type"))
    return _function(f"MaxPooling1_{rank}_indexed <{attributes}> (X) => (Y, Indices)", lines)


def _function(signature: str, lines: list[str]) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"{signature}\n{{\n{body}\n}}"
