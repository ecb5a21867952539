"""What several commands share: options, numbers as people write them, printing."""
