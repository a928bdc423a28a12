"""Dead letters: what is kept of them, where, when it is durable, and how they are sent again."""
