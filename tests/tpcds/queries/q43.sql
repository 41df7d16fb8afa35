-- What the stores sold on each day of the week.
SELECT s_store_name, s_store_id,
       sum(CASE WHEN d_day_name = 'Sunday' THEN ss_sales_price END) AS sunday, sum(CASE WHEN d_day_name = 'Monday' THEN ss_sales_price END) AS monday,
       sum(CASE WHEN d_day_name = 'Tuesday' THEN ss_sales_price END) AS tuesday, sum(CASE WHEN d_day_name = 'Friday' THEN ss_sales_price END) AS friday
FROM date_dim, store_sales, store
WHERE d_date_sk = ss_sold_date_sk AND s_store_sk = ss_store_sk AND s_gmt_offset = -5 AND d_year = 2000
GROUP BY s_store_name, s_store_id
ORDER BY s_store_name, s_store_id
