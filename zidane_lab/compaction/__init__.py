"""When a conversation is shortened, what of it, and how: summaries, the cheap levers before them, restoration."""
