"""What can be read from a live test: status, forecast, verification, export and diagnostics."""
