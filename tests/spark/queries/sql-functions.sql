--IMPORT tables.sql
CREATE FUNCTION heavier(w DECIMAL(10, 2), by DECIMAL(10, 2) DEFAULT 0.5) RETURNS DECIMAL(10, 2) RETURN w + by;
CREATE TEMPORARY FUNCTION scans_of(p INT) RETURNS INT RETURN (SELECT count(*) FROM scan WHERE parcel = p);
CREATE TEMPORARY FUNCTION seen(p INT) RETURNS BOOLEAN RETURN EXISTS (SELECT 1 FROM scan WHERE parcel = p);
CREATE TEMPORARY FUNCTION trail(p INT) RETURNS TABLE (what STRING, n BIGINT) RETURN SELECT what, count(*) FROM scan WHERE parcel = p GROUP BY what;
CREATE TEMPORARY FUNCTION spelled(xs ARRAY<STRING>) RETURN array_join(transform(xs, x -> upper(x)), '-');
SELECT id, heavier(weight) AS h, heavier(by => 1, w => weight) AS g, spelled(tags) AS s FROM parcel;
SELECT scans_of(id) AS n, sum(heavier(weight)) AS w FROM parcel GROUP BY scans_of(id);
SELECT id FROM parcel WHERE seen(id) AND heavier(sqrt(weight)) > 2;
SELECT id, t.* FROM parcel, LATERAL trail(id) AS t WHERE t.n > 1 OR what = 'out';
SELECT * FROM trail(2);
SELECT id, (SELECT max(n) FROM trail(id)) AS most FROM parcel;
SELECT heavier(id) AS h, GROUPING(depot) AS g, count(*) AS n FROM parcel GROUP BY id, ROLLUP (depot);
