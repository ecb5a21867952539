"""The compiled loops of the simulator."""
