"""What people look at: text made from data, never the other way round."""
