"""Models of torch that cannot be exported, with the words that say so: a table of docs/errors.md.

Only data: test_bad_exports.py tries each row. A model is what it makes of `x` of shape (2, 3, 10, 12) and of `rois`;
torch is `torch`, `torch.nn.functional` is `F`, and torchvision's operator `roi_pool`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class BadExport:
    """A model that is rejected where the axes of `x` but that of channels are dynamic."""

    model: str
    said: str
    hint: Literal["DYNAMIC", "AUTO"] = "DYNAMIC"


def size(value: str, what: str, taken: str, numbers: str = "numbers") -> str:
    return (
        f"AdaptiveMaxPool: output_size is {value}, as torch replaced {what} by {taken}, its value in the example, "
        f"expected {numbers} that no dynamic axis changes"
    )


PLACES = (
    'MaxRoiPool: roi_pool has its second output used by "output", expected the first only, '
    "as no operator gives the places of the maxima"
)
HEIGHT, WIDTH = "L['x'].size()[2]", "L['x'].size()[3]"
BAD_EXPORTS = (
    BadExport("F.adaptive_max_pool2d(x, (x.shape[2] // 2, 5))", size("[5,5]", f"({HEIGHT}//2)", "5")),
    BadExport("F.adaptive_max_pool2d(x, (x.shape[2] // 2, 5))", size("[5,5]", f"({HEIGHT}//2)", "5"), "AUTO"),
    BadExport(
        "F.adaptive_max_pool2d(x, (int(x.shape[2] * 0.5), 5))", size("[5,5]", f"TruncToInt(0.5*ToFloat({HEIGHT}))", "5")
    ),
    BadExport(
        "torch.ops.aten.adaptive_max_pool2d(torch.relu(x), [x.shape[2] // 3, 5])", size("[3,5]", f"({HEIGHT}//3)", "3")
    ),
    BadExport("F.adaptive_max_pool2d(F.max_pool2d(x, 2), x.shape[3] // 4)", size("[3,3]", f"({WIDTH}//4)", "3")),
    BadExport("F.adaptive_max_pool1d(x[:, 0], x.shape[3] // 5)", size("[2]", f"({WIDTH}//5)", "2", "a number")),
    BadExport("F.adaptive_max_pool3d(x[None], (1, 2, x.shape[3] // 5))", size("[1,2,2]", f"({WIDTH}//5)", "2")),
    BadExport("F.adaptive_max_pool2d(x, (None, 5))", size("[10,5]", HEIGHT, "10"), "AUTO"),
    BadExport("F.adaptive_max_pool2d(x, (2 * x.shape[2], 5))", size("[20,5]", HEIGHT, "10"), "AUTO"),
    BadExport(
        "roi_pool(x, rois, 0.5, x.shape[2] // 2, 5)[0]",
        'MaxRoiPool: pooled_shape has "floordiv", which the model computes, expected a number',
    ),
    BadExport(
        "roi_pool(x, rois, x.shape[2] * 0.025, 5, 5)[0]",
        f"MaxRoiPool: spatial_scale is 0.25, as torch replaced 0.025*ToFloat({HEIGHT}) by 0.25, "
        "its value in the example, expected a number that no dynamic axis changes",
    ),
    BadExport("roi_pool(x, rois, 0.5, 5, 5)", PLACES),
    BadExport("(roi_pool(x, rois, 0.5, 5, 5)[0], roi_pool(torch.relu(x), rois, 0.5, 5, 5)[1])", PLACES),
)
