"""Golden record: what the public interface computes and reads, stored to compare every change with."""
