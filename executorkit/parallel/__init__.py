"""Several devices: one program mapped over slices of the batch; what the groups are made of."""
