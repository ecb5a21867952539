"""Where the runs of a simulation are played: threads, other machines, or a GPU."""
