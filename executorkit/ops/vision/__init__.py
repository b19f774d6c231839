"""Images, regions of interest, detection."""

from . import (
    bilinear_sampling,
    bounding_boxes,
    correlation,
    deformable_conv,
    im2col,
    image_color,
    image_transforms,
    multibox,
    region_bins,
    region_proposal,
    resize,
    roi_pooling,
    spatial_transformer,
)
