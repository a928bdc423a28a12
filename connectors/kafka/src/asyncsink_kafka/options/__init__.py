"""What a user may say: the connector's own options, and the names that Spark, Java and Flink have for them."""

from asyncsink_kafka.options.kafka_options import KafkaOptions

__all__ = ["KafkaOptions"]
