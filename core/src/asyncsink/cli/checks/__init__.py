"""The doctor's checks: each takes the machine and gives findings, and raises nothing."""
