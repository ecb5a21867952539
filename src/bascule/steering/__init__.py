"""Steering: adaptive tests on the flags of another tool, run on a schedule.

A run reads the log, adds the units whose windows have closed to the evidence of the test, and
writes the next shares to the flag tool. docs/using/steer-your-flags.md is the tutorial, and
docs/research/steering.md has the proof.
"""
