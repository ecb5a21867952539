"""Group commit: the queue of pending jobs, futures and the bridge to event loops."""
