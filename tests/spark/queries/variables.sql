--IMPORT tables.sql
DECLARE lightest DECIMAL(10, 2) = 2.5;
DECLARE VARIABLE most INT DEFAULT 2;
DECLARE wanted MAP<STRING, ARRAY<DATE>> = map('north', array(DATE '2024-01-31', NULL), 'south', NULL);
DECLARE facts STRUCT<`a b`: TIMESTAMP, c: BINARY, d: DOUBLE, e: INTERVAL DAY TO SECOND, f: BOOLEAN> =
  named_struct('a b', TIMESTAMP '2024-03-10 01:30:00', 'c', X'00ff', 'd', double('NaN'), 'e', INTERVAL '1 02:03:04.5' DAY TO SECOND, 'f', true);
SELECT id, weight - lightest AS over FROM parcel WHERE weight >= session.lightest ORDER BY id LIMIT most + 1;
SELECT facts AS f, facts.`a b` AS t, wanted AS w, wanted['north'][0] AS d;
SELECT sum(weight) FILTER (WHERE array_contains(wanted[depot], sent)) AS s FROM parcel GROUP BY weight > lightest HAVING count(*) >= most - 1;
SET VARIABLE (most, lightest) = (SELECT 3, max(weight) FROM parcel);
SELECT id, (SELECT count(*) FROM scan WHERE parcel < most) AS n, EXECUTED.v FROM parcel, LATERAL (SELECT lightest * id AS v) AS executed;
EXECUTE IMMEDIATE 'SELECT id FROM parcel WHERE id > ? OFFSET 1' USING 2;
