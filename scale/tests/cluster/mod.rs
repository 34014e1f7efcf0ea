//! Queries and jobs on a cluster of real processes.
