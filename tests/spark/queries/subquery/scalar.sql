--IMPORT tables.sql
SELECT id, (SELECT count_if(minute > 10) FROM scan WHERE parcel = id) AS late, (SELECT regr_count(minute, parcel) FROM scan WHERE parcel = id) AS pairs FROM parcel;
SELECT id, (SELECT max(minute) FROM (SELECT minute, dense_rank() OVER (ORDER BY what, minute) AS place FROM scan WHERE parcel <= id) WHERE place = 2) AS second FROM parcel;
SELECT p.id, s.minute FROM parcel p LEFT JOIN LATERAL (SELECT minute FROM scan WHERE parcel = p.id AND what = 'in' LIMIT 1) s;
SELECT id FROM parcel WHERE (SELECT bool_and(minute > 5) FROM scan WHERE parcel = id);
