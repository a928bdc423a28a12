"""The part of the demo in which a stream moves between clusters of Kafka."""
