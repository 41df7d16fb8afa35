--IMPORT tables.sql
SELECT id FROM parcel WHERE EXISTS (SELECT what FROM scan WHERE parcel = id ORDER BY minute DESC LIMIT 3);
SELECT id FROM parcel WHERE EXISTS (SELECT count(*) FROM scan WHERE parcel <> id GROUP BY what LIMIT 1);
SELECT id FROM parcel WHERE NOT EXISTS (SELECT 1 FROM scan WHERE parcel = id LIMIT 2);
SELECT id FROM parcel WHERE NOT EXISTS (SELECT 1 FROM scan WHERE parcel = id LIMIT 0);
SELECT id FROM parcel WHERE EXISTS (SELECT minute FROM scan WHERE parcel = id ORDER BY minute LIMIT 1 OFFSET 1);
SELECT id, EXISTS (SELECT 1 FROM scan WHERE minute > 15 * id LIMIT 1) OR depot IS NULL AS busy FROM parcel;
