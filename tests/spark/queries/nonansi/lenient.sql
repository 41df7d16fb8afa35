--SET spark.sql.ansi.enabled=false
--IMPORT tables.sql
CREATE TEMPORARY FUNCTION as_number(s STRING) RETURNS INT RETURN CAST(s AS INT);
SELECT id, as_number(depot) AS n, id / 0 AS d, CAST('x' AS int) AS x, 2147483647 + id AS o, array(1)[id] AS a, '1' + id AS s FROM parcel;
SELECT id FROM parcel WHERE depot > 1 OR weight = '2.5' OR size(tags) < 0;
