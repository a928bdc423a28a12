"""Many rows in one record, in the frames of Amazon's Kinesis Producer Library (KPL)."""
