"""The paper's figures, regenerated."""
