"""Research: the paper reproduced, rules compared and audited, and rules of other tools."""
