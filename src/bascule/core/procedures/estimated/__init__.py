"""Tests in blocks whose outcomes have an unknown spread: it is estimated."""
