"""What a model's structure gives: the same values, sooner."""
