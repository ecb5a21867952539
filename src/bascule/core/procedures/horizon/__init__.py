"""Tests in blocks that end at an information horizon."""
