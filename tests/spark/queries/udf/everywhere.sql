--IMPORT tables.sql
SELECT udf(depot) AS d, count(udf(id)) AS n FROM parcel GROUP BY depot;
SELECT p.id, s.what FROM parcel p LEFT JOIN scan s ON udf(p.id) = udf(s.parcel) WHERE udf(udf(p.depot)) IS NOT NULL;
SELECT udf(id), sum(weight) OVER (PARTITION BY depot ORDER BY id) AS w FROM parcel ORDER BY udf(id);
SELECT id FROM parcel WHERE udf(id) IN (SELECT udf(parcel) FROM scan WHERE what = 'in');
SELECT udf(max(weight)) AS m FROM parcel HAVING udf(count(*)) > 1;
