"""Tests of a population that is there from the first stage on."""
