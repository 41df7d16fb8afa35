-- How the sales of a weekday by web and catalog changed from one year's week to the same week of the next.
WITH sold AS (
    SELECT ws_sold_date_sk AS day_sk, ws_ext_sales_price AS price FROM web_sales
    UNION ALL
    SELECT cs_sold_date_sk, cs_ext_sales_price FROM catalog_sales
), weekly AS (
    SELECT d_week_seq AS week,
           sum(CASE WHEN d_day_name = 'Sunday' THEN price END) AS sunday,
           sum(CASE WHEN d_day_name = 'Wednesday' THEN price END) AS wednesday,
           sum(CASE WHEN d_day_name = 'Saturday' THEN price END) AS saturday
    FROM sold JOIN date_dim ON d_date_sk = day_sk
    GROUP BY d_week_seq
), of_year AS (
    SELECT DISTINCT weekly.*, d_year AS year FROM weekly JOIN date_dim ON d_week_seq = week
)
SELECT a.week, round(a.sunday / b.sunday, 2) AS sunday, round(a.wednesday / b.wednesday, 2) AS wednesday,
       round(a.saturday / b.saturday, 2) AS saturday
FROM of_year AS a JOIN of_year AS b ON b.week = a.week + 53
WHERE a.year = 2000 AND b.year = 2001
ORDER BY a.week
