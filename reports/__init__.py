"""What a run means: from its records to tables. Reads records only, so that every report can be made again."""
