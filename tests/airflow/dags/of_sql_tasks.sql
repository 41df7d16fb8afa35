-- What a task writes; its folder is a parameter of the DAG.
INSERT OVERWRITE DIRECTORY '{{ params.folder }}/halves' USING parquet
SELECT id, halved(id) AS half FROM range(6);
