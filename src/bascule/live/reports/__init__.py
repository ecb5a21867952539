"""Reports of a live test: status, forecast, history, verification and diagnostics."""
