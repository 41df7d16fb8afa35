"""Running a pipeline's programs: computing, loading, writing."""
