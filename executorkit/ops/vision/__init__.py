"""Images, regions of interest, detection."""

from . import (
    bounding_boxes,
    correlation,
    deformable_conv,
    im2col,
    image_color,
    image_transforms,
    multibox,
    region_proposal,
    resize,
    roi_pooling,
    spatial_transformer,
)
