"""A run on disk: rows stream in, results stream out in parts, and a run that ended can go on."""
