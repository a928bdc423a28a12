"""Seeded random programs against seeded random faults, in virtual time; the kit's oracle judges what happened."""
