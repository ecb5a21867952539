"""What one database transaction does: enrol units, record outcomes, settle, change by hand."""
