"""Every line of the writer's contract, one by one, in virtual time."""
