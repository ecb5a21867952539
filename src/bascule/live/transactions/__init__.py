"""Actions in one transaction: enrol units, record outcomes, count units, make manual changes."""
