"""The shards of a stream: which one a record goes to, what it bears, and what follows when they are divided anew."""
