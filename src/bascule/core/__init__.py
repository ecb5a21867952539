"""Outcome models, radii, allocation, stopping, calibration and the design: pure functions only."""
