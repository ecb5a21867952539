"""The paper's claims, each checked against simulations."""
