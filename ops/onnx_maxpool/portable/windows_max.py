"""AdaptiveMaxPool and MaxPooling1 as ONNX text, per number of spatial dimensions: rules P1 to P5 and A1 to A5."""

from __future__ import annotations

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
    fault = portable.Require(has_no_window)
    count = Add(most, fault)
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
    # 64-bit integers, the order of unsigned ones turned into that of signed ones, or back.
    zero = Constant <value_int = 0> ()
    low = Constant <value_int = -9223372036854775808> ()
    signed = Cast <to = 7> (x)
    raised = Sub(signed, low)
    lowered = Add(signed, low)
    is_negative = Less(signed, zero)
    y = Where(is_negative, raised, lowered)
}"""


def window_texts(rank: int, *, classified: bool) -> list[str]:
    """The functions for `rank` spatial dimensions; `classified` for types that have NaN and -inf."""
    return [
        _window_max(rank, classified=classified, with_index=False),
        _window_max(rank, classified=classified, with_index=True),
        *(_adaptive_max_pool(rank, with_index=with_index) for with_index in (False, True)),
        *(_max_pooling1(rank, with_index=with_index) for with_index in (False, True)),
    ]
