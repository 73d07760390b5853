"""What is asked: fixed searches, random ones, and rare or absurd ones, all drawn from the data."""
