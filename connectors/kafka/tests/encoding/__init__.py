"""The record batches, against those that aiokafka makes and what it reads of them."""
