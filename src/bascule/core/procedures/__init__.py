"""The procedures of the families of rules: allocation, counting, decisions and intervals."""
