"""Tests in blocks with many arms, of which not every pair is compared."""
