--IMPORT tables.sql
SELECT coalesce(weight, id) AS c, if(id > 2, sent, TIMESTAMP '2024-01-01 00:00:00') AS i, CASE id WHEN 1 THEN 1Y WHEN 2 THEN 2.5 ELSE 3D END AS w, array(id, weight) AS a, map(1, id, 2L, weight) AS m, id IN (1.0, '2') AS n, concat(X'61', encode(depot, 'utf-8')) AS b FROM parcel;
SELECT id FROM parcel UNION SELECT weight FROM parcel INTERSECT SELECT 2.5BD UNION ALL SELECT minute FROM scan WHERE parcel BETWEEN 1 AND '2';
