"""How each family of rules proceeds: allocation, folding, decisions and intervals."""
