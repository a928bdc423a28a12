"""Templates: texts of options in which the values of a row's columns take their places."""
