"""Region proposals."""

from __future__ import annotations

from ._case import Case, uniform, values


def _case(name: str, multi=False, images=((64, 80, 1.0),), rows=4, columns=5, spread=0.3,
          grad=False, **attrs) -> Case:  # fmt: skip
    anchors = len(attrs.get("scales", "4444")) * len(attrs.get("ratios", "333"))
    op = "_contrib_MultiProposal" if multi else "_contrib_Proposal"
    n = len(images)
    inputs = {
        "cls_prob": uniform(n, 2 * anchors, rows, columns),
        "bbox_pred": uniform(n, 4 * anchors, rows, columns, low=-spread, high=spread),
        "im_info": values([list(image) for image in images]),
    }
    reason = None if grad else "all gradients are zero and compared in one case"
    attrs = {"output_score": True, **attrs}
    return Case(f"{op}_{name}", op, inputs, attrs, no_grad=reason)


TWO = ((64, 80, 1.0), (48, 64, 1.5))

CASES = [
    _case("plain", rpn_post_nms_top_n=20, rpn_pre_nms_top_n=100, grad=True),
    _case("shapes", scales=(1, 2.5), ratios=(0.5, 1, 2), feature_stride=8, rpn_min_size=4,
          rpn_post_nms_top_n=12, images=((32, 40, 1.0),)),
    _case("few", scales=(8,), ratios=(1,), rpn_post_nms_top_n=30, threshold=0.5),
    _case("small_image", rpn_min_size=24, images=((40, 50, 2.0),), rpn_post_nms_top_n=15),
    _case("iou_loss", iou_loss=True, spread=4.0, rpn_post_nms_top_n=10),
    _case("no_score", output_score=False, rpn_post_nms_top_n=6),
    _case("all", rpn_pre_nms_top_n=-1, rpn_post_nms_top_n=8),
    _case("plain", multi=True, images=TWO, rpn_post_nms_top_n=10, rpn_pre_nms_top_n=60, grad=True),
    _case("iou_loss", multi=True, images=TWO, iou_loss=True, spread=4.0, rpn_post_nms_top_n=7,
          output_score=False),
    _case("shapes", multi=True, images=((32, 40, 1.0), (24, 40, 2.0)), scales=(1, 2.5),
          ratios=(0.5, 1, 2), feature_stride=8, rpn_min_size=4, threshold=0.5,
          rpn_post_nms_top_n=12),
]  # fmt: skip
