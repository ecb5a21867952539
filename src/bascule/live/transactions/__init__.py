"""Actions of a database transaction: enrol units, record outcomes, settle, change by hand."""
